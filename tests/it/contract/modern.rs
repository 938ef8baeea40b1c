//! The modern locks.

use std::sync::Arc;
use std::time::Duration;

use lockshift::driver;
use lockshift::lock::{Lease, Mode};
use lockshift::modern::{Announce, FairLock, Native, PairLock, ReadWriteLock, StampHashLock, Timing, TokenLock};
use lockshift::wire::Key;

use super::stage::Clock;
use super::{alike, holds, holds_on, two_sided};
use crate::server::{Options, Server, fetched};

/// The tables, for the test that none is missing.
pub(super) const TABLES: &[&str] = &[
    include_str!("modern/token.txt"),
    include_str!("modern/fair.txt"),
    include_str!("modern/rw_pair.txt"),
    include_str!("modern/rw_stamps.txt"),
    include_str!("modern/read_write.txt"),
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
fn the_token_lock_that_announces_its_release() {
    let announced = |name, announce| alike(name, Clock::Runs, Arc::new(token().announced(announce)));
    let rows = [announced("token, publish", Announce::Publish), announced("token, spublish", Announce::SPublish)];
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
