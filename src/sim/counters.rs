//! Strings that are integers: INCR, DECR and their kin. They keep the key's expiry.

use super::call::{Answer, Call, Row};
use super::number;
use super::refusal::Refusal;
use crate::wire::Reply;

pub(super) const ROWS: &[Row] = &[
    Row::writes("incr", 2, |call| add(call, 1)),
    Row::writes("decr", 2, |call| add(call, -1)),
    Row::writes("incrby", 3, |call| add(call, call.integer(1)?)),
    Row::writes("decrby", 3, decrby),
];

fn decrby(call: &mut Call<'_>) -> Answer {
    let amount = call.integer(1)?;
    add(call, amount.checked_neg().ok_or_else(|| Refusal::err("decrement would overflow"))?)
}

fn add(call: &mut Call<'_>, amount: i64) -> Answer {
    let key = call.key(0);
    let old = match call.read::<Vec<u8>>(&key)? {
        None => 0,
        Some(text) => number::integer(text).ok_or(Refusal::NotAnInteger)?,
    };
    let new = old.checked_add(amount).ok_or(Refusal::Overflow)?;
    call.edit(&key, |text: &mut Vec<u8>| *text = new.to_string().into_bytes())?;
    call.touch(&key);
    Ok(Reply::Int(new))
}
