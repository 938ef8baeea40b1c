//! The native compare-and-delete: DELIFEQ of Valkey 9.0, DELEX of Redis 8.4.

use super::call::{Answer, Call, Row, flag};
use super::flavour::Flavour;
use super::refusal::Refusal;

pub(super) const ROWS: &[Row] = &[
    Row::writes("delifeq", 3, delifeq).only_in(&[Flavour::Valkey9]),
    Row::writes("delex", -2, delex).only_in(&[Flavour::Redis84]),
];

fn delifeq(call: &mut Call<'_>) -> Answer {
    let key = call.key(0);
    let equal = call.read::<Vec<u8>>(&key)?.is_some_and(|value| *value == call.args()[1]);
    Ok(flag(equal && call.remove(&key)))
}

/// Without a condition it is DEL of one key.
fn delex(call: &mut Call<'_>) -> Answer {
    let key = call.key(0);
    let (condition, operand) = match call.args() {
        [_] => return Ok(flag(call.remove(&key))),
        [_, condition, operand] => (condition.to_ascii_uppercase(), operand),
        _ => return Err(Refusal::Arity(call.name)),
    };
    if call.entry(&key).is_none() {
        return Ok(flag(false));
    }
    let no_string = |_| Refusal::err("Key should be of string type if conditions are specified");
    let equal = call.read::<Vec<u8>>(&key).map_err(no_string)?.is_some_and(|value| value == operand);
    let allowed = match condition.as_slice() {
        b"IFEQ" => equal,
        b"IFNE" => !equal,
        b"IFDEQ" | b"IFDNE" => return Err(Refusal::err("digests are not simulated")),
        _ => return Err(Refusal::err("Invalid condition. Use IFEQ, IFNE, IFDEQ, or IFDNE")),
    };
    Ok(flag(allowed && call.remove(&key)))
}
