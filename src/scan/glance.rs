//! A glance at one key: one command if it is no lock.

use crate::inspect::{LONGEST, Shapes, Sight};
use crate::wire::{Command, Key, Reply, Transcript, Ttl, Turn};

/// What is in the key, if it looks like a lock.
pub(super) fn glance(key: &Key, shapes: &Shapes, redis: &mut Transcript) -> Turn<Option<Sight>> {
    let at = redis.now()?;
    // One byte more than a lock may have: then it is none, however long it is.
    let head = Command::new("GETRANGE").arg(key).arg_int(0).arg_int(LONGEST);
    let value = match redis.send(head.clone())? {
        Reply::Bulk(value) => value,
        wrong if wrong.error_code() == Some("WRONGTYPE") => return Ok(None),
        other => return Transcript::fault(head, other),
    };
    if value.len() as i64 > LONGEST || !shapes.fit(&value, at) {
        return Ok(None);
    }
    let ttl = redis.pttl(key)?;
    let (kind, fields) = ("string".to_owned(), Vec::new());
    let sight = Sight { key: key.clone(), at, server_at: None, kind, value: Some(value), fields, ttl };
    Ok((ttl != Ttl::NO_KEY).then_some(sight))
}
