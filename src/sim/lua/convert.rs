//! Between Redis' replies and Lua's values, in both directions, as Redis converts them.

use mlua::{Lua, Table, Value};

use super::super::flavour::Flavour;
use super::super::number;
use super::raised::error_table;
use crate::wire::Reply;

/// Tables in tables deeper than this are refused, as Redis refuses what exceeds its Lua stack.
const DEEPEST: usize = 500;

/// What `redis.call` returns for a reply: nil becomes `false`, a number a double, a status `{ok = ...}`.
pub(super) fn from_reply(lua: &Lua, reply: &Reply) -> mlua::Result<Value> {
    Ok(match reply {
        Reply::Nil => Value::Boolean(false),
        Reply::Int(number) => Value::Number(*number as f64),
        Reply::Bulk(bytes) => Value::String(lua.create_string(bytes)?),
        Reply::Status(text) => {
            let status = lua.create_table()?;
            status.raw_set("ok", text.as_str())?;
            Value::Table(status)
        }
        Reply::Error(text) => Value::Table(error_table(lua, text)?),
        Reply::Array(items) => {
            let items = items.iter().map(|item| from_reply(lua, item)).collect::<mlua::Result<Vec<_>>>()?;
            Value::Table(lua.create_sequence_from(items)?)
        }
    })
}

/// The reply for what a script returns: `true` becomes 1, `false` nil, a number loses its fraction, a table ends before
/// its first nil.
pub(super) fn to_reply(value: Value, flavour: Flavour) -> Reply {
    nested(value, flavour, 0)
}

fn nested(value: Value, flavour: Flavour, depth: usize) -> Reply {
    match value {
        Value::String(text) => Reply::Bulk(text.as_bytes().to_vec()),
        Value::Boolean(true) => Reply::Int(1),
        Value::Integer(number) => Reply::Int(number),
        Value::Number(number) => Reply::Int(truncated(number)),
        Value::Table(_) if depth == DEEPEST => Reply::Error("ERR reached lua stack limit".to_owned()),
        Value::Table(table) => from_table(&table, flavour, depth),
        _ => Reply::Nil,
    }
}

fn from_table(table: &Table, flavour: Flavour, depth: usize) -> Reply {
    let field = |name: &str| match table.raw_get::<Value>(name) {
        Ok(Value::String(text)) => Some(on_one_line(&text.to_string_lossy())),
        _ => None,
    };
    if let Some(text) = field("err") {
        return Reply::Error(text);
    }
    if let Some(text) = field("ok") {
        return Reply::Status(text);
    }
    match table.raw_get::<Value>("double") {
        Ok(Value::Number(number)) => return Reply::bulk(number::print(flavour, number)),
        Ok(Value::Integer(number)) => return Reply::bulk(number.to_string()),
        _ => {}
    }
    let items = (1..).map(|index| table.raw_get::<Value>(index).unwrap_or(Value::Nil));
    Reply::Array(items.take_while(|item| !item.is_nil()).map(|item| nested(item, flavour, depth + 1)).collect())
}

/// What C makes of a double that is converted to 64 bits: too large a number becomes the smallest one.
fn truncated(number: f64) -> i64 {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if (-LIMIT..LIMIT).contains(&number) { number as i64 } else { i64::MIN }
}

fn on_one_line(text: &str) -> String {
    text.replace(['\r', '\n'], " ")
}
