//! `lockshift explore`: a shortest schedule that breaks a rule, or that there is none.

use serde_json::Value;

use super::command::{done, lockshift};

const MIXED: [&str; 8] =
    ["explore", "--client", "php-getset", "--client", "php-getset", "--client", "token", "--grain=coarse"];
const TOKENS: [&str; 8] = ["explore", "--client", "token", "--client", "token", "--client", "token", "--grain=coarse"];
const WITHIN: [&str; 4] = ["--ticks", "6", "--crashes", "1"];

#[test]
fn mixed_company_breaks_the_rules_on_a_shortest_schedule() {
    let ended = done(lockshift(), [&MIXED[..], &WITHIN].concat());
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(1), ""), "{ended:?}");
    let first = "mutual exclusion, broken in 10 steps: A php-getset, B php-getset, C token\n\n";
    assert!(ended.stdout.starts_with(first), "{}", ended.stdout);
    for expected in [
        "t  k                   A php-getset            B php-getset            C token\n",
        " 9 ▶  3 s  -                   DEL → 1               ┃\n",
        "✗ broken: mutual exclusion (B and C both hold)\n",
        "A's DEL k, decided at 0 s, ran at 3 s",
        "\n21,435 states were seen.\n",
    ] {
        assert!(ended.stdout.contains(expected), "{expected} not in\n{}", ended.stdout);
    }
    assert!(!ended.stdout.contains('\x1b'), "no colours where nobody sees them");
}

#[test]
fn three_tokens_break_nothing() {
    let ended = done(lockshift(), [&TOKENS[..], &WITHIN].concat());
    let expected = "Impossible within these bounds: none of 642 states breaks a rule.\n";
    assert_eq!((ended.code, ended.stdout.as_str(), ended.stderr.as_str()), (Some(0), expected, ""));
}

#[test]
fn the_fields_of_its_json() {
    let ended = done(lockshift(), [&MIXED[..], &["--ticks", "3", "--json"]].concat());
    assert_eq!(ended.code, Some(1));
    let json = ended.json();
    assert_eq!(fields(&json), ["exhausted", "seconds", "states", "violations"]);
    assert!(
        json["exhausted"] == false && json["states"].as_u64().unwrap() > 1000 && json["seconds"].is_f64(),
        "{json}"
    );
    let violation = &json["violations"][0];
    assert_eq!(fields(violation), ["property", "steps", "trace"]);
    assert_eq!((&violation["property"], &violation["steps"]), (&"mutual exclusion".into(), &10.into()));
    let trace = violation["trace"].as_array().unwrap();
    assert_eq!(trace.len(), 10);
    for event in trace {
        assert_eq!(fields(event), ["action", "at_ms", "client", "command", "reply"]);
    }
    let told = |event: &Value| [&event["client"], &event["command"], &event["reply"]].map(|word| word.to_string());
    assert_eq!(told(&trace[0]), [r#""A""#, r#""SETNX k 1700000002""#, r#""1""#]);
    assert_eq!(told(&trace[3]), [r#""clock""#, "null", "null"]);
}

fn fields(object: &Value) -> Vec<&str> {
    object.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn a_space_that_is_too_large_is_no_answer() {
    let ended = done(lockshift(), [&TOKENS[..], &WITHIN, &["--states", "100"]].concat());
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(ended.stderr.contains("allow fewer --ticks or --crashes"), "{ended:?}");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let table: [(&[&str], &str); 6] = [
        (&[], "--client <PROTOCOL>"),
        (&["--client", "tokn"], "did you mean `token`?"),
        (&["--client", "token,lease=long"], "lease=long: a whole number of seconds is wanted"),
        (&["--client", "token,lease=0"], "too short"),
        (&["--client", "token,skew=1h"], "skew=1h: a whole number of seconds is wanted"),
        (&["--client", "token", "--rounds", "0"], "--rounds"),
    ];
    for (args, expected) in table {
        let refused = done(lockshift(), [&["explore"], args].concat());
        assert_eq!((refused.code, refused.stdout.as_str()), (Some(2), ""), "{args:?}");
        assert!(refused.stderr.contains(expected), "{args:?}: {expected} not in {}", refused.stderr);
    }
}
