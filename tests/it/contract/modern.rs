//! The modern locks.

use std::time::Duration;

use lockshift::lock::Lease;
use lockshift::modern::TokenLock;
use lockshift::wire::Key;

use super::{holds, protocol};

#[test]
fn modern_locks_say_what_their_sources_say() {
    let key = || Key::from("k");
    let lease = Lease::new(Duration::from_secs(10)).expect("ten seconds are a lease");
    holds(include_str!("modern.txt"), &[protocol("token", TokenLock::new(key(), lease))]);
}
