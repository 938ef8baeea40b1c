//! Strings: reading and writing them whole, and APPEND.

use super::call::{Answer, Call, Row, bulk_or_nil, count, flag};
use super::refusal::Refusal;
use super::value::Value;
use crate::wire::{Key, Reply};

pub(super) const ROWS: &[Row] = &[
    Row::reads("get", 2, get),
    Row::writes("setnx", 3, setnx),
    Row::writes("getset", 3, getset),
    Row::writes("getdel", 2, getdel),
    Row::reads("mget", -2, mget),
    Row::writes("mset", -3, |call| mset(call, false)),
    Row::writes("msetnx", -3, |call| mset(call, true)),
    Row::writes("append", 3, append),
    Row::reads("strlen", 2, strlen),
];

fn get(call: &mut Call<'_>) -> Answer {
    Ok(bulk_or_nil(call.read::<Vec<u8>>(&call.key(0))?))
}

fn setnx(call: &mut Call<'_>) -> Answer {
    let key = call.key(0);
    let free = call.entry(&key).is_none();
    if free {
        call.write(key, Value::Text(call.args()[1].to_vec()), None);
    }
    Ok(flag(free))
}

fn getset(call: &mut Call<'_>) -> Answer {
    let old = get(call)?;
    call.write(call.key(0), Value::Text(call.args()[1].to_vec()), None);
    Ok(old)
}

fn getdel(call: &mut Call<'_>) -> Answer {
    let old = get(call)?;
    call.remove(&call.key(0));
    Ok(old)
}

/// A key of another type counts as missing here.
fn mget(call: &mut Call<'_>) -> Answer {
    let values = call.args().iter().map(|name| {
        let value = call.read::<Vec<u8>>(&Key::new(name.as_slice()));
        bulk_or_nil(value.unwrap_or_default())
    });
    Ok(Reply::Array(values.collect()))
}

fn mset(call: &mut Call<'_>, only_if_all_missing: bool) -> Answer {
    let (pairs, []) = call.args().as_chunks::<2>() else { return Err(Refusal::Arity(call.name)) };
    if only_if_all_missing && pairs.iter().any(|[name, _]| call.entry(&Key::new(name.as_slice())).is_some()) {
        return Ok(flag(false));
    }
    for [name, value] in pairs {
        call.write(Key::new(name.as_slice()), Value::Text(value.to_vec()), None);
    }
    Ok(if only_if_all_missing { flag(true) } else { Reply::ok() })
}

fn append(call: &mut Call<'_>) -> Answer {
    let key = call.key(0);
    let suffix = &call.args()[1];
    let length = call.edit(&key, |text: &mut Vec<u8>| {
        text.extend_from_slice(suffix);
        text.len()
    })?;
    call.touch(&key);
    Ok(count(length))
}

fn strlen(call: &mut Call<'_>) -> Answer {
    Ok(count(call.read::<Vec<u8>>(&call.key(0))?.map_or(0, Vec::len)))
}
