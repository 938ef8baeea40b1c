//! Lists.

use super::call::{Answer, Call, Row, bulk_or_nil, count, range};
use super::number;
use super::refusal::Refusal;
use super::value::List;
use crate::wire::Reply;

pub(super) const ROWS: &[Row] = &[
    Row::writes("lpush", -3, |call| push(call, List::push_front)),
    Row::writes("rpush", -3, |call| push(call, List::push_back)),
    Row::writes("lpop", -2, |call| pop(call, List::pop_front)),
    Row::writes("rpop", -2, |call| pop(call, List::pop_back)),
    Row::writes("lrem", 4, lrem),
    Row::reads("lindex", 3, lindex),
    Row::reads("lrange", 4, lrange),
    Row::reads("llen", 2, |call| Ok(count(list(call)?.map_or(0, List::len)))),
];

fn list<'c>(call: &'c Call<'_>) -> Result<Option<&'c List>, Refusal> {
    call.read(&call.key(0))
}

fn push(call: &mut Call<'_>, one: fn(&mut List, Vec<u8>)) -> Answer {
    let key = call.key(0);
    let items = &call.args()[1..];
    let length = call.edit(&key, |list: &mut List| {
        items.iter().for_each(|item| one(list, item.to_vec()));
        list.len()
    })?;
    call.touch(&key);
    Ok(count(length))
}

/// One item, or with a count an array of them.
fn pop(call: &mut Call<'_>, one: fn(&mut List) -> Option<Vec<u8>>) -> Answer {
    let wanted = match call.args() {
        [_] => None,
        [_, amount] => Some(how_many(amount)?),
        _ => return Err(Refusal::Arity(call.name)),
    };
    let key = call.key(0);
    if list(call)?.is_none() {
        return Ok(Reply::Nil);
    }
    let items = call.edit(&key, |list: &mut List| {
        let taken = wanted.unwrap_or(1).min(list.len());
        (0..taken).filter_map(|_| one(list)).map(Reply::Bulk).collect::<Vec<_>>()
    })?;
    if !items.is_empty() {
        call.touch(&key);
    }
    Ok(if wanted.is_some() { Reply::Array(items) } else { items.into_iter().next().unwrap_or(Reply::Nil) })
}

fn how_many(amount: &[u8]) -> Result<usize, Refusal> {
    let amount = number::integer(amount).and_then(|amount| usize::try_from(amount).ok());
    amount.ok_or_else(|| Refusal::err("value is out of range, must be positive"))
}

/// The first so many occurrences; the last ones with a negative number, all of them with 0.
fn lrem(call: &mut Call<'_>) -> Answer {
    let wanted = call.integer(1)?;
    let item = &call.args()[2];
    let most = if wanted == 0 { u64::MAX } else { wanted.unsigned_abs() };
    let key = call.key(0);
    let removed = call.edit(&key, |list: &mut List| {
        let mut found: Vec<usize> = (0..list.len()).filter(|index| list[*index] == *item).collect();
        if wanted > 0 {
            found.reverse();
        }
        // Now the ones to go are at the end, and those at the list's own end come first.
        let kept = found.len().saturating_sub(usize::try_from(most).unwrap_or(usize::MAX));
        let mut removed = found.split_off(kept);
        removed.sort_unstable_by(|left, right| right.cmp(left));
        removed.iter().filter(|index| list.remove(**index).is_some()).count()
    })?;
    if removed > 0 {
        call.touch(&key);
    }
    Ok(count(removed))
}

fn lindex(call: &mut Call<'_>) -> Answer {
    let Some(list) = list(call)? else { return Ok(Reply::Nil) };
    let index = call.integer(1)?;
    let from_head = if index < 0 { index.checked_add_unsigned(list.len() as u64) } else { Some(index) };
    Ok(bulk_or_nil(from_head.and_then(|index| usize::try_from(index).ok()).and_then(|index| list.get(index))))
}

fn lrange(call: &mut Call<'_>) -> Answer {
    let (first, last) = (call.integer(1)?, call.integer(2)?);
    let Some(list) = list(call)? else { return Ok(Reply::Array(Vec::new())) };
    Ok(Reply::Array(list.range(range(first, last, list.len())).map(Reply::bulk).collect()))
}
