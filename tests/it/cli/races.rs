//! `lockshift races`: what can go wrong, and what prevents it.

use std::fs;
use std::time::Duration;

use serde_json::{Value, json};

use super::command::{Done, done, done_within, lockshift, lockshift_at};
use crate::golden::golden;
use crate::server::Server;

/// For exploring everything, without optimisation, on a busy machine.
const EXPLORING: Duration = Duration::from_secs(300);

#[test]
fn a_race_that_is_named_twice_is_reproduced_once() {
    let named = ["crash-before-expire", "no-lease-crash", "crash-before-expire"];
    let ended = done_within(EXPLORING, lockshift(), ["races", "--json"].iter().chain(&named));
    let json = ended.json();
    let ids: Vec<_> = json.as_array().unwrap().iter().map(|race| race["id"].as_str().unwrap()).collect();
    assert_eq!((ended.code, ids), (Some(0), named[..2].to_vec()), "{}", ended.stderr);
}

#[test]
fn every_race_is_reproduced_and_every_remedy_is_clean() {
    let ended = done_within(EXPLORING, lockshift(), ["races", "--json"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{}", ended.stderr);
    let json = ended.json();
    let races = json.as_array().unwrap();
    assert!(races.len() >= 33, "{}", races.len());
    for race in races {
        assert_eq!(
            fields(race),
            [
                "behind_guard",
                "id",
                "prevented_by",
                "protocol",
                "replayed",
                "reproduced",
                "sources",
                "states",
                "steps",
                "title",
                "trace",
                "violates"
            ]
        );
        assert_eq!((&race["reproduced"], &race["replayed"]), (&json!(true), &json!(null)), "{race}");
        assert_eq!(race["steps"].as_u64().unwrap(), race["trace"].as_array().unwrap().len() as u64, "{race}");
        assert!(race["states"].as_u64().unwrap() > 0 && !race["sources"].as_array().unwrap().is_empty(), "{race}");
        for event in race["trace"].as_array().unwrap() {
            assert_eq!(fields(event), ["action", "at_ms", "client", "command", "reply"]);
        }
        for remedy in race["prevented_by"].as_array().unwrap() {
            assert_eq!(fields(remedy), ["exhausted", "protocol", "reproduced", "states", "ticks"]);
            assert_eq!((&remedy["reproduced"], &remedy["exhausted"]), (&json!(false), &json!(true)), "{race}");
        }
        for behind in race["behind_guard"].as_array().unwrap() {
            assert_eq!(fields(behind), ["because", "exhausted", "protocol", "reproduced", "states", "ticks"]);
            let is_prevented = (&behind["reproduced"], &behind["exhausted"]) == (&json!(false), &json!(true));
            assert_eq!(behind["because"].is_null(), is_prevented, "prevented, or a reason: {race}");
            assert_eq!(behind["states"].is_null(), behind["reproduced"].is_null(), "{race}");
        }
    }
}

fn fields(object: &Value) -> Vec<&str> {
    object.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn a_line_for_each_and_a_sum() {
    let ended = done(lockshift(), ["races", "double-takeover", "late-unlock"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    let expected = "\
RACE             PROTOCOL        STEPS  STATES  PREVENTED BY (STATES; TICKS)         \u{20}
double-takeover  setnx-page-del      8      66  setnx-page (2,877; 3)
                                                token (48; 3)
                                                guard:setnx-page-del (5,000; 3)
                                                bridge-guard:setnx-page-del (6,575; 3)
late-unlock      java-lua            5      38  java-token (409; 8)
                                                token (409; 8)

2 of 2 races reproduced on a shortest schedule; 4 of 4 remedies explored to the end and clean, each
for longer than its race. A guard prevents 1 of 2 races of old clients. 15,422 states in all.
";
    assert_eq!(ended.stdout, expected);
}

#[test]
fn one_race_is_shown_in_detail() {
    let ended = done(lockshift(), ["races", "--show", "late-unlock"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    for expected in [
        "A late release frees another client's lock\nA client works past its lease",
        " 5 ▶  2 s  -         DEL → 1 ",
        "✗ broken: removes only one's own\n",
        "A's DEL lock, decided at 0 s, ran at 2 s and was answered 1.\n",
        "Prevented by token (409 states, 8 s): Redis itself ends the lease",
    ] {
        assert!(ended.stdout.contains(expected), "{expected} not in\n{}", ended.stdout);
    }
    let widest = ended.stdout.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(100), "{widest:?}:\n{}", ended.stdout);
}

#[test]
fn one_race_as_a_sequence_diagram() {
    let ended = done(lockshift(), ["races", "--mermaid", "double-takeover"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    golden("tests/it/cli/double-takeover.mmd", &ended.stdout);
}

#[test]
fn a_page_is_whole_or_not_there() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("race.html");
    fs::write(&file, "old").unwrap();
    let ended = done(lockshift(), ["races", "late-unlock", "--html", file.to_str().unwrap()]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    let page = fs::read_to_string(&file).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>"), "{page}");
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "nothing else is left beside it");

    let nowhere = directory.path().join("nowhere/race.html");
    let refused = done(lockshift(), ["races", "late-unlock", "--html", nowhere.to_str().unwrap()]);
    assert_eq!((refused.code, refused.stdout.as_str()), (Some(3), ""));
    assert!(refused.stderr.contains(&format!("{}: there is no directory ", nowhere.display())), "{refused:?}");

    let under_a_file = format!("{}/", file.display());
    let refused = done(lockshift(), ["races", "--html", &under_a_file]);
    assert_eq!(refused.code, Some(3), "{refused:?}");
    assert!(refused.stderr.contains(&under_a_file), "{refused:?}");
}

#[test]
fn a_real_server_answers_the_same() {
    let server = Server::start();
    let ended = done_within(
        EXPLORING,
        lockshift_at(&server),
        ["races", "--replay", "double-takeover", "failover-loses-lock", "--json"],
    );
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    let replayed = ended.json().as_array().unwrap().iter().map(|race| race["replayed"].clone()).collect::<Vec<_>>();
    assert_eq!(replayed, [json!(true), json!(null)], "no command replaces a server by its replica");
    let ended = done_within(EXPLORING, lockshift(), ["races", "late-unlock", "--replay", "--redis", &server.url()]);
    assert!(ended.stdout.starts_with("RACE") && ended.stdout.contains("REPLAYED"), "{ended:?}");
    let keys: u64 = redis::cmd("DBSIZE").query(&mut server.connect()).unwrap();
    assert_eq!(keys, 0, "nothing stays behind");
}

#[test]
fn a_schedule_on_three_servers_needs_three() {
    let servers = [(); 3].map(|()| Server::start());
    let one = done_within(
        EXPLORING,
        lockshift_at(&servers[0]),
        ["races", "--replay", "partial-quorum-stays", "failover-loses-lock", "late-unlock"],
    );
    assert_eq!((one.code, one.stderr.as_str()), (Some(0), ""));
    for expected in [
        "\npartial-quorum-stays was not replayed: the schedule speaks to 3 servers, and there are 1.\n",
        "\nfailover-loses-lock was not replayed: no command replaces a server by its replica.\n",
    ] {
        assert!(one.stdout.contains(expected), "{expected} not in\n{}", one.stdout);
    }
    // That nothing was replayed is no all-clear.
    for how in [
        &["partial-quorum-stays", "--json"][..],
        &["partial-quorum-stays", "failover-loses-lock"],
        &["--show", "overrun"],
    ] {
        let none = done_within(EXPLORING, lockshift_at(&servers[0]), [&["races", "--replay"], how].concat());
        let is_replayed = how.contains(&"overrun");
        assert_eq!((none.code, none.stdout.is_empty()), (Some(if is_replayed { 0 } else { 3 }), false), "{none:?}");
        let why = "lockshift: nothing was replayed: the schedule speaks to 3 servers, and there are 1\n";
        assert_eq!(none.stderr, if is_replayed { "" } else { why }, "{none:?}");
    }
    let urls = servers.iter().map(Server::url).collect::<Vec<_>>();
    let three = done_within(
        EXPLORING,
        lockshift(),
        ["races", "--replay", "partial-quorum-stays", "late-unlock", "--json", "--redis", &urls.join(",")],
    );
    let replayed = |done: &Done| done.json().as_array().unwrap().iter().map(|race| race["replayed"].clone()).collect();
    let replayed: Vec<Value> = replayed(&three);
    assert_eq!((three.code, replayed), (Some(0), vec![json!(true), json!(true)]), "{three:?}");
    let keys = servers.iter().map(|server| redis::cmd("DBSIZE").query(&mut server.connect()));
    assert_eq!(keys.collect::<Result<Vec<u64>, _>>(), Ok(vec![0, 0, 0]), "nothing stays behind");
}

#[test]
fn an_absent_server_is_reported() {
    let ended = done(lockshift(), ["races", "late-unlock", "--replay", "--redis", "redis://127.0.0.1:1"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(3), ""));
    assert!(ended.stderr.contains("redis://127.0.0.1:1"), "{ended:?}");
}

#[test]
fn no_server_is_asked_without_replay() {
    let mut command = lockshift();
    command.env("REDIS_URL", "redis://127.0.0.1:1");
    let ended = done(command, ["races", "late-unlock", "--json"]);
    assert_eq!((ended.code, &ended.json()[0]["replayed"]), (Some(0), &json!(null)));
    let ended = done(lockshift(), ["races", "late-unlock", "--replay"]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.stderr.contains("which Redis?"), "{ended:?}");
}

#[test]
fn several_pages_have_an_index() {
    let directory = tempfile::tempdir().unwrap();
    let pages = format!("{}/pages/", directory.path().display());
    let ended = done(lockshift(), ["races", "late-unlock", "overrun", "--html", &pages]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let index = fs::read_to_string(directory.path().join("pages/index.html")).unwrap();
    for id in ["late-unlock", "overrun"] {
        assert!(index.contains(&format!("href=\"{id}.html\"")), "{index}");
        assert!(directory.path().join(format!("pages/{id}.html")).exists());
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    let table: [(&[&str], &str); 6] = [
        (&["late-unlok"], "there is no race `late-unlok`: did you mean `late-unlock`?"),
        (&["--show", "late-unlok"], "did you mean `late-unlock`?"),
        (&["--mermaid", "xyzzy"], "there is no race `xyzzy`\n"),
        (&["late-unlock", "--show", "overrun"], "cannot be used with"),
        (&["--mermaid", "overrun", "--json"], "cannot be used with"),
        (&["late-unlock", "overrun", "--html", "race.html"], "one file holds one race"),
    ];
    for (args, expected) in table {
        let refused = done(lockshift(), [&["races"], args].concat());
        assert_eq!((refused.code, refused.stdout.as_str()), (Some(2), ""), "{args:?}: {refused:?}");
        assert!(refused.stderr.contains(expected), "{args:?}: {expected} not in {}", refused.stderr);
    }
}
