//! `lockshift explore`: a shortest schedule that breaks a rule, or that no schedule does.

use std::fs;

use serde_json::{Value, json};

use super::command::{done, lockshift};

const MIXED: [&str; 8] =
    ["explore", "--client", "php-getset", "--client", "php-getset", "--client", "token", "--grain=coarse"];
const TOKENS: [&str; 8] = ["explore", "--client", "token", "--client", "token", "--client", "token", "--grain=coarse"];
const WITHIN: [&str; 4] = ["--ticks", "6", "--crashes", "1"];

#[test]
fn mixed_company_breaks_the_rules_on_a_shortest_schedule() {
    let ended = done(lockshift(), [&MIXED[..], &WITHIN].concat());
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(1), ""), "{ended:?}");
    let first = "mutual exclusion, broken in 5 steps: A php-getset, B php-getset, C token\n\n";
    assert!(ended.stdout.starts_with(first), "{}", ended.stdout);
    for expected in [
        "t  k                   A php-getset            B php-getset            C token\n",
        " 2    0 s  005a00…0200 (2 s)   SETNX 1700000002 → 0                          ┃\n",
        "✗ broken: mutual exclusion (A and C both hold)\n",
        "A's DEL k, decided at 0 s, ran at 3 s",
        "\n32,166 states were seen, until nothing was left to find.\n",
    ] {
        assert!(ended.stdout.contains(expected), "{expected} not in\n{}", ended.stdout);
    }
    assert!(!ended.stdout.contains('\x1b'), "no colours without a terminal");
}

#[test]
fn three_tokens_break_nothing() {
    let ended = done(lockshift(), [&TOKENS[..], &WITHIN].concat());
    let expected = "Impossible within these bounds, in ticks of 1 s: none of 642 states breaks a rule.\n";
    assert_eq!((ended.code, ended.stdout.as_str(), ended.stderr.as_str()), (Some(0), expected, ""));
}

/// A stamp of whole seconds is written alike all second long, and half a second of skew moves where that second begins.
#[test]
fn what_a_tick_is_too_long_for_is_named_with_the_tick_that_is_not() {
    let note = |skew: &str, times: &[&str]| {
        let client = ["--client", "php-getset", "--client", skew, "--rule", "mutual-exclusion"];
        let ended = done(lockshift(), [&["explore"], &client[..], times].concat());
        assert_eq!(ended.code, Some(0), "{ended:?}");
        ended.stdout.lines().nth(1).map(str::to_owned)
    };
    let tries = |times: &str| Some(format!("Moments between ticks were not tried: {times} tries them."));
    assert_eq!(note("php-getset", &["--ticks=1"]), tries("--tick 500ms --ticks 2"));
    assert_eq!(note("php-getset,skew=500ms", &["--ticks=1"]), tries("--tick 250ms --ticks 4"));
    assert_eq!(note("php-getset,skew=500ms", &["--ticks=2", "--tick=500ms"]), tries("--tick 250ms --ticks 4"));
    assert_eq!(note("php-getset", &["--ticks=2", "--tick=500ms"]), None);
}

#[test]
fn a_reduced_search_sees_fewer_states_and_comes_to_the_same_verdict() {
    let explored = |option: &[&str]| {
        let client = ["--client", "token"];
        let args = [&["explore"], &client[..], &client[..], &["--ticks=2", "--json"], option].concat();
        done(lockshift(), args).json()
    };
    let (all, reduced) = (explored(&[]), explored(&["--reduce"]));
    assert_eq!((&all["exhausted"], &all["violations"]), (&true.into(), &json!([])), "{all}");
    assert_eq!((&reduced["exhausted"], &reduced["violations"]), (&true.into(), &json!([])), "{reduced}");
    assert!(reduced["states"].as_u64().unwrap() < all["states"].as_u64().unwrap(), "{reduced}");
}

