//! EVAL, EVALSHA, SCRIPT.

use sha1_smol::Sha1;

use super::call::{self, Answer, Call, Row, flag};
use super::library::Library;
use super::lua;
use super::refusal::Refusal;
use crate::wire::{CommandWord, Reply};

pub(super) const ROWS: &[Row] = &[
    Row::session("eval", -3, eval),
    Row::session("evalsha", -3, evalsha),
    Row::session("script", -2, call::never).with_subcommands(),
    Row::session("script|load", 3, load),
    Row::session("script|exists", -3, exists),
    Row::session("script|flush", -2, flush),
];

fn eval(call: &mut Call<'_>) -> Answer {
    let (keys, args) = operands(call)?;
    let text = &call.args()[0];
    let sha1 = remember(call, text)?;
    lua::run(call, &sha1, text, keys, args)
}

fn evalsha(call: &mut Call<'_>) -> Answer {
    let sha1 = String::from_utf8_lossy(&call.args()[0]).to_ascii_lowercase();
    if sha1.len() != 40 {
        return Err(Refusal::NoScript);
    }
    let (keys, args) = operands(call)?;
    let text = call.state.library.get(&sha1).ok_or(Refusal::NoScript)?;
    lua::run(call, &sha1, &text, keys, args)
}

type Operands<'a> = (&'a [CommandWord], &'a [CommandWord]);

/// Keys and arguments, as many keys as the second argument says.
fn operands<'a>(call: &Call<'a>) -> Result<Operands<'a>, Refusal> {
    let operands = &call.args()[2..];
    let keys = call.integer(1)?;
    let keys = usize::try_from(keys).map_err(|_| Refusal::err("Number of keys can't be negative"))?;
    operands.split_at_checked(keys).ok_or_else(|| Refusal::err("Number of keys can't be greater than number of args"))
}

/// The name of a script, which the server knows from now on, if it compiles.
fn remember(call: &mut Call<'_>, text: &[u8]) -> Result<String, Refusal> {
    let sha1 = Sha1::from(text).digest().to_string();
    lua::compile(&sha1, text)?;
    call.state.library.insert(sha1.clone(), text);
    Ok(sha1)
}

fn load(call: &mut Call<'_>) -> Answer {
    remember(call, &call.args()[1]).map(Reply::bulk)
}

fn exists(call: &mut Call<'_>) -> Answer {
    let known = |sha1: &CommandWord| {
        let sha1 = String::from_utf8_lossy(sha1).to_ascii_lowercase();
        flag(call.state.library.get(&sha1).is_some())
    };
    Ok(Reply::Array(call.args()[1..].iter().map(known).collect()))
}

fn flush(call: &mut Call<'_>) -> Answer {
    match &call.args()[1..] {
        [] => {}
        [mode] if mode.eq_ignore_ascii_case(b"SYNC") || mode.eq_ignore_ascii_case(b"ASYNC") => {}
        _ => return Err(Refusal::err("SCRIPT FLUSH only support SYNC|ASYNC option")),
    }
    call.state.library = Library::default();
    Ok(Reply::ok())
}
