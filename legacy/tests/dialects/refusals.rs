//! What a refused attempt says, and which error replies no dialect handles.

use lockshift_legacy::Lock;
use lockshift_lock::{Acquired, Held, Hold, Locker, Refusal};
use lockshift_wire::{Pending, Reply, Transcript, Turn};

use crate::ME;
use crate::walk::{lock, reading};

/// One attempt that is answered so, at one moment.
fn attempt(lock: &Lock, replies: &[Reply]) -> Turn<Acquired> {
    let (mut redis, mut replies) = (Transcript::new(), replies.iter());
    loop {
        match lock.acquire(&ME, redis.rewind()) {
            Err(Pending::Clock) => redis.record_clock(reading("1700000000")),
            Err(Pending::Send(command)) => {
                let reply = replies.next().unwrap_or_else(|| panic!("{command} is not expected"));
                redis.record_reply(reply.clone());
            }
            ended => return ended,
        }
    }
}

fn refused(dialect: &str, replies: &[Reply]) -> Held {
    match attempt(&lock(dialect, 10_000), replies) {
        Ok(Acquired::Held(held)) => held,
        other => panic!("{dialect}: {other:?}"),
    }
}

#[test]
fn a_refusal_says_what_was_seen() {
    let live = refused("php-getset", &[Reply::Int(0), Reply::bulk("1700000005")]);
    assert_eq!((live.reason, live.seen.as_deref()), (Refusal::Live, Some(&b"1700000005"[..])));
    let empty = refused("npm-redis-lock", &[Reply::Int(0), Reply::bulk("")]);
    assert_eq!((empty.reason, empty.seen.as_deref()), (Refusal::Vanished, Some(&b""[..])));
    let unreadable = refused("java-getset", &[Reply::Int(0), Reply::bulk("a token")]);
    assert_eq!(unreadable.seen.as_deref(), Some(&b"a token"[..]), "{:?}", unreadable.reason);
}

#[test]
fn a_refusal_says_what_the_takeover_overwrote() {
    let replies = [Reply::Int(0), Reply::bulk("1699999999"), Reply::bulk("1700000009")];
    let lost = refused("jedis-lock", &replies);
    assert_eq!((lost.reason, lost.seen.as_deref()), (Refusal::LostTakeover, Some(&b"1700000009"[..])));
}

#[test]
fn a_refusal_of_two_keys_names_the_owner() {
    let replies = [Reply::Int(0), Reply::ok(), Reply::bulk("another"), Reply::bulk("1700000005"), Reply::ok()];
    let live = refused("mlanett-redis-lock", &replies);
    assert_eq!((live.reason, live.seen.as_deref()), (Refusal::Live, Some(&b"another"[..])));
}

/// phpredis takes WRONGTYPE for a missing value, and raises this.
#[test]
fn an_error_of_the_server_itself_is_an_error_in_every_dialect() {
    for text in ["READONLY You can't write against a read only replica.", "OOM command not allowed", "NOAUTH"] {
        let replies = [Reply::Int(0), Reply::Error(text.to_owned())];
        let ended = attempt(&lock("php-getset", 10_000), &replies);
        assert!(matches!(ended, Err(Pending::Fault(_))), "{text}: {ended:?}");
    }
}

/// Only what is no string is another program's: what the server refuses for itself says nothing of the lock.
#[test]
fn a_look_that_the_server_refuses_is_an_error() {
    let lock = lock("php-getset", 10_000);
    let hold = Hold { value: b"1700000010".to_vec(), since: reading("1700000000"), lease: lock.lease(), fence: None };
    let mut redis = Transcript::new();
    assert!(matches!(lock.ownership(&hold, redis.rewind()), Err(Pending::Send(_))));
    redis.record_reply(Reply::Error("LOADING Redis is loading the dataset in memory".to_owned()));
    let ended = lock.ownership(&hold, redis.rewind());
    assert!(matches!(ended, Err(Pending::Fault(_))), "{ended:?}");
}
