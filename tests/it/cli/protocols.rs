//! `lockshift protocols`: the list, whole, for people and for programs.

use std::process::Stdio;

use super::command::{done, lockshift};

#[test]
fn every_protocol_is_listed_and_can_be_chosen() {
    let json = done(lockshift(), ["protocols", "--json"]).json();
    let listed = json.as_array().unwrap();
    for protocol in listed {
        let fields: Vec<_> = protocol.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(fields, ["encoding", "generation", "name", "options", "source"]);
        assert!(matches!(protocol["generation"].as_str(), Some("legacy" | "modern" | "bridge")), "{protocol}");
        assert!(protocol["options"].is_array());
        for field in ["name", "source", "encoding"] {
            assert!(!protocol[field].as_str().unwrap().is_empty(), "{field} of {protocol}");
        }
    }
    let names: Vec<_> = listed.iter().map(|protocol| protocol["name"].as_str().unwrap()).collect();
    let chosen = done(lockshift(), [&["protocols", "--json"], names.as_slice()].concat()).json();
    assert_eq!(chosen, json, "each by its name");

    let text = done(lockshift(), ["protocols"]).stdout;
    assert_eq!(text.lines().count(), 1 + names.len(), "a head, and a line each");
    assert!(names.iter().zip(text.lines().skip(1)).all(|(name, line)| line.starts_with(name)), "{text}");
}

#[test]
fn whoever_has_read_enough_may_close_the_pipe() {
    for args in [&["protocols"][..], &["protocols", "--json"], &["completions", "bash"], &["man"]] {
        let mut child = lockshift().args(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]), "{args:?}");
    }
}
