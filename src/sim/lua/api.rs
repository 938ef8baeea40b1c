//! What a script finds in the table `redis`.

use mlua::{Lua, Table, Value, Variadic};
use sha1_smol::Sha1;

use super::super::call::Call;
use super::super::flavour::Flavour;
use super::super::number;
use super::raised::{Raised, error_table};
use crate::wire::{CommandWord, Reply};

/// Runs a command for a script: the reply, or the text of the error.
pub(super) fn send(call: &mut Call<'_>, words: &[Value]) -> Result<Reply, String> {
    let words =
        words.iter().map(|value| word(value, call.state.flavour).map(CommandWord::from)).collect::<Option<Vec<_>>>();
    let words = words.ok_or("ERR Lua redis lib command arguments must be strings or integers")?;
    if words.is_empty() {
        return Err("ERR Please specify at least one argument for this redis lib call".to_owned());
    }
    let row =
        call.table.find(&words, call.state.flavour).map_err(|_| "ERR Unknown Redis command called from script")?;
    row.check_arity(words.len()).map_err(|_| "ERR Wrong number of args calling Redis command from script")?;
    if !row.in_scripts {
        return Err("ERR This Redis command is not allowed from script".to_owned());
    }
    call.run(row, &words).map_err(|refusal| refusal.to_string())
}

/// A word of a command: a string, or a number in as many digits as it needs.
fn word(value: &Value, flavour: Flavour) -> Option<Vec<u8>> {
    match value {
        Value::String(text) => Some(text.as_bytes().to_vec()),
        Value::Integer(number) => Some(number::print(flavour, *number as f64).into_bytes()),
        Value::Number(number) => Some(number::print(flavour, *number).into_bytes()),
        _ => None,
    }
}

/// The table `redis`, but for `call` and `pcall`, which belong to a run.
pub(super) fn table(lua: &Lua) -> mlua::Result<Table> {
    let redis = lua.create_table()?;
    redis.raw_set("sha1hex", lua.create_function(sha1hex)?)?;
    redis.raw_set("error_reply", lua.create_function(error_reply)?)?;
    redis.raw_set("status_reply", lua.create_function(status_reply)?)?;
    redis.raw_set("log", lua.create_function(log)?)?;
    redis.raw_set("setresp", lua.create_function(setresp)?)?;
    redis.raw_set("set_repl", lua.create_function(set_repl)?)?;
    redis.raw_set("replicate_commands", lua.create_function(|_, ()| Ok(true))?)?;
    redis.raw_set("breakpoint", lua.create_function(|_, ()| Ok(false))?)?;
    redis.raw_set("debug", lua.create_function(|_, _: Variadic<Value>| Ok(()))?)?;
    for (level, name) in ["LOG_DEBUG", "LOG_VERBOSE", "LOG_NOTICE", "LOG_WARNING"].into_iter().enumerate() {
        redis.raw_set(name, level)?;
    }
    for (name, flags) in [("REPL_NONE", 0), ("REPL_AOF", 1), ("REPL_SLAVE", 2), ("REPL_REPLICA", 2), ("REPL_ALL", 3)] {
        redis.raw_set(name, flags)?;
    }
    Ok(redis)
}

fn sha1hex(lua: &Lua, args: Variadic<Value>) -> mlua::Result<String> {
    match args.as_slice() {
        [value] => {
            let text = lua.coerce_string(value.clone())?;
            Ok(Sha1::from(text.map(|text| text.as_bytes().to_vec()).unwrap_or_default()).digest().to_string())
        }
        _ => Err(Raised("ERR wrong number of arguments".to_owned()).into()),
    }
}

/// `error_reply("CODE text")`; a text of one word is given the code `ERR`.
fn error_reply(lua: &Lua, args: Variadic<Value>) -> mlua::Result<Table> {
    let [Value::String(text)] = args.as_slice() else { return wrong_arguments(lua) };
    let text = text.to_string_lossy();
    let text = text.strip_prefix('-').unwrap_or(&text).trim_end_matches(['\r', '\n']);
    error_table(lua, &if text.contains(' ') { text.to_owned() } else { format!("ERR {text}") })
}

fn status_reply(lua: &Lua, args: Variadic<Value>) -> mlua::Result<Table> {
    let [Value::String(text)] = args.as_slice() else { return wrong_arguments(lua) };
    let status = lua.create_table()?;
    status.raw_set("ok", text)?;
    Ok(status)
}

/// Returned, not raised.
fn wrong_arguments(lua: &Lua) -> mlua::Result<Table> {
    error_table(lua, "ERR wrong number or type of arguments")
}

/// Checks its arguments; there is no log.
fn log(lua: &Lua, args: Variadic<Value>) -> mlua::Result<()> {
    let complaint = match args.as_slice() {
        [] | [_] => "ERR redis.log() requires two arguments or more.",
        [level, ..] => match lua.coerce_number(level.clone())? {
            None => "ERR First argument must be a number (log level).",
            Some(level) if !(0.0..4.0).contains(&level) => "ERR Invalid debug level.",
            Some(_) => return Ok(()),
        },
    };
    Err(Raised(complaint.to_owned()).into())
}

/// Replies are RESP2's here and stay so.
fn setresp(lua: &Lua, args: Variadic<Value>) -> mlua::Result<()> {
    let complaint = match args.as_slice() {
        [version] => match lua.coerce_number(version.clone())? {
            Some(2.0) => return Ok(()),
            Some(3.0) => "ERR RESP3 is not simulated",
            _ => "ERR RESP version must be 2 or 3.",
        },
        _ => "ERR redis.setresp() requires one argument.",
    };
    Err(Raised(complaint.to_owned()).into())
}

/// There are no replicas to which anything could be sent or not.
fn set_repl(_: &Lua, args: Variadic<Value>) -> mlua::Result<()> {
    if args.len() == 1 { Ok(()) } else { Err(Raised("ERR redis.set_repl() requires two arguments.".to_owned()).into()) }
}
