//! Keys of any type: DEL, EXISTS, TYPE, and finding them by pattern: KEYS, SCAN.

use super::call::{Answer, Call, Row, count};
use super::glob;
use super::number;
use super::refusal::Refusal;
use crate::wire::{Key, Reply};

pub(super) const ROWS: &[Row] = &[
    Row::writes("del", -2, del),
    Row::writes("unlink", -2, del),
    Row::reads("exists", -2, exists),
    Row::reads("type", 2, type_of),
    Row::reads("keys", 2, keys),
    Row::reads("scan", -2, scan),
    Row::reads("dbsize", 1, |call| Ok(count(call.database().entries.len()))),
    Row::writes("flushdb", -1, |call| flush(call, call.db..call.db + 1)),
    Row::writes("flushall", -1, |call| flush(call, 0..call.state.databases.len())),
];

fn del(call: &mut Call<'_>) -> Answer {
    Ok(count(call.args().iter().filter(|name| call.remove(&Key::new(name.as_slice()))).count()))
}

/// A key that is named twice counts twice.
fn exists(call: &mut Call<'_>) -> Answer {
    Ok(count(call.args().iter().filter(|name| call.entry(&Key::new(name.as_slice())).is_some()).count()))
}

fn type_of(call: &mut Call<'_>) -> Answer {
    let name = call.entry(&call.key(0)).map_or("none", |entry| entry.value.type_name());
    Ok(Reply::Status(name.to_owned()))
}

fn keys(call: &mut Call<'_>) -> Answer {
    Ok(names(call, Some(&call.args()[0]), None))
}

/// The first call finds everything, so the cursor it answers is the last one.
fn scan(call: &mut Call<'_>) -> Answer {
    let [cursor, options @ ..] = call.args() else { return Err(Refusal::Syntax) };
    let cursor_is_number = std::str::from_utf8(cursor).is_ok_and(|text| text.is_empty() || text.parse::<u64>().is_ok());
    if !cursor_is_number {
        return Err(Refusal::err("invalid cursor"));
    }
    let (mut pattern, mut type_name) = (None, None);
    for option in options.chunks(2) {
        let [name, operand] = option else { return Err(Refusal::Syntax) };
        match name.to_ascii_uppercase().as_slice() {
            b"MATCH" => pattern = Some(operand.as_slice()),
            b"TYPE" => type_name = Some(operand.as_slice()),
            b"COUNT" if number::integer(operand).ok_or(Refusal::NotAnInteger)? >= 1 => {}
            _ => return Err(Refusal::Syntax),
        }
    }
    Ok(Reply::Array(vec![Reply::bulk("0"), names(call, pattern, type_name)]))
}

fn names(call: &Call<'_>, pattern: Option<&[u8]>, type_name: Option<&[u8]>) -> Reply {
    let wanted = call.database().entries.iter().filter(|(key, entry)| {
        pattern.is_none_or(|pattern| glob::matches(pattern, key.as_bytes()))
            && type_name.is_none_or(|name| name.eq_ignore_ascii_case(entry.value.type_name().as_bytes()))
    });
    Reply::Array(wanted.map(|(key, _)| Reply::bulk(key)).collect())
}

fn flush(call: &mut Call<'_>, databases: std::ops::Range<usize>) -> Answer {
    match call.args() {
        [] => {}
        [mode] if mode.eq_ignore_ascii_case(b"SYNC") || mode.eq_ignore_ascii_case(b"ASYNC") => {}
        _ => return Err(Refusal::Syntax),
    }
    for db in databases {
        for key in std::mem::take(&mut call.state.databases[db].entries).into_keys() {
            call.state.touch(db, &key);
        }
    }
    Ok(Reply::ok())
}
