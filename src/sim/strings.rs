//! Strings: GET, SETNX, GETSET.

use super::call::{Answer, Call, bulk_or_nil, flag};
use super::table::Row;
use super::value::Value;

pub(super) const ROWS: &[Row] = &[Row::new("get", 2, get), Row::new("setnx", 3, setnx), Row::new("getset", 3, getset)];

fn get(call: &mut Call<'_>) -> Answer {
    Ok(bulk_or_nil(call.read::<Vec<u8>>(&call.key(0))?))
}

fn setnx(call: &mut Call<'_>) -> Answer {
    let key = call.key(0);
    let free = call.entry(&key).is_none();
    if free {
        call.write(key, Value::Text(call.args()[1].clone()), None);
    }
    Ok(flag(free))
}

fn getset(call: &mut Call<'_>) -> Answer {
    let old = get(call)?;
    call.write(call.key(0), Value::Text(call.args()[1].clone()), None);
    Ok(old)
}
