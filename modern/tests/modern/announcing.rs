//! Releases that are published: the channel, the command, and what a refused attempt learns beside the refusal.

use std::num::NonZeroU32;
use std::time::Duration;

use lockshift_lock::{Acquired, Held, Locker, Mode, Refusal, Released};
use lockshift_modern::{
    FencedTokenLock, MultiKeyLock, Native, Publish, ReadWriteLock, ReentrantLock, Semaphore, TokenLock,
};

use crate::dialogue::{hold, lease, owner, play};

/// Each lock, the command that releases and publishes, and the reply by which the lock was freed.
#[test]
fn a_release_is_published_by_the_script_that_releases() {
    let key = || "k".into();
    let length = lease(10_000);
    let keys = ["{k}a", "{k}b"].map(Into::into);
    let token = TokenLock::new(key(), length).native(Native::VALKEY_9_0);
    let permits = NonZeroU32::new(2).unwrap();
    for (announce, word) in [(Publish::Everywhere, "PUBLISH"), (Publish::InSlot, "SPUBLISH")] {
        let table: [(&dyn Locker, &str, &str); 6] = [
            (&token.clone().announced(announce), "<announced/release> 2 k {k}:released <token>", "1"),
            (
                &FencedTokenLock::new(key(), length).announced(announce),
                "<announced/release> 2 k {k}:released <token>",
                "1",
            ),
            (
                &ReentrantLock::new(key(), length).announced(announce),
                "<reentrant/release_announced> 2 k {k}:released <token>",
                "1",
            ),
            (
                &ReadWriteLock::new(key(), Mode::Shared, length).announced(announce),
                "<rw/leave> 4 k {k}:readers {k}:writer-waits {k}:released <token>",
                "1",
            ),
            (
                &Semaphore::new(key(), permits, length).announced(announce),
                "<semaphore/release> 2 k {k}:released <token>",
                "1",
            ),
            (
                &MultiKeyLock::new(keys.clone(), length).unwrap().announced(announce),
                "<multi/release_announced> 4 {k}a {k}b {k}a:released {k}b:released <token>",
                "2",
            ),
        ];
        for (lock, command, freed) in table {
            let dialogue = format!("EVALSHA {command} {word} -> {freed}");
            let released = play(&dialogue, |redis| lock.release(&hold(0, 10_000), redis));
            assert_eq!(released, Ok(Released::Freed), "{command}");
            let channel = lock.release_channel(&owner()).expect("a channel");
            let first = if command.contains("{k}a") { "{k}a:released" } else { "{k}:released" };
            assert_eq!(channel.channel, first.as_bytes(), "{command}");
            assert_eq!(channel.sharded, announce == Publish::InSlot, "{command}");
        }
    }
}

/// A holder that crashes publishes nothing, so a waiter must know when to try again.
#[test]
fn a_refused_attempt_reads_the_remaining_lease() {
    let announce = Publish::Everywhere;
    let table: [(&dyn Locker, &str, Option<u64>); 3] = [
        (&TokenLock::new("k".into(), lease(10_000)).announced(announce), "SET k <token> NX PX 10000 -> (nil)", Some(0)),
        (
            &FencedTokenLock::new("k".into(), lease(10_000)).announced(announce),
            "EVALSHA <fenced/acquire> 2 k {k}:fence <token> 10000 -> 0",
            Some(0),
        ),
        (
            &ReentrantLock::new("k".into(), lease(10_000)).announced(announce),
            "EVALSHA <reentrant/acquire> 1 k <me> 10 -> 0",
            None,
        ),
    ];
    for (lock, refused, without_key) in table {
        for (pttl, millis) in [("70", Some(70)), ("-1", None), ("-2", without_key)] {
            let dialogue = format!("clock -> 5\n{refused}\nPTTL k -> {pttl}");
            let held = Held { retry_in: millis.map(Duration::from_millis), ..Held::because(Refusal::Live) };
            assert_eq!(play(&dialogue, |redis| lock.acquire(&owner(), redis)), Ok(Acquired::Held(held)), "{dialogue}");
        }
    }
}