#[test]
fn what_was_hashed_is_no_proof() {
    let explored = |options: &[&str]| done(lockshift(), [&TOKENS[..], &WITHIN, options].concat());
    let ended = explored(&["--hashed", "1M"]);
    let says = "Nothing found in 642 states. Fewer than 0.01 more were probably left out because of their hashes: this says \
                nothing about those, nor about what only they lead to.\n";
    let why = "lockshift: only some bits of each state were kept: to be sure of every state, leave out --hashed\n";
    assert_eq!((ended.code, ended.stdout.as_str(), ended.stderr.as_str()), (Some(3), says, why));
    let json = explored(&["--hashed", "1M", "--json"]).json();
    assert_eq!((&json["states"], &json["exhausted"]), (&642.into(), &false.into()), "{json}");
    assert!(json["taken_for_others"].as_f64().is_some_and(|others| others < 0.01), "{json}");

    let ended = done(lockshift(), [&MIXED[..], &WITHIN, &["--hashed=1M", "--rule=mutual-exclusion"]].concat());
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(1), ""), "{ended:?}");
    assert!(ended.stdout.starts_with("mutual exclusion, broken in 5 steps: A php-getset, B php-getset, C token\n\n"));

    let args = [&TOKENS[..], &["--hashed=1M", "--ticks=forever", "--rule=can-be-taken-again"]].concat();
    let ended = done(lockshift(), args);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.stderr.contains("only with --ticks forever and without --hashed"), "{ended:?}");
}

#[test]
fn a_table_that_no_machine_has_room_for_is_refused() {
    for (size, why) in
        [("1000000G", "there is not that much memory"), ("1023", "pass 1K at least"), ("0", "a number of bytes")]
    {
        let ended = done(lockshift(), [&TOKENS[..], &["--hashed", size]].concat());
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""), "{ended:?}");
        assert!(ended.stderr.contains(why), "{ended:?}");
    }
}

/// A smaller bound on memory ends the search sooner.
#[test]
fn the_memory_that_states_take_is_bounded() {
    let ended = done(lockshift(), ["explore", "--client=token", "--client=token", "--client=token", "--memory=64K"]);
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(ended.stdout.starts_with("Nothing found in "), "{ended:?}");
    assert!(ended.stderr.contains("or more --memory"), "{ended:?}");
}

#[test]
fn redlock_has_as_many_servers_as_its_option_says() {
    let client = ["--client", "redlock,servers=3"];
    let args = [&["explore"], &client[..], &client[..], &["--grain=coarse", "--ticks=0"]].concat();
    let ended = done(lockshift(), args);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
    assert!(ended.stdout.starts_with("Impossible within these bounds"), "{ended:?}");
}

#[test]
fn for_all_time_three_tokens_break_nothing_and_an_old_lock_is_lost_for_good() {
    let tokens = done(lockshift(), [&TOKENS[..], &["--ticks", "forever", "--crashes", "1"]].concat());
    let expected = "Impossible for all time, in ticks of 1 s: none of 394 states breaks a rule.\n";
    assert_eq!((tokens.code, tokens.stdout.as_str(), tokens.stderr.as_str()), (Some(0), expected, ""));

    let mixed =
        ["explore", "--client", "php-getset", "--client", "token", "--crashes", "1", "--grain=coarse", "--json"];
    let found = |ticks: &[&str]| {
        let json = done(lockshift(), [&mixed[..], ticks].concat()).json();
        let violations = json["violations"].as_array().unwrap().iter();
        violations.map(|violation| json!([violation["property"], violation["steps"]])).collect::<Vec<_>>()
    };
    let soon = found(&["--ticks", "6"]);
    assert_eq!(
        soon,
        [json!(["mutual exclusion", 5]), json!(["lease honoured as written", 4]), json!(["removes only one's own", 8])]
    );
    let for_good = [json!(["can be taken again", 2]), json!(["nobody is shut out", 2])];
    assert_eq!(
        found(&["--ticks", "forever", "--tick=1s"]),
        [soon, for_good.to_vec()].concat(),
        "the token never gets it"
    );
}

/// Two tokens exclude each other until a lease ends, but not work that goes on after it.
#[test]
fn work_that_outlasts_its_lease_is_a_rule_of_its_own() {
    let works = ["explore", "--client", "token", "--client", "token", "--grain=coarse", "--rule", "work-excludes"];
    let ended = done(lockshift(), works);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(1), ""), "{ended:?}");
    assert!(ended.stdout.contains("✗ broken: mutual exclusion (A and B both hold)\n"), "{}", ended.stdout);
    assert!(ended.stdout.starts_with("work excludes, broken in "), "{}", ended.stdout);
    for wrong in [&["--rule", "mutual-exclusion"][..], &["--ticks", "forever"]] {
        let ended = done(lockshift(), [&works[..], wrong].concat());
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""), "{wrong:?}: {ended:?}");
    }
}

