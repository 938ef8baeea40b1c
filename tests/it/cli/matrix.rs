//! `lockshift matrix`: who may share a key with whom, against what is known of each pair.

use lockshift::lock::Lease;
use lockshift::matrix::matrix;
use lockshift::protocols::Choice;
use lockshift::report::{Matrix, Report};
use lockshift::wire::UnixTime;
use serde_json::Value;
use std::time::Duration;

use super::command::{done, lockshift};
use crate::golden::golden;

/// The report on one pair.
fn pair(json: &Value, holder: &str, newcomer: &str) -> (String, Option<String>) {
    let pairs = json.as_array().unwrap();
    let pair = pairs.iter().find(|pair| pair["holder"] == holder && pair["newcomer"] == newcomer).unwrap();
    (pair["verdict"].as_str().unwrap().to_owned(), pair["value"].as_str().map(str::to_owned))
}

/// The pairs of these protocols, and the exit status.
fn matrix_of(protocols: &[&str]) -> (Option<i32>, Value) {
    let ended = done(lockshift(), [&["matrix"], protocols, &["--json"]].concat());
    assert_eq!(ended.stderr, "", "{ended:?}");
    (ended.code, ended.json())
}

/// A token in hexadecimal as each PHP reads it: PHP 7 as far as the digits go, and as a power of ten where an `e` follows;
/// PHP 8 compares the whole text.
#[test]
fn a_token_is_read_as_a_stamp() {
    for php in ["php7-getset", "php-getset"] {
        let (code, json) = matrix_of(&["token", php]);
        assert_eq!(code, Some(1), "{json}");
        let (verdict, value) = pair(&json, "token", php);
        assert_eq!(verdict, "steals", "{php}: {json}");
        let value = value.unwrap();
        assert!(value.len() == 32 && value.bytes().all(|digit| digit.is_ascii_hexdigit()), "{php}: {value}");
        assert!(value.starts_with("00d7"), "{php} reads {value} as 0, which is long over");
        assert_eq!(pair(&json, php, "token").0, "starves", "a stamp without TTL never leaves the key");
    }
}

#[test]
fn eight_bytes_are_read_as_a_stamp() {
    let (_, json) = matrix_of(&["java-getset", "php-getset"]);
    let (verdict, value) = pair(&json, "java-getset", "php-getset");
    assert_eq!(verdict, "steals");
    assert!(value.as_ref().unwrap().starts_with(r"\x00\x00\x01"), "a long of milliseconds, as bytes: {value:?}");
    let (verdict, value) = pair(&json, "php-getset", "java-getset");
    assert_eq!(verdict, "starves");
    assert_eq!(value.unwrap().len(), 10, "ten digits, read as eight bytes, are millions of years away");
}

#[test]
fn seconds_are_read_as_milliseconds() {
    let (_, json) = matrix_of(&["php-getset", "jedis-lock"]);
    let (verdict, value) = pair(&json, "php-getset", "jedis-lock");
    assert_eq!((verdict.as_str(), value.unwrap().len()), ("steals", 10), "seconds are in January 1970 for it");
    let (verdict, value) = pair(&json, "jedis-lock", "php-getset");
    assert_eq!((verdict.as_str(), value.unwrap().len()), ("starves", 13), "milliseconds are in the far future for it");
}

#[test]
fn a_token_client_starves_behind_a_dead_stamp() {
    let (_, json) = matrix_of(&["jedis-lock", "token"]);
    assert_eq!(pair(&json, "jedis-lock", "token").0, "starves");
    assert_eq!(
        pair(&json, "token", "jedis-lock").0,
        "excludes",
        "no other client has the lock, and none waits for ever"
    );
}

#[test]
fn protocols_with_the_same_values_may_share_a_key() {
    let (code, json) = matrix_of(&["token", "token"]);
    assert_eq!(code, Some(0), "{json}");
    let fields: Vec<_> = json[0].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(fields, ["holder", "newcomer", "value", "verdict"]);
    assert_eq!(json[0]["value"], Value::Null);
}

#[test]
fn as_a_table_at_one_moment() {
    let protocols = ["php-getset", "java-getset", "jedis-lock", "token"];
    let protocols: Vec<Choice> = protocols.iter().map(|name| name.parse().unwrap()).collect();
    let lease = Lease::new(Duration::from_secs(30)).unwrap();
    let now = UnixTime::from_secs(1_700_000_000).unwrap();
    let table = Matrix::of(&matrix(&protocols, lease, now, &mut || ())).text(None);
    let table = anstream::adapter::strip_str(&table).to_string();
    golden("tests/it/cli/matrix.txt", &table);
}

#[test]
fn an_unknown_name_is_refused_with_a_hint() {
    let refused = done(lockshift(), ["matrix", "tokn"]);
    assert_eq!((refused.code, refused.stdout.as_str()), (Some(2), ""));
    assert!(refused.stderr.contains("did you mean `token`?"), "{refused:?}");
}
