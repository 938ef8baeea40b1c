//! A glance at one key: one command if it is a string that is no lock, two if it is anything else.

use crate::inspect::{LONGEST, Shapes, Sight, Sign, few_fields, few_members, head};
use crate::wire::{Command, Fault, Key, Pending, Reply, Transcript, Ttl, Turn, UnixTime};

/// What a glance at a key shows.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Glance {
    /// It looks like a lock.
    Lock(Sight),
    /// Part of it does, but more is in it than is fetched.
    TooLarge,
    /// It does not, or has been deleted.
    Other,
    /// It is on its way to another node of the cluster, and cannot be seen on this one.
    Moving,
    /// The user may not read it.
    Forbidden,
}

/// What is in the key, if it looks like a lock. A key can change its type or its node between any two commands.
pub(super) fn glance(key: &Key, shapes: &Shapes, redis: &mut Transcript) -> Turn<Glance> {
    match content(key, shapes, redis) {
        Err(Pending::Fault(fault)) if fault.code() == Some("WRONGTYPE") => Ok(Glance::Other),
        Err(Pending::Fault(fault)) if fault.code().is_some_and(is_elsewhere) => Ok(Glance::Moving),
        Err(Pending::Fault(fault)) if forbids_key(&fault) => Ok(Glance::Forbidden),
        looked => looked,
    }
}

