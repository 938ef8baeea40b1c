//! `lockshift audit` and `lockshift record`.

use std::process::Stdio;

use serde_json::Value;

use super::command::{done, lockshift, lockshift_at};
use super::traces::{BESIDE, file};
use crate::server::Server;

fn audited(trace: &str) -> (Option<i32>, Value, String) {
    let file = file(trace);
    let mut command = lockshift();
    command.arg("audit").arg(file.path());
    let ended = done(command, ["--json"]);
    (ended.code, serde_json::from_str(&ended.stdout).unwrap(), ended.stderr)
}

#[test]
fn a_race_is_named_with_the_lines_that_show_it_and_a_bad_line_is_passed_over() {
    // The last line is cut.
    let (code, json, stderr) = audited(&(BESIDE.to_owned() + "17000000\n"));
    assert_eq!(code, Some(1));
    let finding = &json["findings"][0];
    assert_eq!((finding["race"].as_str(), finding["key"].as_str()), (Some("token-read-as-stamp"), Some("lock")));
    assert_eq!(finding["lines"], serde_json::json!([2, 4, 5]));
    assert_eq!(json["findings"].as_array().unwrap().len(), 1);
    assert_eq!((json["commands"].as_u64(), json["locks"][0]["acquisitions"].as_u64()), (Some(5), Some(2)));
    assert!(stderr.contains(":7: passed over: it does not begin with a time"), "{stderr}");
}

#[test]
fn each_client_is_named_with_what_it_speaks() {
    let (_, json, _) = audited(BESIDE);
    let speakers = json["locks"][0]["speakers"].as_array().unwrap();
    let shown: Vec<_> = speakers.iter().map(|it| (it["client"].as_str(), it["acquisitions"].as_u64())).collect();
    assert_eq!(shown, [(Some("10.0.0.1:50000"), Some(1)), (Some("10.0.0.2:50000"), Some(1))]);
    let speaks = |place: usize, name| speakers[place]["dialects"].as_array().unwrap().contains(&Value::from(name));
    assert!(speaks(0, "token") && !speaks(0, "php7-getset"), "{json}");
    assert!(speaks(1, "php7-getset") && !speaks(1, "token"), "{json}");

    let file = file(BESIDE);
    let mut command = lockshift();
    command.arg("audit").arg(file.path());
    let text = done(command, ["--all"]).stdout;
    assert!(text.contains("lock  10.0.0.1:50000         1  token\n"), "{text}");
}

#[test]
fn json_lists_every_client_or_counts_the_acquisitions_of_the_rest() {
    let hold = |client: usize| {
        let at = 1_700_000_000 + 10 * client;
        format!(
            "{at}.000000 [0 10.0.0.1:{client}] \"SETNX\" \"lock\" \"{stamp}\"\n\
             {at}.100000 [0 10.0.0.1:{client}] \"DEL\" \"lock\"\n",
            stamp = at + 5,
        )
    };
    for (clients, listed, unlisted) in [(109, 109, 0), (300, 256, 44)] {
        let (_, json, _) = audited(&(1..=clients).map(hold).collect::<String>());
        let lock = &json["locks"][0];
        assert_eq!(lock["acquisitions"], clients, "{lock}");
        assert_eq!(lock["speakers"].as_array().unwrap().len(), listed);
        assert_eq!(lock["unlisted_acquisitions"], unlisted);
    }
}

#[test]
fn keys_of_one_name_are_distinguished_by_their_databases() {
    let file = file(&(BESIDE.to_owned() + &BESIDE.replace("[0 ", "[7 ")));
    let mut command = lockshift();
    command.arg("audit").arg(file.path());
    let text = done(command, [""; 0]).stdout;
    for expected in ["token-read-as-stamp  lock  ", "token-read-as-stamp  lock (database 7)  ", "\nlock (database 7) "]
    {
        assert!(text.contains(expected), "{expected} not in\n{text}");
    }
}

#[test]
fn without_a_race_all_is_well_and_without_a_file_it_says_where() {
    let calm: String = BESIDE.lines().take(2).map(|line| line.to_owned() + "\n").collect();
    let (code, json, stderr) = audited(&calm);
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    assert_eq!(json["findings"], serde_json::json!([]));

    let missing = done(lockshift(), ["audit", "/no/such/trace"]);
    assert_eq!(missing.code, Some(3));
    assert!(missing.stderr.contains("/no/such/trace: "), "{missing:?}");
}

#[test]
fn what_is_not_shown_is_counted_and_a_clock_that_was_set_back_is_named() {
    let mut trace = String::new();
    for round in 0..1_300 {
        let at = 1_700_000_000 + 100 * round;
        let lines = BESIDE.lines().skip(1).take(5);
        lines.for_each(|line| trace += &(line.replace("17000000", &(at / 100).to_string()) + "\n"));
    }
    trace += "1700000000.000000 [0 10.0.0.1:50000] \"PING\"\n";
    let (code, json, _) = audited(&trace);
    assert_eq!((code, json["races"].as_u64()), (Some(1), Some(1_300)));
    assert_eq!(json["findings"].as_array().unwrap().len(), 9);
    assert_eq!(json["findings"][8]["more"].as_u64(), Some(1_291));
    assert_eq!(json["others"]["keys"].as_u64(), Some(0));
    let note = &json["notes"][0];
    assert_eq!(
        (note["note"].as_str(), note["line"].as_u64(), note["times"].as_u64()),
        (Some("clock-steps-back"), Some(6_501), Some(1))
    );

    let file = file(&trace);
    let mut command = lockshift();
    command.arg("audit").arg(file.path());
    let text = done(command, [""; 0]).stdout;
    assert!(text.contains("\n… and 1,291 more token-read-as-stamp\n"), "{text}");
    assert!(text.contains("\nthe clock goes back by 129900.1 s at line 6501: "), "{text}");
    assert!(text.contains("\n1,300 races in 6501 lines"), "{text}");
}

#[test]
fn a_recording_is_whole_and_can_be_audited_from_a_pipe() {
    let server = Server::start();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trace.log");
    let mut command = lockshift_at(&server);
    let mut recording = command.args(["record", "--for", "2s", "-o"]).arg(&file).stdout(Stdio::null()).spawn().unwrap();
    let mut connection = server.connect();
    while recording.try_wait().unwrap().is_none() {
        redis::cmd("SET").arg("lock").arg(b"\x00\"\n").arg("NX").arg("PX").arg(5).exec(&mut connection).unwrap();
        std::thread::yield_now();
    }
    assert!(recording.wait().unwrap().success());
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.ends_with("\"PX\" \"5\"\n") && text.contains(r#""\x00\"\n""#), "{}", &text[text.len() - 200..]);

    let mut command = lockshift();
    command.args(["audit", "-", "--json"]).stdin(std::fs::File::open(&file).unwrap());
    let audited = command.output().unwrap();
    let json: Value = serde_json::from_slice(&audited.stdout).unwrap();
    assert_eq!(json["lines"].as_u64(), Some(text.lines().count() as u64));
}
