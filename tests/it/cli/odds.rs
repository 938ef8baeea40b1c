//! `lockshift odds`: what to expect in a day.

use serde_json::Value;

use super::command::{Done, done, lockshift};
use super::traces::{BESIDE, file};

const FLEET: &str = "tests/traces/php-fleet.log";

fn odds(args: &[&str]) -> Done {
    done(lockshift(), [&["odds", "--json"], args].concat())
}

fn protocol<'a>(json: &'a Value, name: &str) -> &'a Value {
    let protocols = json["locks"][0]["protocols"].as_array().unwrap();
    protocols.iter().find(|row| row["protocol"] == name).unwrap_or_else(|| panic!("no {name} in {json:#}"))
}

#[test]
fn the_protocol_of_the_trace_stands_beside_its_bridge_and_token_locks() {
    let ended = odds(&[FLEET, "--periods", "20"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let json = ended.json();
    let names: Vec<_> = json["locks"][0]["protocols"].as_array().unwrap().iter().map(|row| &row["protocol"]).collect();
    assert_eq!(names, ["php-getset", "bridge:php-getset", "token", "token,announce=publish", "fair"]);
    let workload = &json["locks"][0]["workload"];
    assert_eq!((&workload["holds"], &workload["round_trip_measured"]), (&31.into(), &false.into()), "{workload}");
    // One of the workers works for longer than its lease: without an extension that is a double hold in any protocol.
    let traced = &protocol(&json, "php-getset")["double_holds"];
    assert!(traced["seen"].as_u64() > Some(0) && traced["low"].as_f64() <= traced["per_day"].as_f64(), "{traced}");
    assert!(traced["per_day"].as_f64() <= traced["high"].as_f64(), "{traced}");
    for name in ["token", "token,announce=publish", "fair"] {
        let row = protocol(&json, name);
        assert_eq!((&row["renews"], &row["double_holds"]["seen"]), (&true.into(), &0.into()), "{row}");
        assert!(row["acquisitions"]["seen"].as_u64() > Some(100), "{row}");
    }
}

#[test]
fn what_was_never_seen_has_a_bound_and_is_not_called_zero() {
    let ended = odds(&[FLEET, "--periods", "10", "--to", "token"]);
    let rate = &protocol(&ended.json(), "token")["wrong_releases"].clone();
    assert_eq!((&rate["seen"], &rate["per_day"], &rate["low"]), (&0.into(), &Value::Null, &0.0.into()), "{rate}");
    assert!(rate["high"].as_f64() > Some(1.0), "ten plays of seconds say little of a day: {rate}");
    let starved = &protocol(&ended.json(), "token")["starved_waits"].clone();
    assert_eq!(starved, &Value::Null, "no wait of twenty seconds fits into a trace of fourteen");
    let sooner = odds(&[FLEET, "--periods", "10", "--to", "token", "--starved-after", "1s"]).json();
    assert!(protocol(&sooner, "php-getset")["starved_waits"]["seen"].as_u64() > Some(0), "{sooner}");
    let text = done(lockshift(), ["odds", FLEET, "--periods", "10", "--to", "token"]).stdout;
    assert!(text.contains("fewer than ") && text.contains("seed 1"), "{text}");
}

#[test]
fn the_same_seed_gives_the_same_odds_and_another_one_others() {
    let of_seed = |seed: &str| odds(&[FLEET, "--periods", "5", "--to", "token", "--seed", seed]).stdout;
    assert_eq!(of_seed("7"), of_seed("7"));
    assert_ne!(of_seed("7").replace("\"seed\": 7", ""), of_seed("8").replace("\"seed\": 8", ""));
}

#[test]
fn the_time_is_bounded_and_fewer_plays_are_named() {
    let ended = done(lockshift(), ["odds", FLEET, "--periods", "1000000", "--for", "1s", "--to", "token"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stdout.contains("times only: more time with --for"), "{}", ended.stdout);
}

#[test]
fn without_knowing_the_clients_there_is_no_estimate() {
    let pooled = "\
1700000000.000001 [0 10.0.0.1:50001] \"SETNX\" \"lock\" \"1700000010\"
1700000000.500001 [0 10.0.0.1:50002] \"DEL\" \"lock\"
";
    for (trace, why) in [(pooled, "identity-unsure"), (BESIDE, "too-few-holds")] {
        let file = file(trace);
        let ended = odds(&[file.path().to_str().unwrap()]);
        assert_eq!(ended.code, Some(3), "{ended:?}");
        let lock = &ended.json()["locks"][0];
        assert_eq!((lock["no_estimate"].as_str(), &lock["protocols"]), (Some(why), &Value::Array(vec![])), "{lock}");
    }
}

#[test]
fn a_key_of_several_protocols_has_no_estimate() {
    let ended = odds(&["tests/traces/php-beside-token.log"]);
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert_eq!(ended.json()["locks"][0]["no_estimate"], "several-protocols");
}

/// Clients of redis-py that acquire for a second, work for two, and extend in time.
#[test]
fn clients_that_extend_are_played_as_they_are() {
    let mut trace = String::new();
    let mut line = |at_ms: u64, source: &str, words: &[&str]| {
        let words: Vec<String> = words.iter().map(|word| format!("{word:?}")).collect();
        let (secs, millis) = (1_700_000_000 + at_ms / 1000, at_ms % 1000);
        trace += &format!("{secs}.{millis:03}000 [0 {source}] {}\n", words.join(" "));
    };
    for hold in 0..12 {
        let (client, token) = (format!("10.0.0.{}:1", hold % 3), format!("abc32ceeeb6911f198cc02fc{hold:08x}"));
        let begin_ms = hold * 3000;
        line(begin_ms, &client, &["SET", "lock", &token, "NX", "PX", "1000"]);
        for extended_ms in [500, 1000, 1500] {
            let extend = "a4e8783852e6b949f9ef3a97212805108459a890";
            line(begin_ms + extended_ms, &client, &["EVALSHA", extend, "1", "lock", &token, "1000", "1"]);
            line(begin_ms + extended_ms, "lua", &["get", "lock"]);
            line(begin_ms + extended_ms, "lua", &["pttl", "lock"]);
            line(begin_ms + extended_ms, "lua", &["pexpire", "lock", "1000"]);
        }
        let release = "c3f8721cbb97f72bc19e972846bd7aaf91901658";
        line(begin_ms + 2000, &client, &["EVALSHA", release, "1", "lock", &token]);
        line(begin_ms + 2000, "lua", &["get", "lock"]);
        line(begin_ms + 2000, "lua", &["del", "lock"]);
    }
    let file = file(&trace);
    let json = odds(&[file.path().to_str().unwrap(), "--periods", "5", "--to", "token"]).json();
    let traced = protocol(&json, "token");
    assert_eq!((&traced["lease_ms"], &traced["renews"]), (&1000.0.into(), &true.into()), "{json:#}");
    assert_eq!(traced["double_holds"]["seen"], 0, "{json:#}");
}

#[test]
fn a_clock_that_goes_back_is_named() {
    let back = BESIDE.lines().last().unwrap().replacen("170000000", "169999999", 1);
    let file = file(&format!("{BESIDE}{back}\n"));
    for command in [&["odds"][..], &["dry-run", "--to", "token", "--lease", "10s"]] {
        let mut run = lockshift();
        run.args(command).arg(file.path());
        let ended = done(run, [""; 0]);
        assert!(ended.stderr.contains("the clock of the trace goes back by"), "{command:?}: {ended:?}");
    }
}

/// Three clients that take turns: each holds for 100 ms, and the next one begins 250 ms later.
fn taking_turns(mut hold: impl FnMut(&mut dyn FnMut(u64, &str, &[&str]), &str, u64)) -> String {
    let mut trace = String::new();
    let mut line = |at_us: u64, source: &str, words: &[&str]| {
        let words: Vec<String> = words.iter().map(|word| format!("{word:?}")).collect();
        let (secs, micros) = (1_700_000_000 + at_us / 1_000_000, at_us % 1_000_000);
        trace += &format!("{secs}.{micros:06} [0 {source}] {}\n", words.join(" "));
    };
    for number in 0..12_u64 {
        hold(&mut line, &format!("10.0.0.{}:1", number % 3), number * 370_000);
    }
    trace
}

/// They write the next second and ask for an EXPIRE of one: the protocol that explains them rounds a shorter lease to none.
#[test]
fn the_lease_is_the_one_that_stamps_and_expirations_show() {
    let trace = taking_turns(|line, client, at_us| {
        let stamp = (1_700_000_001 + at_us / 1_000_000).to_string();
        line(at_us, client, &["SETNX", "lock", &stamp]);
        line(at_us + 300, client, &["EXPIRE", "lock", "1"]);
        line(at_us + 100_000, client, &["DEL", "lock"]);
    });
    let file = file(&trace);
    let args = [file.path().to_str().unwrap(), "--periods", "5", "--to", "token"];
    let json = odds(&args).json();
    let workload = &json["locks"][0]["workload"];
    assert_eq!((&workload["lease_ms"], &workload["lease_measured"]), (&1000.0.into(), &true.into()), "{json:#}");
    assert_eq!(protocol(&json, "token")["lease_ms"], 1000.0, "{json:#}");
    let text = done(lockshift(), [&["odds"], &args[..]].concat()).stdout;
    assert!(text.contains("; round trip 0.50 ms (assumed)") && !text.contains("lease 1.0 s (assumed)"), "{text}");
}

#[test]
fn a_lease_that_no_trace_shows_is_called_assumed() {
    let mut number = 0;
    let trace = taking_turns(|line, client, at_us| {
        number += 1;
        let token = format!("abc32ceeeb6911f198cc02fc{number:08x}");
        line(at_us, client, &["SET", "lock", &token, "NX"]);
        line(at_us + 100_000, client, &["EVALSHA", "c3f8721cbb97f72bc19e972846bd7aaf91901658", "1", "lock", &token]);
        line(at_us + 100_000, "lua", &["get", "lock"]);
        line(at_us + 100_000, "lua", &["del", "lock"]);
    });
    let file = file(&trace);
    let args = [file.path().to_str().unwrap(), "--periods", "5", "--to", "token"];
    let json = odds(&args).json();
    let workload = &json["locks"][0]["workload"];
    assert_eq!((&workload["lease_ms"], &workload["lease_measured"]), (&30_000.0.into(), &false.into()), "{json:#}");
    let text = done(lockshift(), [&["odds"], &args[..]].concat()).stdout;
    assert!(text.contains("; lease 30.0 s (assumed)"), "{text}");
}
