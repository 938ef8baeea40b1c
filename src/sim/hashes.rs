//! Hashes.

use super::call::{Answer, Call, Row, bulk_or_nil, count, flag};
use super::number;
use super::refusal::Refusal;
use super::value::Hash;
use crate::wire::{Key, Reply};

pub(super) const ROWS: &[Row] = &[
    Row::writes("hset", -4, |call| Ok(count(hset(call)?))),
    Row::writes("hmset", -4, |call| hset(call).map(|_| Reply::ok())),
    Row::writes("hsetnx", 4, hsetnx),
    Row::writes("hincrby", 4, hincrby),
    Row::writes("hdel", -3, hdel),
    Row::reads("hget", 3, |call| field(call, 1)),
    Row::reads("hmget", -3, |call| {
        (1..call.args().len()).map(|index| field(call, index)).collect::<Result<_, _>>().map(Reply::Array)
    }),
    Row::reads("hexists", 3, |call| {
        Ok(flag(hash(call)?.is_some_and(|hash| hash.contains_key(call.args()[1].as_slice()))))
    }),
    Row::reads("hlen", 2, |call| Ok(count(hash(call)?.map_or(0, Hash::len)))),
    Row::reads("hkeys", 2, |call| list(call, |field, _| vec![field])),
    Row::reads("hvals", 2, |call| list(call, |_, value| vec![value])),
    Row::reads("hgetall", 2, |call| list(call, |field, value| vec![field, value])),
];

fn hash<'c>(call: &'c Call<'_>) -> Result<Option<&'c Hash>, Refusal> {
    call.read(&call.key(0))
}

fn field(call: &Call<'_>, index: usize) -> Answer {
    Ok(bulk_or_nil(hash(call)?.and_then(|hash| hash.get(call.args()[index].as_slice()))))
}

fn list(call: &Call<'_>, show: impl Fn(Reply, Reply) -> Vec<Reply>) -> Answer {
    let pairs = hash(call)?.into_iter().flatten();
    Ok(Reply::Array(pairs.flat_map(|(field, value)| show(Reply::bulk(field), Reply::bulk(value))).collect()))
}

/// How many fields are new.
fn hset(call: &mut Call<'_>) -> Result<usize, Refusal> {
    let (pairs, []) = call.args()[1..].as_chunks::<2>() else { return Err(Refusal::Arity(call.name)) };
    let key = call.key(0);
    let added = call.edit(&key, |hash: &mut Hash| {
        pairs.iter().filter(|[field, value]| hash.insert(field.to_vec(), value.to_vec()).is_none()).count()
    })?;
    call.touch(&key);
    Ok(added)
}

fn hsetnx(call: &mut Call<'_>) -> Answer {
    let free = hash(call)?.is_none_or(|hash| !hash.contains_key(call.args()[1].as_slice()));
    if free {
        hset(call)?;
    }
    Ok(flag(free))
}

fn hincrby(call: &mut Call<'_>) -> Answer {
    let amount = call.integer(2)?;
    let field = &call.args()[1];
    let old = match hash(call)?.and_then(|hash| hash.get(field.as_slice())) {
        None => 0,
        Some(text) => number::integer(text).ok_or_else(|| Refusal::err("hash value is not an integer"))?,
    };
    let new = old.checked_add(amount).ok_or(Refusal::Overflow)?;
    put(call, field, new.to_string().into_bytes())?;
    Ok(Reply::Int(new))
}

fn put(call: &mut Call<'_>, field: &[u8], value: Vec<u8>) -> Result<(), Refusal> {
    let key: Key = call.key(0);
    call.edit(&key, |hash: &mut Hash| hash.insert(field.to_vec(), value))?;
    call.touch(&key);
    Ok(())
}

fn hdel(call: &mut Call<'_>) -> Answer {
    let key = call.key(0);
    let fields = &call.args()[1..];
    let removed = call
        .edit(&key, |hash: &mut Hash| fields.iter().filter(|field| hash.remove(field.as_slice()).is_some()).count())?;
    if removed > 0 {
        call.touch(&key);
    }
    Ok(count(removed))
}
