//! Keys of any type: DEL, EXISTS, TYPE.

use super::call::{Answer, Call, count};
use super::table::Row;
use crate::wire::{Key, Reply};

pub(super) const ROWS: &[Row] = &[
    Row::new("del", -2, del),
    Row::new("unlink", -2, del),
    Row::new("exists", -2, exists),
    Row::new("type", 2, type_of),
];

fn del(call: &mut Call<'_>) -> Answer {
    let words = call.words;
    Ok(count(words[1..].iter().filter(|name| call.remove(&Key::new(name.as_slice()))).count()))
}

fn exists(call: &mut Call<'_>) -> Answer {
    Ok(count((0..call.args().len()).filter(|index| call.entry(&call.key(*index)).is_some()).count()))
}

fn type_of(call: &mut Call<'_>) -> Answer {
    let name = call.entry(&call.key(0)).map_or("none", |entry| entry.value.type_name());
    Ok(Reply::Status(name.to_owned()))
}