/// A holder that releases and acquires again between two attempts of a poller keeps it waiting; a queue has an order.
#[test]
fn a_poller_can_wait_for_ever_and_a_waiter_in_a_queue_cannot() {
    let of = |protocol: &'static str, more: &[&'static str]| {
        let client = ["explore", "--client", protocol, "--client", protocol, "--rule", "every-waiter-acquires"];
        done(lockshift(), [&client[..], &["--grain=coarse"], more].concat())
    };
    let poller = of("token", &["--ticks=forever"]);
    assert_eq!((poller.code, poller.stderr.as_str()), (Some(1), ""), "{poller:?}");
    for expected in ["every waiter acquires, broken in ", "↻", "can wait for ever)\n", " never acquires.\n"] {
        assert!(poller.stdout.contains(expected), "{expected} not in\n{}", poller.stdout);
    }
    let json = of("token", &["--ticks=forever", "--json"]).json();
    let violation = &json["violations"][0];
    assert!(violation["repeats_from"].as_u64().unwrap() < violation["steps"].as_u64().unwrap(), "{violation}");
    let diagram = of("token", &["--ticks=forever", "--mermaid"]);
    assert!(diagram.stdout.contains("    loop for ever\n"), "{}", diagram.stdout);

    let queue = of("fair", &["--ticks=forever"]);
    assert_eq!((queue.code, queue.stderr.as_str()), (Some(0), ""), "{queue:?}");
    assert!(queue.stdout.starts_with("Impossible for all time"), "{}", queue.stdout);

    for (wrong, why) in [
        (&["--ticks=4"][..], "known only with --ticks forever"),
        (&["--ticks=forever", "--rounds=2"], "a search of its own"),
        (&["--ticks=forever", "--rule=mutual-exclusion"], "a search of its own"),
    ] {
        let refused = of("token", wrong);
        assert_eq!((refused.code, refused.stderr.contains(why)), (Some(2), true), "{wrong:?}: {refused:?}");
    }
}

/// A replica that lacks the SET of the holder grants the lock again.
#[test]
fn a_failover_breaks_the_token_lock() {
    let tokens = ["explore", "--client", "token", "--client", "token", "--grain=coarse", "--ticks=1"];
    let sound = done(lockshift(), tokens);
    assert_eq!(sound.code, Some(0), "{sound:?}");
    let broken = done(lockshift(), [&tokens[..], &["--failovers", "1", "--rule", "mutual-exclusion"]].concat());
    assert_eq!((broken.code, broken.stderr.as_str()), (Some(1), ""), "{broken:?}");
    assert!(broken.stdout.starts_with("mutual exclusion, broken in 3 steps"), "{}", broken.stdout);
    let too_many = done(lockshift(), [&tokens[..], &["--crashes", "16"]].concat());
    assert_eq!((too_many.code, too_many.stdout.as_str()), (Some(2), ""), "{too_many:?}");
}

/// Each fault has an option; none of them is free of a limit.
#[test]
fn faults_of_the_server_and_the_clocks_are_allowed_by_options() {
    let tokens = ["explore", "--client=token", "--client=token", "--grain=coarse", "--rule=mutual-exclusion"];
    for (fault, shown) in [
        ("--evictions=1", "the server evicts a key"),
        ("--data-losses=1", "the server restarts without its data"),
        ("--server-clock-steps=3", "the server's clock is set 1 s ahead"),
    ] {
        let broken = done(lockshift(), [&tokens[..], &["--ticks=1", fault]].concat());
        assert_eq!((broken.code, broken.stderr.as_str()), (Some(1), ""), "{fault}: {broken:?}");
        let words = broken.stdout.replace(['╌', '\n'], " ").split_whitespace().collect::<Vec<_>>().join(" ");
        let first = shown.split(' ').take(3).collect::<Vec<_>>().join(" ");
        assert!(words.contains(&first), "{fault}: {shown} not in\n{}", broken.stdout);
    }
    let kept = ["--late-requests=1", "--crashes=1", "--client-restarts=1", "--clock-steps=1", "--restarts=1"];
    let clean = done(lockshift(), [&tokens[..], &["--ticks=1"], &kept].concat());
    assert_eq!((clean.code, clean.stderr.as_str()), (Some(0), ""), "{clean:?}");
    let by_clock = ["explore", "--client=npm-redis-lock-0.1.0", "--client=npm-redis-lock-0.1.0", "--ticks=2"];
    assert_eq!(done(lockshift(), by_clock).code, Some(0));
    let removed = done(lockshift(), [&by_clock[..], &["--removals-at-deadline=1", "--mermaid"]].concat());
    assert_eq!((removed.code, removed.stderr.as_str()), (Some(1), ""), "{removed:?}");
    assert!(removed.stdout.contains("removes a key in the millisecond of its deadline"), "{}", removed.stdout);
    for (wrong, why) in [
        (&["--ticks=forever", "--clock-steps=1"][..], "clocks that are set"),
        (
            &["--crashes=15", "--evictions=15", "--restarts=15", "--data-losses=15", "--clock-steps=1"],
            "too many faults",
        ),
    ] {
        let refused = done(lockshift(), [&tokens[..], wrong].concat());
        assert_eq!((refused.code, refused.stderr.contains(why)), (Some(2), true), "{wrong:?}: {refused:?}");
    }
}

