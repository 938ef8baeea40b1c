//! A holder that is a member of a sorted set, scored with the server's millisecond at which its lease ends.

use core::time::Duration;

use lockshift_lock::Ownership;
use lockshift_wire::{Command, Key, Reply, Transcript, Turn};

/// Whether the member's lease is still running by the server's clock, and the remaining time.
pub(crate) fn ownership(key: &Key, member: &[u8], redis: &mut Transcript) -> Turn<Ownership> {
    let command = Command::new("ZSCORE").arg(key).arg(member);
    let score = match redis.send(command.clone())? {
        Reply::Nil => return Ok(Ownership::Free),
        Reply::Bulk(score) => score,
        reply => return Transcript::fault(command, reply),
    };
    let Some(ends_ms) = str::from_utf8(&score).ok().and_then(|text| text.parse::<i64>().ok()) else {
        return Transcript::fault(command, Reply::Bulk(score));
    };
    let left_ms = u64::try_from(ends_ms - redis.time()?.as_millis()).unwrap_or(0);
    Ok(if left_ms > 0 { Ownership::Ours { left: Some(Duration::from_millis(left_ms)) } } else { Ownership::Free })
}