fn content(key: &Key, shapes: &Shapes, redis: &mut Transcript) -> Turn<Glance> {
    let at = redis.now()?;
    // One byte more than a lock may have: a longer value is not a lock.
    let value = match redis.send(head(key))? {
        Reply::Bulk(value) => value,
        wrong if wrong.error_code() == Some("WRONGTYPE") => return no_string(key, shapes, at, redis),
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

/// What no string is: a lock only if it is a hash, one of whose fields is that of a lock, or a sorted set of permits.
fn no_string(key: &Key, shapes: &Shapes, at: UnixTime, redis: &mut Transcript) -> Turn<Glance> {
    let command = Command::new("HRANDFIELD").arg(key);
    match redis.send(command.clone())? {
        Reply::Bulk(name) if shapes.fit_field(&name) => {}
        Reply::Bulk(_) | Reply::Nil => return Ok(Glance::Other),
        wrong if wrong.error_code() == Some("WRONGTYPE") => return sorted_set(key, shapes, at, redis),
        // A server before Redis 6.2, or one where the command has another name.
        wrong if wrong.error_code() == Some("ERR") => return unsampled(key, shapes, at, redis),
        other => return Transcript::fault(command, other),
    }
    seen_unless_large(key, at, few_fields(key, redis)?.map(Content::Hash), redis)
}

/// The same on a server that hands out no single field: all of a small hash are fetched.
fn unsampled(key: &Key, shapes: &Shapes, at: UnixTime, redis: &mut Transcript) -> Turn<Glance> {
    match few_fields(key, redis) {
        Ok(Some(fields)) if fields.iter().any(|(name, _)| shapes.fit_field(name)) => {
            seen(key, at, Content::Hash(fields), redis)
        }
        // Nor is it known of a large one whether its fields are those of a lock; nearly always they are not.
        Ok(_) => Ok(Glance::Other),
        Err(Pending::Fault(fault)) if fault.code() == Some("WRONGTYPE") => sorted_set(key, shapes, at, redis),
        Err(pending) => Err(pending),
    }
}

fn sorted_set(key: &Key, shapes: &Shapes, at: UnixTime, redis: &mut Transcript) -> Turn<Glance> {
    let command = Command::new("ZRANGE").arg(key).arg_int(0).arg_int(0);
    let first = match redis.send(command.clone())? {
        Reply::Array(members) => members.into_iter().next(),
        other => return Transcript::fault(command, other),
    };
    match first {
        Some(Reply::Bulk(name)) if shapes.fit_member(key, &name) => {}
        _ => return Ok(Glance::Other),
    }
    seen_unless_large(key, at, few_members(key, redis)?.map(Content::SortedSet), redis)
}

enum Content {
    String(Vec<u8>),
    Hash(Vec<(Vec<u8>, Vec<u8>)>),
    SortedSet(Vec<(Vec<u8>, Vec<u8>)>),
}

fn seen_unless_large(key: &Key, at: UnixTime, content: Option<Content>, redis: &mut Transcript) -> Turn<Glance> {
    match content {
        None => Ok(Glance::TooLarge),
        // It was deleted in between.
        Some(Content::Hash(none) | Content::SortedSet(none)) if none.is_empty() => Ok(Glance::Other),
        Some(content) => seen(key, at, content, redis),
    }
}

fn seen(key: &Key, at: UnixTime, content: Content, redis: &mut Transcript) -> Turn<Glance> {
    let ttl = redis.pttl(key)?;
    let (kind, value, fields) = match content {
        Content::String(value) => ("string", Some(value), Vec::new()),
        Content::Hash(fields) => ("hash", None, fields),
        Content::SortedSet(members) => ("zset", None, members),
    };
    let (kind, is_too_large) = (kind.to_owned(), false);
    let sight = Sight { key: key.clone(), at, server_at: None, kind, value, fields, is_too_large, ttl };
    Ok(if ttl == Ttl::NO_KEY { Glance::Other } else { Glance::Lock(sight) })
}

/// While slots move, a node lists keys that it does not answer for.
fn is_elsewhere(code: &str) -> bool {
    matches!(code, "MOVED" | "ASK")
}

/// Whether the user may send this command, but not for this key. One that may not be sent for any key fails for all.
fn forbids_key(fault: &Fault) -> bool {
    // "NOPERM No permissions to access a key"; before Redis 7, "this user has no permissions to access one of the keys …".
    matches!(fault, Fault::Refused { text, .. } if text.starts_with("NOPERM ") && text.contains(" to access "))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a glance comes to, where the server replies so.
    fn glanced(replies: &[Reply]) -> Turn<Glance> {
        let (key, shapes, mut redis) = (Key::from("stock"), Shapes::known(), Transcript::new());
        let mut replies = replies.iter();
        loop {
            match glance(&key, &shapes, redis.rewind()) {
                Err(Pending::Clock) => redis.record_clock(crate::wire::Reading {
                    wall: UnixTime::from_secs(1_700_000_000).unwrap(),
                    mono: crate::wire::MonoTime::since_origin(std::time::Duration::ZERO),
                }),
                Err(Pending::Send(command)) => {
                    redis.record_reply(replies.next().unwrap_or_else(|| panic!("{command:?} is too much")).clone());
                }
                seen => {
                    assert_eq!(replies.next(), None, "not all was asked");
                    return seen;
                }
            }
        }
    }

    #[test]
    fn a_sorted_set_of_permits_is_a_lock_and_the_places_of_a_queue_are_none() {
        let other_type = Reply::Error("WRONGTYPE Operation against a key holding the wrong kind of value".to_owned());
        let (token, end) = (Reply::bulk("00d7d7d7d7d7d7d7d7d7d7d7d7d7d7d7"), Reply::bulk("1700000060000"));
        let first = Reply::Array(vec![token.clone()]);
        let no_string = [other_type.clone(), other_type];
        let seen = |members: Reply, first: &Reply| {
            let small = [first.clone(), Reply::Int(1), Reply::Int(80), members, Reply::Int(60_000)];
            glanced(&[&no_string[..], &small].concat())
        };
        for members in [
            Reply::Array(vec![token.clone(), end.clone()]),
            Reply::Array(vec![Reply::Array(vec![token.clone(), end.clone()])]),
        ] {
            let Ok(Glance::Lock(sight)) = seen(members, &first) else { panic!("it is a semaphore") };
            assert_eq!((sight.kind.as_str(), sight.fields.len()), ("zset", 1));
        }
        let large = [first.clone(), Reply::Int(1_025)];
        assert_eq!(glanced(&[&no_string[..], &large].concat()), Ok(Glance::TooLarge));
        let members = Reply::Array(vec![Reply::bulk("alice")]);
        assert_eq!(glanced(&[&no_string[..], &[members]].concat()), Ok(Glance::Other), "a table of scores");
        let fits = |key: &str| Shapes::known().fit_member(&key.into(), b"00d7d7d7d7d7d7d7d7d7d7d7d7d7d7d7");
        assert!(
            !fits("{stock}:places")
                && !fits("{stock}:own-places")
                && !fits("{stock}:readers")
                && fits("exports:readers")
        );
    }

    #[test]
    fn a_key_that_changes_between_two_commands_ends_nothing() {
        let error = |text: &str| Reply::Error(text.to_owned());
        let other_type = error("WRONGTYPE Operation against a key holding the wrong kind of value");
        let field = Reply::bulk("5a5a5a5a-5a5a-4a5a-8a5a-5a5a5a5a5a5a:7");
        let fields = Reply::Array(vec![field.clone(), Reply::bulk("1")]);
        let commands = [other_type.clone(), field, Reply::Int(1), Reply::Int(80), fields, Reply::Int(60_000)];
        assert!(matches!(glanced(&commands), Ok(Glance::Lock(_))));
        // MEMORY USAGE takes keys of any type, and so does PTTL.
        assert_eq!(glanced(&vec![other_type.clone(); 3]), Ok(Glance::Other), "HRANDFIELD, and then ZRANGE");
        for place in [2, 4] {
            let replies = [&commands[..place], std::slice::from_ref(&other_type)].concat();
            assert_eq!(glanced(&replies), Ok(Glance::Other), "command {place}");
        }
        for place in [0, 1, 2, 4, 5] {
            let moved = error("MOVED 7 127.0.0.1:6380");
            assert_eq!(glanced(&[&commands[..place], &[moved]].concat()), Ok(Glance::Moving), "command {place}");
        }
        let refused = error("NOPERM this user has no permissions to run the 'hlen' command");
        assert!(glanced(&[&commands[..2], &[refused]].concat()).is_err(), "it is no other key");
    }

    #[test]
    fn a_key_that_the_user_may_not_read_ends_nothing() {
        for words in ["No permissions to access a key", "this user has no permissions to access one of the keys used"] {
            assert_eq!(glanced(&[Reply::Error(format!("NOPERM {words}"))]), Ok(Glance::Forbidden));
        }
    }

    #[test]
    fn a_server_without_hrandfield_is_asked_for_all_fields() {
        let error = |text: &str| Reply::Error(text.to_owned());
        let other_type = error("WRONGTYPE Operation against a key holding the wrong kind of value");
        let unknown = error("ERR unknown command `HRANDFIELD`, with args beginning with: `stock`, ");
        let begun = [other_type.clone(), unknown];
        let hash = |field: &str| {
            let fields = Reply::Array(vec![Reply::bulk(field), Reply::bulk("1")]);
            [&begun[..], &[Reply::Int(1), Reply::Int(80), fields]].concat()
        };
        let holder = hash("5a5a5a5a-5a5a-4a5a-8a5a-5a5a5a5a5a5a:7");
        assert!(matches!(glanced(&[&holder[..], &[Reply::Int(60_000)]].concat()), Ok(Glance::Lock(_))));
        assert_eq!(glanced(&hash("price")), Ok(Glance::Other));
        let token = Reply::bulk("00d7d7d7d7d7d7d7d7d7d7d7d7d7d7d7");
        let members = Reply::Array(vec![token.clone(), Reply::bulk("1700000060000")]);
        let permits = [Reply::Array(vec![token]), Reply::Int(1), Reply::Int(80), members, Reply::Int(60_000)];
        let semaphore = [&begun[..], &[other_type], &permits].concat();
        assert!(matches!(glanced(&semaphore), Ok(Glance::Lock(_))));
    }
}
