//! The modern locks.

use std::num::{NonZeroU8, NonZeroU32};
use std::sync::Arc;
use std::time::Duration;

use lockshift::driver;
use lockshift::lock::{Lease, Locker, Mode};
use lockshift::modern::redisson::{Fair, Kind, Mutex, ReadWrite};
use lockshift::modern::{
    FairLock, FencedTokenLock, MultiKeyLock, Native, PairLock, Publish, ReadWriteLock, Redlock, ReentrantLock,
    Semaphore, StampHashLock, Timing, TokenLock,
};
use lockshift::wire::Key;

use super::stage::{Again, Clock};
use super::{again, alike, holds, holds_on, two_sided};
use crate::server::{Options, Server, fetched};

/// The tables, for the test that none is missing.
pub(super) const TABLES: &[&str] = &[
    include_str!("modern/token.txt"),
    include_str!("modern/fair.txt"),
    include_str!("modern/redlock.txt"),
    include_str!("modern/rw_pair.txt"),
    include_str!("modern/rw_stamps.txt"),
    include_str!("modern/read_write.txt"),
    include_str!("modern/semaphore.txt"),
    include_str!("modern/token_fenced.txt"),
    include_str!("modern/reentrant.txt"),
    include_str!("modern/multi_key.txt"),
    include_str!("modern/redisson.txt"),
    include_str!("modern/redisson_rw.txt"),
];

fn key() -> Key {
    Key::from("k")
}

fn seconds(seconds: u64) -> Lease {
    Lease::new(Duration::from_secs(seconds)).expect("some seconds are a lease")
}

fn token() -> TokenLock {
    TokenLock::new(key(), seconds(10))
}

#[test]
fn the_token_lock() {
    holds(include_str!("modern/token.txt"), &[alike("token", Clock::Runs, Arc::new(token()))]);
}

#[test]
fn redlock_on_one_server() {
    let redlock = Redlock::new(key(), seconds(10), NonZeroU8::MIN);
    holds(include_str!("modern/redlock.txt"), &[alike("redlock", Clock::Runs, Arc::new(redlock))]);
}

#[test]
fn the_token_lock_that_announces_its_release() {
    let announced = |name, announce| alike(name, Clock::Runs, Arc::new(token().announced(announce)));
    let rows = [announced("token, publish", Publish::Everywhere), announced("token, spublish", Publish::InSlot)];
    holds(include_str!("modern/token_announced.txt"), &rows);
}

#[test]
fn the_token_lock_with_a_queue() {
    holds(include_str!("modern/fair.txt"), &[alike("fair", Clock::Runs, Arc::new(FairLock::new(key(), seconds(10))))]);
}

#[test]
fn the_token_lock_by_other_clocks() {
    let timed = |name, timing| alike(name, Clock::Set, Arc::new(token().timed(timing)));
    let rows = [timed("token, ex", Timing::Ex), timed("token, pxat", Timing::PxAt), timed("token, exat", Timing::ExAt)];
    holds(include_str!("modern/token_timed.txt"), &rows);
}

/// The server's own commands where it has them, and the scripts where it refuses.
#[test]
fn the_token_lock_by_native_commands() {
    let found = driver::blocking::run(&mut Server::start().connect(), &Native::detect).expect("the server answers");
    match found {
        Native::NONE => natively(&Options::new(), Native::REDIS_8_4, include_str!("modern/token_refused.txt")),
        Native::VALKEY_8_1 => natively(&Options::new(), found, include_str!("modern/token_valkey_8_1.txt")),
        Native::VALKEY_9_0 => natively(&Options::new(), found, include_str!("modern/token_valkey_9_0.txt")),
        Native::REDIS_8_4 => natively(&Options::new(), found, include_str!("modern/token_redis_8_4.txt")),
        other => panic!("no table tells of a server with {other:?}"),
    }
}

#[test]
fn the_token_lock_on_valkey_8_1() {
    let server = Options::new().program(fetched("valkey-8.1"));
    natively(&server, Native::VALKEY_8_1, include_str!("modern/token_valkey_8_1.txt"));
}

#[test]
fn the_token_lock_on_valkey_9_0() {
    let server = Options::new().program(fetched("valkey-9.0"));
    natively(&server, Native::VALKEY_9_0, include_str!("modern/token_valkey_9_0.txt"));
}