/// A token that is extended in time keeps its lock; an old client that extends overwrites whatever it finds.
#[test]
fn clients_that_work_for_long_extend_as_their_protocol_does() {
    let explored = |client: &str, more: &[&str]| {
        let clients = ["explore", "--grain=coarse", "--ticks=6", "--client", client];
        done(lockshift(), [&clients[..], more].concat())
    };
    let kept = explored("token,work=4,extend=1", &["--client=token", "--late-requests=1", "--crashes=1"]);
    assert_eq!((kept.code, kept.stderr.as_str()), (Some(0), ""), "{kept:?}");
    let for_all_time = ["--client=token,work=4,extend=1", "--ticks=forever"];
    let twice = done(lockshift(), [&["explore"], &for_all_time[..], &for_all_time[..1], &["--grain=coarse"]].concat());
    assert_eq!((twice.code, twice.stderr.as_str()), (Some(0), ""), "{twice:?}");
    let taken = explored("resque-lock-timeout,work=4,extend=3", &["--client=resque-lock-timeout"]);
    assert_eq!((taken.code, taken.stderr.as_str()), (Some(1), ""), "{taken:?}");
    let (shortest, _) = taken.stdout.split_once("broken: mutual exclusion").unwrap();
    assert!(shortest.contains("extends until 5 s"), "{shortest}");
    let prompt = explored("resque-lock-timeout,work=1", &["--client=resque-lock-timeout"]);
    assert!(!prompt.stdout.contains("extends"), "{}", prompt.stdout);

    let starves = ["--client=token", "--ticks=forever", "--rule=every-waiter-acquires"];
    for (wrong, more, why) in [
        ("php-getset,work=4,extend=1", &[][..], "an old client of php-getset cannot extend its lock"),
        ("token,extend=1", &[], "pass work=D, too"),
        ("token,work=1,extend=1", &[], "before it extends for the first time"),
        ("token,work=0", &[], "work=0: pass seconds"),
        ("token,work=2,extend=x", &[], "extend=x: pass seconds"),
        ("token,work=1500ms", &[], "1.5s is not a multiple of a tick, which is 1s; pass a --tick"),
        ("token,work=99999", &[], "99999s is longer than 1000 ticks of 1s"),
        ("token,work=1", &starves, "leave out work=D"),
    ] {
        let client = ["explore", "--client", wrong];
        let refused = done(lockshift(), [&client[..], more].concat());
        assert_eq!((refused.code, refused.stderr.contains(why)), (Some(2), true), "{wrong}: {refused:?}");
    }
    let finer = explored("token,work=1500ms", &["--tick=500ms"]);
    assert_eq!((finer.code, finer.stderr.as_str()), (Some(0), ""), "{finer:?}");
}

/// A DEL that never ran leaves a lock without a lease behind; a token expires.
#[test]
fn a_release_that_never_arrives_leaves_the_lock() {
    let lost = |protocol: &str| {
        let client = ["--client", protocol];
        let bounds =
            ["--ticks=forever", "--tick=1s", "--lost-requests=1", "--grain=coarse", "--rule=can-be-taken-again"];
        done(lockshift(), [&["explore"], &client[..], &client, &bounds].concat())
    };
    assert_eq!(lost("token").code, Some(0));
    let broken = lost("naive-setnx");
    assert_eq!((broken.code, broken.stderr.as_str()), (Some(1), ""), "{broken:?}");
    assert!(broken.stdout.contains("the request is lost"), "{}", broken.stdout);
}

