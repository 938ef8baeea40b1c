//! The modern locks.

use std::sync::Arc;
use std::time::Duration;

use lockshift::lock::{Lease, Mode};
use lockshift::modern::{PairLock, ReadWriteLock, StampHashLock, TokenLock};
use lockshift::wire::Key;

use super::stage::Clock;
use super::{alike, holds, two_sided};

fn key() -> Key {
    Key::from("k")
}

fn seconds(seconds: u64) -> Lease {
    Lease::new(Duration::from_secs(seconds)).expect("some seconds are a lease")
}

#[test]
fn the_token_lock() {
    let lock = Arc::new(TokenLock::new(key(), seconds(10)));
    holds(include_str!("modern/token.txt"), &[alike("token", Clock::Runs, lock)]);
}

#[test]
fn the_read_write_lock_of_two_keys() {
    let rows = two_sided("pair", |mode| Arc::new(PairLock::new(Key::from("r"), Key::from("w"), mode, seconds(10))));
    holds(include_str!("modern/pair.txt"), &rows);
}

#[test]
fn the_read_write_lock_of_stamps_in_a_hash() {
    let rows = two_sided("stamps", |mode| Arc::new(StampHashLock::new(key(), mode, seconds(1), seconds(3))));
    holds(include_str!("modern/stamps.txt"), &rows);
}

#[test]
fn the_read_write_lock_of_readers_with_a_lease_each() {
    let rows = two_sided("read-write", |mode: Mode| Arc::new(ReadWriteLock::new(key(), mode, seconds(10))));
    holds(include_str!("modern/read_write.txt"), &rows);
}
