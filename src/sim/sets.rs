//! Sets.

use super::call::{Answer, Call, Row, count, flag};
use super::refusal::Refusal;
use super::value::Set;
use crate::wire::Reply;

pub(super) const ROWS: &[Row] = &[
    Row::writes("sadd", -3, |call| change(call, |set, member| set.insert(member.to_vec()))),
    Row::writes("srem", -3, |call| change(call, |set, member| set.remove(member))),
    Row::reads("sismember", 3, |call| Ok(flag(set(call)?.is_some_and(|set| set.contains(call.args()[1].as_slice()))))),
    Row::reads("scard", 2, |call| Ok(count(set(call)?.map_or(0, Set::len)))),
    Row::reads("smembers", 2, |call| Ok(Reply::Array(set(call)?.into_iter().flatten().map(Reply::bulk).collect()))),
];

fn set<'c>(call: &'c Call<'_>) -> Result<Option<&'c Set>, Refusal> {
    call.read(&call.key(0))
}

/// Applies `one` to every member that is named: how many of them made a difference.
fn change(call: &mut Call<'_>, one: impl Fn(&mut Set, &[u8]) -> bool) -> Answer {
    let key = call.key(0);
    let members = &call.args()[1..];
    let changed = call.edit(&key, |set: &mut Set| members.iter().filter(|member| one(set, member)).count())?;
    if changed > 0 {
        call.touch(&key);
    }
    Ok(count(changed))
}