#[test]
fn one_rule_alone_ends_the_search_sooner() {
    let ended = done(lockshift(), [&MIXED[..], &["--ticks", "3", "--rule", "mutual-exclusion"]].concat());
    assert_eq!(ended.code, Some(1));
    assert_eq!(ended.stdout.matches("✗ broken: ").count(), 1, "{}", ended.stdout);
    assert!(ended.stdout.ends_with(" states were seen, until nothing was left to find.\n"), "{}", ended.stdout);
    let ended = done(lockshift(), [&TOKENS[..], &["--rule", "mutual-exclusion"]].concat());
    assert!(ended.stdout.ends_with(" states breaks that rule.\n"), "{}", ended.stdout);
}

#[test]
fn a_sequence_diagram_of_the_first_rule_broken() {
    let drawn = done(lockshift(), [&MIXED[..], &["--ticks", "3", "--mermaid"]].concat());
    assert_eq!((drawn.code, drawn.stderr.as_str()), (Some(1), ""));
    assert!(drawn.stdout.starts_with("sequenceDiagram\n    participant A as A php-getset\n"), "{}", drawn.stdout);
    assert_eq!(drawn.stdout.matches("✗ broken: ").count(), 1, "{}", drawn.stdout);
    assert!(drawn.stdout.contains("✗ broken: mutual exclusion (A and C both hold)"), "{}", drawn.stdout);
    let nothing = done(lockshift(), [&TOKENS[..], &["--mermaid"]].concat());
    let says = "lockshift: no rule was found broken, so there is no diagram\n";
    assert_eq!((nothing.code, nothing.stdout.as_str(), nothing.stderr.as_str()), (Some(0), "", says));
}

#[test]
fn a_page_of_the_first_rule_broken_or_of_each() {
    let folder = tempfile::tempdir().unwrap();
    let explore = |path: &std::path::Path| {
        let within = ["--ticks", "3", "--html", path.to_str().unwrap()];
        done(lockshift(), [&MIXED[..], &within].concat())
    };
    let file = folder.path().join("race.html");
    let written = explore(&file);
    assert_eq!((written.code, written.stderr.as_str()), (Some(1), ""), "{written:?}");
    let page = fs::read_to_string(&file).unwrap();
    for expected in ["<h1>Mutual exclusion is broken</h1>", "<dd>3 ticks, 0 crashes, 0 lost replies</dd>"] {
        assert!(page.contains(expected), "{expected} not in\n{page}");
    }

    let pages = folder.path().join("pages/");
    assert_eq!(explore(&pages).code, Some(1));
    let files = fs::read_dir(&pages).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut files: Vec<String> = files.collect();
    files.sort();
    let names = ["lease-honoured.html", "mutual-exclusion.html", "releases-only-own.html", "truthful-outcome.html"];
    assert_eq!(files, names);
    assert_eq!(fs::read_to_string(pages.join("mutual-exclusion.html")).unwrap(), page);

    let refused = explore(&folder.path().join("nowhere/race.html"));
    assert_eq!(refused.code, Some(3), "{refused:?}");
    assert!(refused.stderr.contains("nowhere/race.html: there is no directory "), "{refused:?}");
}

#[test]
fn a_page_that_is_not_written_is_named() {
    let folder = tempfile::tempdir().unwrap();
    for (place, options) in [("race.html", &[][..]), ("race.html", &["--json"]), ("pages/", &[])] {
        let path = folder.path().join(place);
        let ended = done(lockshift(), [&TOKENS[..], &["--html", path.to_str().unwrap()], options].concat());
        let says = format!("lockshift: no rule was found broken, so no page was written to {}\n", path.display());
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), says.as_str()), "{ended:?}");
        assert!(!path.is_file() && !path.join("mutual-exclusion.html").exists(), "{place}");
    }
}

