//! EVAL, EVALSHA, SCRIPT: the cache of scripts that the server knows.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use sha1_smol::Sha1;

use super::call::{Answer, Call, flag};
use super::lua;
use super::refusal::Refusal;
use super::table::Row;
use crate::wire::Reply;

pub(super) const ROWS: &[Row] = &[
    Row::session("eval", -3, eval),
    Row::session("evalsha", -3, evalsha),
    Row::container("script"),
    Row::session("script|load", 3, load),
    Row::session("script|exists", -3, exists),
    Row::session("script|flush", -2, flush),
];

/// The scripts that the server knows, by their SHA-1 in small hex digits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Scripts {
    texts: BTreeMap<String, Arc<[u8]>>,
}

impl Hash for Scripts {
    /// The name of a script says what its text is.
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.texts.len().hash(state);
        self.texts.keys().for_each(|sha1| sha1.hash(state));
    }
}

impl Scripts {
    fn get(&self, sha1: &str) -> Option<Arc<[u8]>> {
        self.texts.get(sha1).cloned()
    }

    fn insert(&mut self, sha1: &str, text: &[u8]) {
        if !self.texts.contains_key(sha1) {
            self.texts.insert(sha1.to_owned(), text.into());
        }
    }
}

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
    let text = call.server.scripts.get(&sha1).ok_or(Refusal::NoScript)?;
    lua::run(call, &sha1, &text, keys, args)
}

type Operands<'a> = (&'a [Vec<u8>], &'a [Vec<u8>]);

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
    call.server.scripts.insert(&sha1, text);
    Ok(sha1)
}

fn load(call: &mut Call<'_>) -> Answer {
    remember(call, &call.args()[1]).map(Reply::bulk)
}

fn exists(call: &mut Call<'_>) -> Answer {
    let known = |sha1: &Vec<u8>| {
        let sha1 = String::from_utf8_lossy(sha1).to_ascii_lowercase();
        flag(call.server.scripts.texts.contains_key(&sha1))
    };
    Ok(Reply::Array(call.args()[1..].iter().map(known).collect()))
}

fn flush(call: &mut Call<'_>) -> Answer {
    match &call.args()[1..] {
        [] => {}
        [mode] if mode.eq_ignore_ascii_case(b"SYNC") || mode.eq_ignore_ascii_case(b"ASYNC") => {}
        _ => return Err(Refusal::err("SCRIPT FLUSH only support SYNC|ASYNC option")),
    }
    call.server.scripts = Scripts::default();
    Ok(Reply::ok())
}
