//! What each lock says of itself: its key, lease, mode and holders, what a late release can do, and where it is announced.

use std::num::{NonZeroU8, NonZeroU32};

use lockshift_lock::{LateRelease, Locker, Mode, RefusalScope};
use lockshift_modern::redisson::{Fair, Kind, Mutex, ReadWrite};
use lockshift_modern::{
    FairLock, FencedTokenLock, MultiKeyLock, PairLock, ReadWriteLock, Redlock, ReentrantLock, Semaphore, StampHashLock,
    TokenLock,
};

use crate::dialogue::{lease, owner};

/// `key lease mode`, then what is not the same for most.
fn describe(lock: &dyn Locker) -> String {
    let mut text = format!("{} {:?} {:?}", lock.key(), lock.lease().length(), lock.mode());
    if let Some(most) = lock.max_sharers() {
        text += &format!(", {most} at most");
    }
    if lock.late_release() == LateRelease::MayFreeAnother {
        text += ", a late release may free another";
    }
    if let Some(name) = lock.reentrant_name(&owner()) {
        text += &format!(", re-entrant as {}", name.replace(&owner().thread_name(), "<me>"));
    }
    if let Some(channel) = lock.release_channel(&owner()) {
        let name = String::from_utf8(channel.channel).expect("a name");
        let name = name.replace(&owner().thread_name(), "<me>").replace(&owner().instance.hex(), "<instance>");
        text += &format!(", announced on {name}");
    }
    if lock.refusal_scope() != RefusalScope::OneWaiter {
        text += &format!(", a refusal concerns {:?}", lock.refusal_scope());
    }
    if let Some(pause) = lock.longest_pause() {
        text += &format!(", every {pause:?}");
    }
    assert!(lock.expires() && !lock.needs_own_connection(), "{text}");
    text
}

#[test]
fn each_lock_says_what_it_is() {
    let key = || "k".into();
    let exact = lease(1_500);
    let several = |permits| Semaphore::new(key(), NonZeroU32::new(permits).unwrap(), exact);
    let hashed = |mode| StampHashLock::new(key(), mode, lease(1_500), lease(2_500));
    let pair = |mode| PairLock::new("r".into(), "w".into(), mode, exact);
    let keys = MultiKeyLock::new(["{k}a", "{k}b"].map(Into::into), exact).unwrap();
    let late = ", a late release may free another";
    let table: [(&dyn Locker, &str); 20] = [
        (&TokenLock::new(key(), exact), "k 1.5s Exclusive, a refusal concerns AllWaiters"),
        (&FencedTokenLock::new(key(), exact), "k 1.5s Exclusive, a refusal concerns AllWaiters"),
        (
            &FairLock::new(key(), exact),
            "k 1.5s Exclusive, announced on {k}:bell:<instance>, a refusal concerns QueuedWaiters, every 1.666666666s",
        ),
        (&keys, "{k}a 1.5s Exclusive, a refusal concerns OtherKeys"),
        (&Redlock::new(key(), exact, NonZeroU8::new(3).unwrap()), "k 1.5s Exclusive"),
        (&ReentrantLock::new(key(), exact), &format!("k 2s Exclusive{late}, re-entrant as <me>")),
        (&ReadWriteLock::new(key(), Mode::Shared, exact), "k 1.5s Shared"),
        (&ReadWriteLock::new(key(), Mode::Exclusive, exact), "k 1.5s Exclusive"),
        (&several(1), "k 1.5s Exclusive, 1 at most"),
        (&several(2), "k 1.5s Shared, 2 at most"),
        (&hashed(Mode::Shared), &format!("k 1.5s Shared{late}")),
        (&hashed(Mode::Exclusive), &format!("k 2.5s Exclusive{late}")),
        (&pair(Mode::Shared), &format!("r 2s Shared{late}")),
        (&pair(Mode::Exclusive), &format!("w 2s Exclusive{late}")),
        (
            &Mutex::new(key(), exact),
            &format!("k 1.5s Exclusive{late}, re-entrant as <me>, announced on redisson_lock__channel:{{k}}"),
        ),
        (&Mutex::new(key(), exact).kind(Kind::Spin), &format!("k 1.5s Exclusive{late}, re-entrant as <me>")),
        (
            &Mutex::new(key(), exact).kind(Kind::NonReentrant),
            &format!("k 1.5s Exclusive{late}, re-entrant as <me>, announced on redisson_lock__channel:{{k}}"),
        ),
        (
            &Fair::new(key(), exact),
            &format!("k 1.5s Exclusive{late}, re-entrant as <me>, announced on redisson_lock__channel:{{k}}:<me>"),
        ),
        (
            &ReadWrite::new(key(), Mode::Shared, exact),
            &format!("k 1.5s Shared{late}, re-entrant as <me>, announced on redisson_rwlock:{{k}}"),
        ),
        (
            &ReadWrite::new(key(), Mode::Exclusive, exact),
            &format!("k 1.5s Exclusive{late}, re-entrant as <me>:write, announced on redisson_rwlock:{{k}}"),
        ),
    ];
    for (lock, expected) in table {
        assert_eq!(describe(lock), expected);
    }
}
