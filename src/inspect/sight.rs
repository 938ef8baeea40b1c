//! Looking at a key, by commands that change nothing.

use crate::wire::{Command, Key, Pending, Reply, Transcript, Ttl, Turn, UnixTime};

/// What was seen of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sight {
    /// The key.
    pub key: Key,
    /// When, by the wall clock of this machine.
    pub at: UnixTime,
    /// When, by the server's clock; `None` where one may not ask.
    pub server_at: Option<UnixTime>,
    /// Its type, as TYPE says it: `string`, `hash`, ..., or `none` without a key.
    pub kind: String,
    /// Its value, if it is a string that is short enough for a lock.
    pub value: Option<Vec<u8>>,
    /// Its fields, if it is a hash of few enough for a lock.
    pub fields: Vec<(Vec<u8>, Vec<u8>)>,
    /// Its time to live in milliseconds, as PTTL says it.
    pub ttl: Ttl,
}

/// No protocol writes longer values than this: a longer one is not fetched.
pub const LONGEST: i64 = 512;

/// Looks at a key: TYPE; STRLEN and GET, or HLEN and HGETALL; PTTL, TIME.
///
/// # Errors
/// [`Pending`]: a reply is still to come, or Redis refused.
pub fn look(key: &Key, redis: &mut Transcript) -> Turn<Sight> {
    let at = redis.now()?;
    let kind = redis.type_of(key)?;
    let value = if kind == "string" { short_value(key, redis)? } else { None };
    let fields = if kind == "hash" { few_fields(key, redis)? } else { Vec::new() };
    let ttl = redis.pttl(key)?;
    let server_at = match redis.time() {
        Ok(time) => Some(time),
        // Not every user may run TIME; without it we only miss how far the clocks are apart.
        Err(Pending::Fault(_)) => None,
        Err(pending) => return Err(pending),
    };
    // It may have gone since it was asked for its type.
    let kind = if ttl == Ttl::NO_KEY { "none".to_owned() } else { kind };
    Ok(Sight { key: key.clone(), at, server_at, kind, value, fields, ttl })
}

impl Sight {
    /// Whether there is a key.
    pub fn exists(&self) -> bool {
        self.kind != "none"
    }
}

fn short_value(key: &Key, redis: &mut Transcript) -> Turn<Option<Vec<u8>>> {
    let command = Command::new("STRLEN").arg(key);
    match redis.send(command.clone())? {
        Reply::Int(length) if length <= LONGEST => redis.get(key),
        Reply::Int(_) => Ok(None),
        other => Transcript::fault(command, other),
    }
}

/// No lock has more holders than that at once; a larger hash is not fetched.
const MOST_FIELDS: i64 = 512;

fn few_fields(key: &Key, redis: &mut Transcript) -> Turn<Vec<(Vec<u8>, Vec<u8>)>> {
    let command = Command::new("HLEN").arg(key);
    match redis.send(command.clone())? {
        Reply::Int(count) if count <= MOST_FIELDS => redis.hgetall(key),
        Reply::Int(_) => Ok(Vec::new()),
        other => Transcript::fault(command, other),
    }
}