#[test]
fn the_token_lock_on_redis_8_4() {
    let server = Options::new().program(fetched("redis-8.4"));
    natively(&server, Native::REDIS_8_4, include_str!("modern/token_redis_8_4.txt"));
}

fn natively(server: &Options, native: Native, table: &str) {
    holds_on(server, table, &[alike("token", Clock::Runs, Arc::new(token().native(native)))]);
}

#[test]
fn the_read_write_lock_of_two_keys() {
    let rows = two_sided("rw-pair", |mode| Arc::new(PairLock::new(Key::from("r"), Key::from("w"), mode, seconds(10))));
    holds(include_str!("modern/rw_pair.txt"), &rows);
}

#[test]
fn the_read_write_lock_of_stamps_in_a_hash() {
    let rows = two_sided("rw-stamps", |mode| Arc::new(StampHashLock::new(key(), mode, seconds(1), seconds(3))));
    holds(include_str!("modern/rw_stamps.txt"), &rows);
}

#[test]
fn the_read_write_lock_of_readers_with_a_lease_each() {
    let rows = two_sided("read-write", |mode: Mode| Arc::new(ReadWriteLock::new(key(), mode, seconds(10))));
    holds(include_str!("modern/read_write.txt"), &rows);
}

#[test]
fn the_semaphore() {
    let row = |permits: u32| {
        let lock = Semaphore::new(key(), NonZeroU32::new(permits).expect("a permit"), seconds(10));
        alike(&format!("semaphore,permits={permits}"), Clock::Runs, Arc::new(lock))
    };
    holds(include_str!("modern/semaphore.txt"), &[row(1), row(2)]);
}

#[test]
fn the_token_lock_with_a_fence() {
    let lock = FencedTokenLock::new(key(), seconds(10));
    holds(include_str!("modern/token_fenced.txt"), &[alike("token-fenced", Clock::Runs, Arc::new(lock))]);
}

#[test]
fn the_re_entrant_lock() {
    let lock = || ReentrantLock::new(key(), seconds(10));
    let row = |name, lock| again(Again::Enters, alike(name, Clock::Runs, Arc::new(lock)));
    let rows = [row("reentrant", lock()), row("reentrant, fenced", lock().fenced())];
    holds(include_str!("modern/reentrant.txt"), &rows);
}

#[test]
fn the_lock_of_several_keys() {
    let lock = MultiKeyLock::new(["k", "{k}:2"].map(Key::from), seconds(10)).expect("both are in one slot");
    holds(include_str!("modern/multi_key.txt"), &[alike("multi-key", Clock::Runs, Arc::new(lock))]);
}

#[test]
fn the_locks_of_redisson() {
    let mutex = |name, kind| alike(name, Clock::Runs, Arc::new(Mutex::new(key(), seconds(10)).kind(kind)));
    let fair = || Fair::new(key(), seconds(10));
    let sharded = Mutex::new(key(), seconds(10)).publish(Publish::InSlot);
    let rows = [
        again(Again::Enters, mutex("redisson", Kind::Reentrant)),
        again(Again::Enters, mutex("redisson, fenced", Kind::Fenced)),
        again(Again::Enters, mutex("redisson, spin", Kind::Spin)),
        again(Again::Refused, mutex("redisson, non-reentrant", Kind::NonReentrant)),
        again(Again::Enters, alike("redisson, fair", Clock::Runs, Arc::new(fair()))),
        again(Again::Refused, alike("redisson, fair-non-reentrant", Clock::Runs, Arc::new(fair().non_reentrant()))),
        again(Again::Enters, alike("redisson, in a cluster", Clock::Runs, Arc::new(sharded))),
    ];
    holds(include_str!("modern/redisson.txt"), &rows);
}

#[test]
fn the_read_write_lock_of_redisson() {
    let side = |mode: Mode| -> Arc<dyn Locker> { Arc::new(ReadWrite::new(key(), mode, seconds(10))) };
    let [readers, writers, reader_first, writer_first] = two_sided("redisson-rw", side);
    let rows = [again(Again::Enters, readers), again(Again::Enters, writers), reader_first, writer_first];
    holds(include_str!("modern/redisson_rw.txt"), &rows);
}
