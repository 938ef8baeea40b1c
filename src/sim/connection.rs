//! The connection itself: PING, ECHO, SELECT.

use super::call::{Answer, Call};
use super::refusal::Refusal;
use super::server::DATABASES;
use super::table::Row;
use crate::wire::Reply;

pub(super) const ROWS: &[Row] = &[Row::new("ping", -1, ping), Row::new("echo", 2, echo), Row::new("select", 2, select)];

fn ping(call: &mut Call<'_>) -> Answer {
    match call.args() {
        [] => Ok(Reply::Status("PONG".to_owned())),
        [word] => Ok(Reply::bulk(word)),
        _ => Err(Refusal::Arity(call.row.name)),
    }
}

fn echo(call: &mut Call<'_>) -> Answer {
    Ok(Reply::bulk(&call.args()[0]))
}

fn select(call: &mut Call<'_>) -> Answer {
    let db = usize::try_from(call.integer(0)?).ok().filter(|db| *db < DATABASES);
    let db = db.ok_or_else(|| Refusal::err("DB index is out of range"))?;
    call.server.connections.entry(call.session).or_default().db = db;
    Ok(Reply::ok())
}
