//! `lockshift protocols`: the list, whole, for people and for programs.

use std::process::Stdio;

use super::command::{done, lockshift, lockshift_at};
use crate::monitor::Monitor;
use crate::server::Server;

#[test]
fn every_protocol_is_listed_and_can_be_chosen() {
    let json = done(lockshift(), ["protocols", "--json"]).json();
    let listed = json.as_array().unwrap();
    for protocol in listed {
        let fields: Vec<_> = protocol.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(fields, ["encoding", "generation", "key", "name", "options", "source"]);
        assert!(matches!(protocol["generation"].as_str(), Some("legacy" | "modern" | "bridge")), "{protocol}");
        assert!(protocol["options"].is_array());
        for field in ["name", "source", "key", "encoding"] {
            assert!(!protocol[field].as_str().unwrap().is_empty(), "{field} of {protocol}");
        }
    }
    let names: Vec<_> = listed.iter().map(|protocol| protocol["name"].as_str().unwrap()).collect();
    let chosen = done(lockshift(), [&["protocols", "--json"], names.as_slice()].concat()).json();
    assert_eq!(chosen, json, "each by its name");

    let text = done(lockshift(), ["protocols"]).stdout;
    assert!(text.starts_with("LEGACY ") && text.contains("\nMODERN "), "{text}");
    for name in names {
        assert!(text.lines().any(|line| line.split_whitespace().next() == Some(name)), "no line for {name} in\n{text}");
    }
}

#[test]
fn a_named_protocol_is_shown_in_full() {
    let card = done(lockshift(), ["protocols", "php-getset", "token,expiry=exat"]).stdout;
    assert!(card.starts_with("php-getset\n  world     legacy\n"), "{card}");
    assert!(card.contains("\n  takeover  GETSET") && card.contains("\ntoken\n  world   modern\n"), "{card}");
    assert!(card.contains("  option  expiry=px|ex|pxat|exat|none\n"), "{card}");
}

#[test]
fn a_protocol_says_which_key_its_program_makes_of_a_name() {
    let card = done(lockshift(), ["protocols", "gorlock", "redis-semaphore"]).stdout;
    let keys: Vec<_> = card.lines().filter_map(|line| line.trim().strip_prefix("key ")).map(str::trim).collect();
    assert_eq!(keys, ["gorlock:NAME", "SEMAPHORE:NAME:release_locks"]);
}

#[test]
fn an_option_says_how_to_lock() {
    let server = Server::start();
    for (protocol, sent) in [("token", "PX"), ("token,expiry=ex", "EX"), ("token,expiry=pxat", "PXAT")] {
        let mut monitor = Monitor::on(&server);
        let ran = done(lockshift_at(&server), ["run", "k", "--lease", "1500ms", "--protocol", protocol, "--", "true"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let set = monitor.take().into_iter().find(|line| line.words[0] == b"SET").expect("it acquires by SET");
        assert_eq!(set.words[4], sent.as_bytes(), "{protocol}");
    }
}

#[test]
fn a_reader_may_close_the_pipe_early() {
    for args in [&["protocols"][..], &["protocols", "--json"], &["completions", "bash"], &["man"]] {
        let mut child = lockshift().args(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]), "{args:?}");
    }
}

#[test]
fn a_user_with_the_printed_acl_runs_a_command_under_the_lock() {
    let server = Server::start();
    let rule = done(lockshift(), ["protocols", "token", "--acl", "--key", "jobs:*"]).stdout;
    let words: Vec<_> = rule.split_whitespace().collect();
    redis::cmd("ACL")
        .arg("SETUSER")
        .arg("app")
        .arg("on")
        .arg(">secret")
        .arg(words)
        .exec(&mut server.connect())
        .unwrap();
    let run = |key: &str| {
        let mut command = lockshift();
        command.env("REDIS_URL", format!("redis://app:secret@{}/", server.address()));
        done(command, ["run", key, "--", "echo", "ran"])
    };
    let ran = run("jobs:nightly");
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "ran\n"), "{ran:?}");
    assert_eq!(run("other").code, Some(3));
    let derived = done(lockshift(), ["protocols", "gorlock", "--acl", "--json"]).json();
    assert_eq!(derived[0]["keys"], serde_json::json!(["gorlock:*"]));
    // The dialect of two keys: a pattern of its keys is no pattern of names.
    for key in [&[][..], &["--key", "*"], &["--key", "lock:owner:*"]] {
        let derived = done(lockshift(), [&["protocols", "mlanett-redis-lock", "--acl", "--json"], key].concat()).json();
        assert_eq!(derived[0]["keys"], serde_json::json!(["lock:expire:*", "lock:owner:*"]), "{key:?}");
    }
}
