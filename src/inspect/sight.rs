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
    /// Its fields, if it is a hash of few enough for a lock; of such a sorted set, its members with their scores.
    pub fields: Fields,
    /// Whether it is a hash or a sorted set of more than that, so that its fields are not known.
    pub is_too_large: bool,
    /// Its time to live in milliseconds, as PTTL says it.
    pub ttl: Ttl,
}

/// No protocol writes longer values than this: a longer one is not fetched.
pub const LONGEST: i64 = 512;

/// Looks at a key: TYPE; GETRANGE, or HLEN, MEMORY USAGE and HGETALL, or ZCARD, MEMORY USAGE and ZRANGE; PTTL, TIME. Whatever is
/// in it, little is fetched.
///
/// # Errors
/// [`Pending`]: a reply is still to come, or Redis refused.
pub fn look(key: &Key, redis: &mut Transcript) -> Turn<Sight> {
    let at = redis.now()?;
    let kind = redis.type_of(key)?;
    let value = if kind == "string" { short_value(key, redis)? } else { None };
    let fields = match kind.as_str() {
        "hash" => few_fields(key, redis)?,
        "zset" => few_members(key, redis)?,
        _ => Some(Vec::new()),
    };
    let ttl = redis.pttl(key)?;
    let server_at = match redis.time() {
        Ok(time) => Some(time),
        // Not every user may run TIME; without it we only miss how far the clocks are apart.
        Err(Pending::Fault(_)) => None,
        Err(pending) => return Err(pending),
    };
    // It may have been deleted since it was asked for its type.
    let kind = if ttl == Ttl::NO_KEY { "none".to_owned() } else { kind };
    let is_too_large = fields.is_none();
    Ok(Sight { key: key.clone(), at, server_at, kind, value, fields: fields.unwrap_or_default(), is_too_large, ttl })
}

impl Sight {
    /// Whether there is a key.
    pub fn exists(&self) -> bool {
        self.kind != "none"
    }
}

/// The head of a string, by which one that is too long for a lock is known.
pub fn head(key: &Key) -> Command {
    Command::new("GETRANGE").arg(key).arg_int(0).arg_int(LONGEST)
}

fn short_value(key: &Key, redis: &mut Transcript) -> Turn<Option<Vec<u8>>> {
    match redis.send(head(key))? {
        Reply::Bulk(value) if value.len() as i64 <= LONGEST => Ok(Some(value)),
        Reply::Bulk(_) => Ok(None),
        other => Transcript::fault(head(key), other),
    }
}

/// The fields of a hash with their values, or the members of a sorted set with their scores.
pub type Fields = Vec<(Vec<u8>, Vec<u8>)>;

/// A semaphore has a thousand holders at the most, and other locks hardly more at once; a larger hash or set is not fetched.
const MOST_FIELDS: i64 = 1024;
/// Nor do they take more room than that on the server.
const MOST_BYTES: i64 = 256 * 1024;

/// The fields of a hash that is small enough for a lock; `None` of a larger one.
///
/// # Errors
/// [`Pending`]: a reply is still to come, or Redis refused.
pub fn few_fields(key: &Key, redis: &mut Transcript) -> Turn<Option<Fields>> {
    if is_small(Command::new("HLEN").arg(key), key, redis)? { redis.hgetall(key).map(Some) } else { Ok(None) }
}

/// The members of a sorted set that is small enough for a lock, with their scores; `None` of a larger one.
///
/// # Errors
/// [`Pending`]: a reply is still to come, or Redis refused.
pub fn few_members(key: &Key, redis: &mut Transcript) -> Turn<Option<Fields>> {
    let is_small = is_small(Command::new("ZCARD").arg(key), key, redis)?;
    if is_small { redis.zrange_with_scores(key).map(Some) } else { Ok(None) }
}

/// Whether no more is in a key than in a lock, by the command that counts it.
fn is_small(count: Command, key: &Key, redis: &mut Transcript) -> Turn<bool> {
    match redis.send(count.clone())? {
        Reply::Int(count) if count > MOST_FIELDS => return Ok(false),
        Reply::Int(_) => {}
        other => return Transcript::fault(count, other),
    }
    // Where MEMORY USAGE is not permitted, the number has to do.
    let room = redis.send(Command::new("MEMORY").arg("USAGE").arg(key).arg("SAMPLES").arg_int(0))?;
    Ok(!matches!(room, Reply::Int(bytes) if bytes > MOST_BYTES))
}
