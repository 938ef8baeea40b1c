//! What scripts raise: from an error reply to what the script may catch, and to the reply that ends it.

use mlua::{Lua, Table, Value};
use thiserror::Error;

/// The name under which Lua knows every script, so that error texts read as those of Redis.
pub(super) const SCRIPT: &str = "@user_script";

/// An error reply on its way through Lua.
#[derive(Clone, Debug, Error)]
#[error("{0}")]
pub(super) struct Raised(pub(super) String);

impl From<Raised> for mlua::Error {
    fn from(raised: Raised) -> Self {
        Self::external(raised)
    }
}

/// `{err = text}`, as `redis.pcall` returns it.
pub(super) fn error_table(lua: &Lua, text: &str) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    table.raw_set("err", text)?;
    table.raw_set("ignore_error_stats_update", true)?;
    Ok(table)
}

/// What a script may see of what was raised: an error reply becomes its table, any other error of ours a text.
pub(super) fn plain(lua: &Lua, raised: Value) -> mlua::Result<Value> {
    let Value::Error(error) = &raised else { return Ok(raised) };
    match error.downcast_ref::<Raised>() {
        Some(Raised(text)) => error_table(lua, text).map(Value::Table),
        None => Ok(Value::String(lua.create_string(error.to_string())?)),
    }
}

/// Makes of whatever ended a script the table that Redis makes of it, with the line of the script.
pub(super) fn describe(lua: &Lua, raised: Value) -> mlua::Result<Table> {
    let described = match plain(lua, raised)? {
        Value::Table(table) => table,
        other => {
            let table = lua.create_table()?;
            table.raw_set("err", lua.create_string([b"ERR ".as_slice(), &tostring(lua, &other)?].concat())?)?;
            table
        }
    };
    if let Some(line) = line_of_script(lua) {
        described.raw_set("line", line)?;
    }
    Ok(described)
}

/// Lua's own `tostring`.
fn tostring(lua: &Lua, value: &Value) -> mlua::Result<Vec<u8>> {
    match lua.coerce_string(value.clone())? {
        Some(text) => Ok(text.as_bytes().to_vec()),
        None => Ok(value.to_string()?.into_bytes()),
    }
}

/// The line that the innermost function of the script has come to.
fn line_of_script(lua: &Lua) -> Option<usize> {
    let mut level = 0;
    loop {
        let here = lua.inspect_stack(level, |frame| {
            let of_script = frame.source().source.as_deref() == Some(SCRIPT);
            frame.current_line().filter(|_| of_script)
        })?;
        if here.is_some() {
            return here;
        }
        level += 1;
    }
}

/// The text of the error reply for what ended the script of this name.
pub(super) fn error_text(described: &Table, sha1: &str) -> String {
    let text = match described.get::<Value>("err") {
        Ok(Value::String(text)) => text.to_string_lossy(),
        _ => "ERR unknown error".to_owned(),
    };
    let place = match described.raw_get::<Option<usize>>("line") {
        Ok(Some(line)) => format!(" script: {sha1}, on {SCRIPT}:{line}."),
        _ => String::new(),
    };
    (text + &place).replace(['\r', '\n'], " ")
}
