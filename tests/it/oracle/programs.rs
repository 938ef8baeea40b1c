//! Random scripts: the shipped texts on random keys, and small ones that convert values in every direction.

use std::fs;
use std::path::{Path, PathBuf};

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::phrases;
use super::steps::{Phrase, Word};

/// Every script of this project, on keys that may hold anything.
pub(super) fn shipped() -> impl Strategy<Value = Phrase> {
    let texts: Vec<String> =
        lua_files(&root()).iter().map(|path| fs::read_to_string(path).expect("it is there")).collect();
    assert!(!texts.is_empty(), "the scripts were not found");
    prop_oneof![
        3 => (select(texts), vec(select(&["a", "b", "c"][..]), 0..5), vec(argument(), 0..5)).prop_map(call),
        1 => phrases::data(),
    ]
}

fn call((text, keys, args): (String, Vec<&str>, Vec<String>)) -> Phrase {
    let operands = keys.iter().map(Word::text).chain(args.iter().map(Word::text));
    let words = [Word::text("EVAL"), Word::text(text), Word::text(keys.len().to_string())];
    Phrase(words.into_iter().chain(operands).collect())
}

fn argument() -> impl Strategy<Value = String> {
    select(&["a", "b", "x", "1", "2", "30", "1000", "-1", "read", "write", "0"][..]).prop_map(str::to_owned)
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The Lua files of the crates: not what lies in `target` or is no script of Redis.
fn lua_files(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root.join("modern/src"), root.join("src")];
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
pub(super) fn random() -> impl Strategy<Value = Phrase> {
    let script = vec(statement(), 0..4).prop_map(|lines| lines.join("\n"));
    let args = (vec(select(&["a", "b"][..]), 0..3), vec(argument(), 0..3));
    prop_oneof![
        8 => (script, args).prop_map(|(text, (keys, args))| call((text, keys, args))),
        1 => select(ODDITIES).prop_map(|text| call((text.to_owned(), vec!["a"], vec!["1".to_owned()]))),
        1 => select(COMMANDS).prop_map(|text| Phrase(text.split('|').map(Word::text).collect())),
        2 => phrases::data(),
    ]
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
        select(VALUES).prop_map(str::to_owned),
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

const VALUES: &[&str] = &[
    "nil",
    "true",
    "false",
    "0",
    "1",
    "-1",
    "3.99",
    "-3.99",
    "1e15",
    "2^53",
    "2^63",
    "-2^63",
    "1e300",
    "0/0",
    "''",
    "'x'",
    "'a b'",
    "{}",
    "{1, 2, nil, 4}",
    "{1, 2, x = 3}",
    "KEYS",
    "ARGV",
    "KEYS[1]",
    "ARGV[1]",
    "ARGV[9]",
    "#KEYS",
    "redis.status_reply('FINE')",
    "redis.error_reply('CODE text')",
    "redis.error_reply('text')",
    "redis.error_reply('-CODE text')",
    "redis.error_reply(1)",
    "redis.status_reply()",
    "redis.sha1hex('')",
    "redis.sha1hex('x')",
    "tostring(1e15)",
    "tostring(0.1)",
    "tonumber('0x10')",
    "tonumber(ARGV[1])",
    "ARGV[1] + 1",
    "type(redis)",
    "redis.REPL_ALL",
    "math.floor(3.7)",
    "string.rep('ab', 3)",
    "('x'):upper()",
    "select('#', 1, nil)",
    "table.concat({1, 2, 3}, ',')",
    "unpack({1, 2})",
    "redis.log(redis.LOG_NOTICE, 'x')",
    "{ok = 'one\\ntwo'}",
    "{err = 'one\\ntwo'}",
    "{{}, {{}}}",
    "function() end",
    "redis.call",
    "redis.breakpoint()",
    "redis.set_repl(1)",
];

/// What a script can raise: not any table, because one without a text in `err` takes Redis 7.0 down.
const RAISED: &[&str] =
    &["'x'", "nil", "true", "1.5", "{err = 'CODE text'}", "{err = 'text'}", "'a\\nb'", "'x', 0", "'x', 2"];

/// Scripts that misbehave.
const ODDITIES: &[&str] = &[
    "x = 1",
    "return x",
    "return (",
    "return 'a",
    "redis.call()",
    "redis.pcall()",
    "return redis.pcall()",
    "redis.call('get')",
    "redis.call('nosuch')",
    "return redis.pcall('nosuch')",
    "redis.call({})",
    "redis.call('get', true)",
    "redis.call('get', nil)",
    "redis.call('eval', 'return 1', 0)",
    "redis.call('multi')",
    "redis.call('script', 'load', 'x')",
    "redis.call('client')",
    "redis.call('client', 'nosuch')",
    "string.x = 1",
    "redis.x = 1",
    "KEYS = nil",
    "_G.x = 1",
    "return _G.x",
    "rawset(_G, 'x', 1)",
    "return rawget(_G, 'x')",
    "return math.nosuch",
    "error('boom')",
    "error('boom', 0)",
    "error()",
    "error({err = 'CODE text'})",
    "error(true)",
    "error(1.5)",
    "return pcall(error, 'x')",
    "return {pcall(error, {err = 'X y'})}",
    "local t = nil; return t.x",
    "return 1 + {}",
    "return 'a' + 1",
    "return #nil",
    "local function f() error('deep') end f()",
    "local function f() return redis.call('incr', 'a', 'b') end return f()",
    "return {xpcall(function() error('x') end, function(e) return 'handled ' .. tostring(e) end)}",
    "return {xpcall(function() redis.call('nosuch') end, function(e) return e.err end)}",
    "local c = coroutine.create(function() redis.call('nosuch') end) local ok, e = coroutine.resume(c) return e.err",
    "return coroutine.wrap(function() coroutine.yield(redis.call('set', 'a', 'c')) end)()",
    "redis.call('select', 1) redis.call('set', 'a', 'other') return redis.call('get', 'a')",
    "redis.sha1hex()",
    "return redis.sha1hex(1)",
    "redis.setresp(4)",
    "redis.log()",
    "redis.log('x', 'y')",
    "redis.log(9, 'y')",
    "return ...",
    "return 1, 2",
    "local t = {} t[1] = t return #t",
    "for i = 1, 3 do redis.call('rpush', 'list', i) end return redis.call('lrange', 'list', 0, -1)",
    "redis.call('pexpire', KEYS[1], 30) return redis.call('pttl', KEYS[1])",
    "redis.call('set', KEYS[1], 'x', 'px', 20) redis.call('persist', KEYS[1]) return redis.call('ttl', KEYS[1])",
    "redis.call('publish', 'a', ARGV[1]) return redis.call('publish', 'b', '')",
    "return redis.call('ping')",
    "return redis.call('echo', 12345678901234567890)",
    "return redis.call('echo', 0.1)",
    "return redis.call('echo', 1/3)",
    "return redis.call('echo', -1/0)",
    "return os",
    "return debug",
    "return print",
    "return require",
    "return dofile",
    "return type(table.getn)",
    "return _VERSION",
    "getmetatable('').x = 1",
    "return math.random",
];

/// How scripts are called, rightly and wrongly. Words are between bars.
const COMMANDS: &[&str] = &[
    "EVAL|return 1|0",
    "EVAL|return 1|x",
    "EVAL|return 1|-1",
    "EVAL|return 1|1",
    "EVAL|return 1",
    "eval||0",
    "EVALSHA|e0e1f9fabfc9d4800c877a703b823ac0578ff8db|0",
    "EVALSHA|E0E1F9FABFC9D4800C877A703B823AC0578FF8DB|0",
    "EVALSHA|x|0",
    "EVALSHA|e0e1f9fabfc9d4800c877a703b823ac0578ff8db|1",
    "EVALSHA|x|x",
    "SCRIPT|LOAD|return 1",
    "SCRIPT|LOAD|return (",
    "SCRIPT|EXISTS|e0e1f9fabfc9d4800c877a703b823ac0578ff8db|x",
    "SCRIPT|EXISTS|E0E1F9FABFC9D4800C877A703B823AC0578FF8DB",
    "SCRIPT|FLUSH",
    "SCRIPT|FLUSH|ASYNC",
    "SCRIPT|FLUSH|x",
    "SCRIPT|LOAD",
    "SCRIPT",
    "SCRIPT|nosuch",
    "MULTI",
    "EXEC",
];
