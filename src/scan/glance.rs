//! A glance at one key: one command if it is a string that is no lock, two if it is anything else.

use crate::inspect::{LONGEST, Shapes, Sight, Sign, few_fields, head};
use crate::wire::{Command, Key, Reply, Transcript, Ttl, Turn, UnixTime};

/// What a glance at a key shows.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Glance {
    /// It looks like a lock.
    Lock(Sight),
    /// It does not, or has been deleted.
    Other,
    /// It is on its way to another node of the cluster, and cannot be seen on this one.
    Moving,
}

/// What is in the key, if it looks like a lock.
pub(super) fn glance(key: &Key, shapes: &Shapes, redis: &mut Transcript) -> Turn<Glance> {
    let at = redis.now()?;
    // One byte more than a lock may have: a longer value is not a lock.
    let value = match redis.send(head(key))? {
        Reply::Bulk(value) => value,
        wrong if wrong.error_code() == Some("WRONGTYPE") => return hash(key, shapes, at, redis),
        moved if is_elsewhere(&moved) => return Ok(Glance::Moving),
        other => return Transcript::fault(head(key), other),
    };
    let sign = if value.len() as i64 > LONGEST { Sign::Other } else { shapes.sign(key, &value, at) };
    if sign == Sign::Other {
        return Ok(Glance::Other);
    }
    let seen = seen(key, at, Content::String(value), redis)?;
    let lasts = matches!(&seen, Glance::Lock(sight) if sight.ttl == Ttl::NO_EXPIRY);
    Ok(if lasts && sign == Sign::LockIfItExpires { Glance::Other } else { seen })
}

/// What no string is: a lock only if it is a hash, one of whose fields is that of a lock.
fn hash(key: &Key, shapes: &Shapes, at: UnixTime, redis: &mut Transcript) -> Turn<Glance> {
    let command = Command::new("HRANDFIELD").arg(key);
    match redis.send(command.clone())? {
        Reply::Bulk(name) if shapes.fit_field(&name) => {}
        Reply::Bulk(_) | Reply::Nil => return Ok(Glance::Other),
        // Another type; or a server before Redis 6.2, on which such locks are not looked for.
        wrong if matches!(wrong.error_code(), Some("WRONGTYPE" | "ERR")) => return Ok(Glance::Other),
        moved if is_elsewhere(&moved) => return Ok(Glance::Moving),
        other => return Transcript::fault(command, other),
    }
    let fields = few_fields(key, redis)?;
    if fields.is_empty() { Ok(Glance::Other) } else { seen(key, at, Content::Hash(fields), redis) }
}

enum Content {
    String(Vec<u8>),
    Hash(Vec<(Vec<u8>, Vec<u8>)>),
}

fn seen(key: &Key, at: UnixTime, content: Content, redis: &mut Transcript) -> Turn<Glance> {
    let ttl = redis.pttl(key)?;
    let (kind, value, fields) = match content {
        Content::String(value) => ("string", Some(value), Vec::new()),
        Content::Hash(fields) => ("hash", None, fields),
    };
    let sight = Sight { key: key.clone(), at, server_at: None, kind: kind.to_owned(), value, fields, ttl };
    Ok(if ttl == Ttl::NO_KEY { Glance::Other } else { Glance::Lock(sight) })
}

/// While slots move, a node lists keys that it does not answer for.
fn is_elsewhere(reply: &Reply) -> bool {
    matches!(reply.error_code(), Some("MOVED" | "ASK"))
}
