//! Random scripts: the shipped texts on random keys, and small ones that convert values in every direction.

use std::fs;
use std::path::{Path, PathBuf};

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::phrases;
use super::steps::{Phrase, Word};
use super::terms::Terms;

/// Every script of this project, on keys that may hold anything.
pub(super) fn shipped() -> impl Strategy<Value = Phrase> {
    let texts: Vec<String> =
        lua_files(&root()).iter().map(|path| fs::read_to_string(path).expect("it is there")).collect();
    assert!(!texts.is_empty(), "the scripts were not found");
    prop_oneof![
        3 => (select(texts), vec(select(&["a", "b", "c"][..]), 0..7), vec(argument(), 0..8)).prop_map(call),
        1 => phrases::data(),
    ]
}

fn call((text, keys, args): (String, Vec<&str>, Vec<String>)) -> Phrase {
    let operands = keys.iter().map(Word::text).chain(args.iter().map(Word::text));
    let words = [Word::text("EVAL"), Word::text(text), Word::text(keys.len().to_string())];
    Phrase(words.into_iter().chain(operands).collect())
}

fn argument() -> impl Strategy<Value = String> {
    select(&["a", "b", "x", "1", "2", "30", "1000", "-1", "read", "write", "0", "PUBLISH", "SPUBLISH"][..])
        .prop_map(str::to_owned)
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The Lua files of the crates: not what lies in `target` or is no script of Redis.
fn lua_files(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders: Vec<_> = ["legacy/src", "modern/src", "src"].map(|folder| root.join(folder)).into();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("the folder is there").map(|entry| entry.expect("it can be read")) {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "lua") && !path.ends_with("sandbox.lua") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Small scripts that convert values in every direction, and raise in every way.
pub(super) fn random(terms: Terms) -> impl Strategy<Value = Phrase> {
    let script = vec(statement(), 0..4).prop_map(|lines| lines.join("\n"));
    let args = (vec(select(&["a", "b"][..]), 0..3), vec(argument(), 0..3));
    prop_oneof![
        8 => (script, args).prop_map(|(text, (keys, args))| call((text, keys, args))),
        1 => line_of(if terms.exact { ODDITIES } else { VALUES }).prop_map(|text| call((text.to_owned(), vec!["a"], vec!["1".to_owned()]))),
        1 => line_of(COMMANDS).prop_map(|text| Phrase(text.split('|').map(Word::text).collect())),
        2 => phrases::data(),
    ]
}

/// One of the lines.
fn line_of(text: &'static str) -> impl Strategy<Value = &'static str> {
    select(text.lines().collect::<Vec<_>>())
}

fn statement() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => expression().prop_map(|value| format!("return {value}")),
        2 => expression().prop_map(|value| format!("local v = {value}")),
        2 => sent().prop_map(|(way, words)| format!("redis.{way}({words})")),
        1 => (expression(), expression()).prop_map(|(left, right)| format!("if {left} == {right} then return 'same' end")),
        1 => sent().prop_map(|(way, words)| format!("local ok, e = pcall(redis.{way}, {words}) return {{tostring(ok), e}}")),
        1 => expression().prop_map(|value| format!("local r = {value} return type(r) == 'table' and r.err or type(r)")),
        1 => select(RAISED).prop_map(|value| format!("error({value})")),
    ]
}

/// Values that a script can return, tables in tables.
fn expression() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        line_of(VALUES).prop_map(str::to_owned),
        sent().prop_map(|(way, words)| format!("redis.{way}({words})")),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(|items| format!("{{{}}}", items.join(", "))),
            (select(&["ok", "err", "double", "x"][..]), inner)
                .prop_map(|(name, value)| format!("{{{name} = {value}}}")),
        ]
    })
}

/// A command as a script sends it.
fn sent() -> impl Strategy<Value = (&'static str, String)> {
    let words = phrases::data().prop_map(|phrase| {
        let unordered = ["SMEMBERS", "HKEYS", "HVALS", "HGETALL", "KEYS", "SCAN"];
        let command = phrase.command(0);
        if unordered.iter().any(|name| command.is(name)) {
            return "'GET', 'a'".to_owned();
        }
        command.words().iter().map(|word| literal(word)).collect::<Vec<_>>().join(", ")
    });
    (select(&["call", "pcall"][..]), words)
}

/// Bytes as Lua text; numbers sometimes as numbers.
fn literal(word: &[u8]) -> String {
    match word {
        [b'1'..=b'9', ..] if word.len() < 4 && word.iter().all(u8::is_ascii_digit) => {
            String::from_utf8_lossy(word).into_owned()
        }
        _ => format!("'{}'", word.iter().map(|byte| format!("\\{byte:03}")).collect::<String>()),
    }
}

const VALUES: &str = include_str!("values.txt");

/// What a script can raise: not any table, because one without a text in `err` takes Redis 7.0 down.
const RAISED: &[&str] =
    &["'x'", "nil", "true", "1.5", "{err = 'CODE text'}", "{err = 'text'}", "'a\\nb'", "'x', 0", "'x', 2"];

/// Scripts that misbehave; later versions forbid and allow other things.
const ODDITIES: &str = include_str!("oddities.txt");

/// How scripts are called, rightly and wrongly. Words are between bars.
const COMMANDS: &str = include_str!("calls.txt");
