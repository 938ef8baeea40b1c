//! The events of a guard that observes, as the audit reads them.

use lockshift::audit::{Audit, Auditor};
use lockshift::monitor::Parser;
use lockshift::wire::Reply;
use serde_json::Value;

/// Audits the commands among these events, with their replies.
pub(super) fn audit(events: &str) -> Audit {
    let (mut auditor, mut parser) = (Auditor::new().keeping_episodes(), Parser::new());
    for (number, text) in (1..).zip(events.lines()) {
        let event: Value = serde_json::from_str(text).unwrap_or_else(|error| panic!("{number}: {error}"));
        if event["event"] != "command" {
            continue;
        }
        let listed = listed(&event);
        let line = parser.parse(listed.as_bytes()).unwrap_or_else(|error| panic!("{number}: {error}: {listed}"));
        auditor.read_in_order(number, &line, event.get("reply").map(reply));
    }
    auditor.finish()
}

/// The command as MONITOR lists it: events show bytes in the same way.
fn listed(event: &Value) -> String {
    let at_us = event["at_us"].as_u64().expect("an event has a moment");
    let words = event["command"].as_array().expect("a command is a list of words").iter();
    let words: Vec<String> = words.map(|word| format!("\"{}\"", text(word))).collect();
    let (database, client) = (&event["database"], text(&event["client"]));
    format!("{}.{:06} [{database} {client}] {}", at_us / 1_000_000, at_us % 1_000_000, words.join(" "))
}

fn reply(shown: &Value) -> Reply {
    match shown {
        Value::Null => Reply::Nil,
        Value::Number(number) => Reply::Int(number.as_i64().expect("replies are whole numbers")),
        Value::Object(one) if one.contains_key("status") => Reply::Status(text(&one["status"]).to_owned()),
        Value::Object(one) if one.contains_key("error") => Reply::Error(text(&one["error"]).to_owned()),
        Value::Object(one) if one.contains_key("bulk") => Reply::bulk(bytes(&one["bulk"])),
        other => panic!("no protocol of a fleet receives {other}"),
    }
}

/// The bytes that are shown so.
fn bytes(shown: &Value) -> Vec<u8> {
    let alone = format!("0.000000 [0 lua] \"{}\"", text(shown));
    Parser::new().parse(alone.as_bytes()).expect("it is one word").command().words()[0].to_vec()
}

fn text(shown: &Value) -> &str {
    shown.as_str().expect("names, words and bytes are text")
}
