//! MULTI, EXEC, DISCARD, WATCH, UNWATCH.

use super::call::{Answer, Call, Row};
use super::refusal::Refusal;
use super::session::{Session, Transaction};
use super::state::State;
use crate::wire::{Key, Reply};

pub(super) const ROWS: &[Row] = &[
    Row::steers("multi", 1, multi),
    Row::steers("exec", 1, exec),
    Row::steers("discard", 1, discard),
    Row::steers("watch", -2, watch),
    Row::session("unwatch", 1, unwatch),
];

fn multi(call: &mut Call<'_>) -> Answer {
    let connection = call.connection();
    if connection.transaction.is_some() {
        return Err(Refusal::err("MULTI calls can not be nested"));
    }
    connection.transaction = Some(Transaction::default());
    Ok(Reply::ok())
}

fn discard(call: &mut Call<'_>) -> Answer {
    if call.connection().transaction.is_none() {
        return Err(Refusal::err("DISCARD without MULTI"));
    }
    call.connection().end_transaction();
    Ok(Reply::ok())
}

fn exec(call: &mut Call<'_>) -> Answer {
    if call.connection().transaction.is_none() {
        return Err(Refusal::err("EXEC without MULTI"));
    }
    let touched = call.connection().touched;
    let transaction = call.connection().end_transaction().unwrap_or_default();
    if transaction.spoilt {
        return Err(Refusal::ExecAbort);
    }
    if touched {
        return Ok(Reply::Nil);
    }
    let replies = transaction.queue.iter().map(|words| {
        let row = call.table.find(words, call.state.flavour)?;
        call.run(row, words)
    });
    Ok(Reply::Array(replies.map(|answer| answer.unwrap_or_else(Reply::from)).collect()))
}

fn watch(call: &mut Call<'_>) -> Answer {
    let keys: Vec<_> = call.args().iter().map(|name| (call.db, Key::new(name.as_slice()))).collect();
    let connection = call.connection();
    if connection.transaction.is_some() {
        return Err(Refusal::err("WATCH inside MULTI is not allowed"));
    }
    if !connection.touched {
        connection.watched.extend(keys);
    }
    Ok(Reply::ok())
}

fn unwatch(call: &mut Call<'_>) -> Answer {
    let connection = call.connection();
    connection.watched.clear();
    connection.touched = false;
    Ok(Reply::ok())
}

impl State {
    /// A command was not even accepted: the transaction that it should have joined cannot be executed any more. If that
    /// command was EXEC itself, the transaction has ended, and what was watched is forgotten even without one.
    pub(super) fn spoil_transaction(&mut self, session: Session, was_exec: bool, refusal: Refusal) -> Refusal {
        let connection = self.connections.entry(session).or_default();
        if was_exec {
            connection.end_transaction();
            let text = refusal.to_string();
            let reason = text.strip_prefix("ERR ").unwrap_or(&text);
            return Refusal::Other(format!("EXECABORT Transaction discarded because of: {reason}"));
        }
        if let Some(transaction) = &mut connection.transaction {
            transaction.spoilt = true;
        }
        refusal
    }
}