#[test]
fn the_page_of_the_example_in_its_help_shows_a_race() {
    let help = done(lockshift(), ["explore", "--help"]).stdout;
    let example = help.lines().find(|line| line.ends_with("--html race.html")).expect("it has such an example");
    let folder = tempfile::tempdir().unwrap();
    let mut command = lockshift();
    command.current_dir(folder.path());
    let ended = done(command, example.split_whitespace().skip(1));
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(1), ""), "{ended:?}");
    assert!(
        fs::read_to_string(folder.path().join("race.html")).unwrap().contains("<h1>Mutual exclusion is broken</h1>")
    );
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
    assert_eq!((&violation["property"], &violation["steps"]), (&"mutual exclusion".into(), &5.into()));
    let trace = violation["trace"].as_array().unwrap();
    assert_eq!(trace.len(), 5);
    for event in trace {
        assert_eq!(fields(event), ["action", "at_ms", "client", "command", "reply"]);
    }
    let alone = [&TOKENS[..], &["--ticks", "0", "--json"]].concat();
    let all = done(lockshift(), alone).json();
    assert_eq!((&all["exhausted"], &all["violations"]), (&true.into(), &json!([])), "every state was seen");
    let shown = |event: &Value| [&event["client"], &event["command"], &event["reply"]].map(|word| word.to_string());
    assert_eq!(shown(&trace[1]), [r#""A""#, r#""SETNX k 1700000002""#, r#""0""#]);
    let late = &json["violations"][2]["trace"][3];
    assert_eq!(shown(late), [r#""clock""#, "null", "null"]);
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
    let table: [(&[&str], &str); 12] = [
        (&[], "--client <PROTOCOL>"),
        (&["--client", "token", "--ticks", "never"], "pass a number from 0 to 1000, or `forever`"),
        (&["--client", "token", "--rule", "nobody-shut-out"], "known only with --ticks forever"),
        (&["--client", "token", "--mermaid", "--json"], "cannot be used with"),
        (&["--client", "newlife", "--ticks", "forever"], "newlife writes something that depends on the clock"),
        (&["--client", "resque-concurrent-restriction", "--ticks=forever"], "looks at times too far apart"),
        (&["--client", "tokn"], "did you mean `token`?"),
        (&["--client", "token,lease=long"], "lease=long: pass seconds, as in 3"),
        (&["--client", "token,lease=0"], "too short"),
        (&["--client", "php-getset,skew=300ms", "--ticks=forever", "--tick=500ms"], "pass a --tick that divides them"),
        (&["--client", "token,skew=soon"], "skew=soon: pass seconds"),
        (&["--client", "token", "--rounds", "0"], "--rounds"),
    ];
    for (args, expected) in table {
        let refused = done(lockshift(), [&["explore"], args].concat());
        assert_eq!((refused.code, refused.stdout.as_str()), (Some(2), ""), "{args:?}");
        assert!(refused.stderr.contains(expected), "{args:?}: {expected} not in {}", refused.stderr);
    }
}

/// PHP compares a token that begins with digits as a number, and a token is random.
#[test]
fn tokens_that_a_client_reads_as_a_stamp_are_explored() {
    let args =
        ["explore", "--client=php-getset", "--client=token", "--rule=mutual-exclusion", "--grain=coarse", "--json"];
    let ended = done(lockshift(), args);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let taken = ended.json()["violations"][0]["trace"].to_string();
    assert!(taken.contains("GETSET k"), "{taken}");
}

#[test]
fn a_search_whose_time_is_up_is_no_answer() {
    let ended = done(lockshift(), [&TOKENS[..], &WITHIN, &["--for", "1ms"]].concat());
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(ended.stderr.contains("the time was too short to see every state"), "{ended:?}");
}

/// A stamp in whole seconds is up to a second too short: that shows only where a lock is acquired between two seconds.
#[test]
fn a_stamp_that_is_rounded_down_lets_a_second_client_in_early() {
    let of = |client: &'static str, other: &'static str, tick: &[&'static str]| {
        let args =
            ["explore", "--client", client, "--client", other, "--grain=coarse", "--rule=mutual-exclusion", "--json"];
        let ended = done(lockshift(), [&args[..], tick].concat());
        (ended.code, ended.json()["violations"].as_array().unwrap().len(), ended.json()["exhausted"].as_bool())
    };
    for (client, other) in [
        ("php-getset", "php-getset,skew=1"),
        ("redis-mutex-0", "redis-mutex-0"),
        ("thinkphp-lockup", "thinkphp-lockup"),
        ("php-acquired-at", "php-acquired-at"),
    ] {
        let whole_seconds = of(client, other, &["--ticks=5", "--tick=1s"]);
        assert_eq!(whole_seconds, (Some(0), 0, Some(true)), "{client}: ticks of a second hide it");
        assert_eq!(of(client, other, &["--ticks=forever"]).0, Some(1), "{client} {other}");
    }
    assert_eq!(
        of("token", "token,skew=250ms", &["--ticks=forever"]),
        (Some(0), 0, Some(true)),
        "a token lock does not ask any client's clock"
    );
}
