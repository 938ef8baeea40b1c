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
