//! `lockshift plan`: the phases of a fleet, and why a fleet has none.

use std::time::Duration;

use serde_json::Value;

use super::command::{done, done_within, lockshift};
use crate::schemas::conforms;

/// For exploring everything, without optimisation, on a busy machine.
const EXPLORING: Duration = Duration::from_secs(300);

#[test]
fn every_phase_has_its_outlook_and_its_advice() {
    let ended = done_within(EXPLORING, lockshift(), ["plan", "--fleet", "jedis-lock", "--json"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    let json = ended.json();
    conforms("plan", &json);
    assert_eq!((&json["safe"], &json["bridge"]), (&true.into(), &"bridge:jedis-lock".into()));
    let phases = json["phases"].as_array().unwrap();
    let names: Vec<_> = phases.iter().map(|phase| phase["phase"].as_str().unwrap()).collect();
    assert_eq!(names, ["legacy", "legacy + bridge", "bridge", "bridge + modern", "modern"]);
    assert_eq!((&json["excludes_itself"], &json["stolen"]), (&true.into(), &serde_json::json!([])));
    for phase in phases {
        assert_eq!((&phase["exhausted"], &phase["verdict"]), (&true.into(), &"safe within these bounds".into()));
        assert_eq!(phase["bounds"]["nothing_new_in_the_last_second"], true, "{phase}");
        assert!(phase["states"].as_u64().unwrap() > 50, "{phase}");
        let races = phase["residual"].as_array().unwrap();
        assert_eq!(races.is_empty(), !phase["phase"].as_str().unwrap().contains("legacy"), "{phase}");
        assert!(races.iter().all(|race| race["new"] == false && race["by"] == "jedis-lock"), "{phase}");
        assert!(races.iter().all(|race| race["deed"].as_str().unwrap().starts_with("jedis-lock, which ")), "{phase}");
        assert!(!phase["deploy"].as_str().unwrap().is_empty() && !phase["back"].as_str().unwrap().is_empty());
        assert!(phase["watch"].as_array().unwrap().iter().all(|line| line.as_str().unwrap().starts_with("lockshift ")));
    }
    let named = |phase: usize| -> Vec<String> {
        let races = phases[phase]["residual"].as_array().unwrap().iter();
        races.filter_map(|race| race["race"].as_str().map(str::to_owned)).collect()
    };
    for phase in [0, 1] {
        assert!(named(phase).contains(&"late-unlock".to_owned()), "{:?}", named(phase));
        assert!(named(phase).contains(&"loser-moves-lease".to_owned()), "{:?}", named(phase));
    }
}

/// Its refresh overwrites whatever the key holds, also a bridge's lock.
#[test]
fn an_old_client_that_extends_by_set_is_explored_with_its_extension() {
    let ended = done_within(EXPLORING, lockshift(), ["plan", "--fleet", "resque-lock-timeout", "--json"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    let phases = ended.json()["phases"].as_array().unwrap().clone();
    for phase in &phases {
        let races = phase["residual"].as_array().unwrap();
        let overwrites = |race: &&Value| race["race"] == "renewal-too-late" && race["property"] == "mutual exclusion";
        let is_old = phase["phase"].as_str().unwrap().contains("legacy");
        assert_eq!(races.iter().find(overwrites).map(|race| &race["new"]), is_old.then_some(&false.into()), "{phase}");
    }
}

/// The old clients stay as they are until the last phase.
#[test]
fn a_fleet_behind_guards_has_phases_of_its_own() {
    let ended = done_within(EXPLORING, lockshift(), ["plan", "--guard", "--fleet", "jedis-lock", "--json"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{}", ended.stdout);
    let json = ended.json();
    conforms("plan", &json);
    assert_eq!((&json["safe"], &json["guarded"]), (&true.into(), &"bridge-guard:jedis-lock".into()));
    let phases = json["phases"].as_array().unwrap();
    let names: Vec<_> = phases.iter().map(|phase| phase["phase"].as_str().unwrap()).collect();
    assert_eq!(names, ["legacy", "legacy, observed", "legacy + guard", "guard", "guard + modern", "modern"]);
    assert_eq!(phases[0]["residual"], phases[1]["residual"], "a guard that observes changes nothing");
    for phase in phases {
        assert_eq!((&phase["exhausted"], &phase["verdict"]), (&true.into(), &"safe within these bounds".into()));
        let races = phase["residual"].as_array().unwrap();
        assert_eq!(races.is_empty(), !phase["phase"].as_str().unwrap().contains("legacy"), "{phase}");
        assert!(races.iter().all(|race| race["new"] == false && race["by"] == "jedis-lock"), "{phase}");
    }
    // Neither of the other modes holds the new key.
    let deploy = phases[4]["deploy"].as_str().unwrap();
    assert!(["bridge mode", "`observe`", "`protect`"].iter().all(|mode| deploy.contains(mode)), "{deploy}");
}

#[test]
fn a_fleet_that_cannot_be_guarded_gets_the_reason() {
    let ended = done(lockshift(), ["plan", "--guard", "--fleet", "redigolock"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""));
    assert!(ended.stderr.starts_with("lockshift: cannot guard `redigolock`: no reply to "), "{ended:?}");
}

#[test]
fn a_fleet_without_a_bridge_gets_the_reason() {
    let ended = done(lockshift(), ["plan", "--fleet", "jedis-lock-2015,php-getset"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""));
    assert!(
        ended.stderr.starts_with("lockshift: this fleet has no bridge: no stamp keeps them all out: "),
        "{ended:?}"
    );
    assert!(ended.stderr.contains("jedis-lock-2015 takes 1800000002 as php-getset writes it"), "{ended:?}");

    let ended = done(lockshift(), ["plan", "--fleet", "jedis-lock-2015,php-getset", "--json"]);
    let json = ended.json();
    conforms("plan", &json);
    assert_eq!((ended.code, &json["safe"], &json["phases"]), (Some(1), &false.into(), &serde_json::json!([])));
    assert_eq!((&json["bridge"], &json["excludes_itself"]), (&Value::Null, &Value::Null));
    assert_eq!(ended.stderr, format!("lockshift: {}\n", json["refused"].as_str().unwrap()));
}

#[test]
fn what_is_no_fleet_or_no_new_lock_is_a_matter_of_usage() {
    let wrong = [
        ["--fleet", "token", "--to", "token"],
        ["--fleet", "jedis-lock", "--to", "php-getset"],
        ["--fleet", "jedis-lock", "--to", "redisson"],
        ["--fleet", "jedis-lock", "--to", "redlock"],
    ];
    for args in wrong {
        let ended = done(lockshift(), [&["plan"], &args[..]].concat());
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""), "{args:?}");
    }
}

/// Readers of the two-key lock take the bridge's token for the sign of other readers.
#[test]
fn a_new_lock_that_reads_the_new_key_otherwise_is_not_safe() {
    let args = ["plan", "--fleet", "jedis-lock", "--to", "rw-pair,side=reader"];
    let ended = done_within(EXPLORING, lockshift(), args);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stdout.contains("\nNot safe: bridge + modern"), "{ended:?}");
}

#[test]
fn a_fleet_that_does_not_exclude_itself_is_named_in_the_first_line() {
    let ended = done_within(EXPLORING, lockshift(), ["plan", "--fleet", "php-getset,jedis-lock", "--for", "1ms"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let first = "The old clients do not exclude each other today: jedis-lock takes ";
    assert!(ended.stdout.starts_with(first), "{ended:?}");
    assert!(ended.stdout.ends_with("Not safe: separate the keys first.\n"), "{ended:?}");
}

#[test]
fn a_plan_whose_time_is_up_is_not_called_safe() {
    let ended = done_within(EXPLORING, lockshift(), ["plan", "--fleet", "php-getset", "--for", "1ms"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let first = "The old clients exclude each other today, as far as was explored: there is more of the first phase.\n";
    assert!(ended.stdout.starts_with(first), "{ended:?}");
    assert!(ended.stdout.contains("Not known to be safe: not all was seen of legacy"), "{ended:?}");
    assert!(ended.stdout.contains("   verdict   not exhausted: "), "{ended:?}");
    assert!(!ended.stdout.contains("brought nothing new"), "{ended:?}");
    assert!(!ended.stdout.contains("races     none\n"), "what was not all seen has no race that was found: {ended:?}");
}

#[test]
fn the_time_of_a_plan_is_shared_among_its_phases() {
    for way in [&[][..], &["--guard"]] {
        let args = [&["plan", "--fleet", "php-getset", "--for", "1ms", "--json"], way].concat();
        let ended = done_within(EXPLORING, lockshift(), args);
        let plan: Value = serde_json::from_str(&ended.stdout).unwrap();
        let states = |phase: &Value| phase["states"].as_u64();
        assert!(plan["phases"].as_array().unwrap().iter().all(|phase| states(phase) > Some(0)), "{plan:#}");
    }
}

#[test]
fn a_language_without_a_package_is_refused_and_so_is_a_lock_that_no_package_speaks() {
    let other = done(lockshift(), ["plan", "--fleet", "php-getset", "--language", "php", "--to", "token-fenced"]);
    assert!(other.code == Some(2) && other.stderr.contains("the packages speak `token`"), "{other:?}");
    let unknown = done(lockshift(), ["plan", "--fleet", "php-getset", "--language", "cobol"]);
    assert!(unknown.code == Some(2) && unknown.stderr.contains("php, java, python, node"), "{unknown:?}");
}
