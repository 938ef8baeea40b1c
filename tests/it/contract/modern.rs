//! The modern locks.

use std::time::Duration;

use lockshift::lock::{Lease, Locker};
use lockshift::modern::TokenLock;
use lockshift::wire::Key;

use super::driver::ByHand;
use super::holds;
use super::table::Table;

#[test]
fn modern_locks_say_what_their_sources_say() {
    let lease = Lease::new(Duration::from_secs(10)).unwrap();
    let token: Box<dyn Locker> = Box::new(TokenLock::new(Key::from("k"), lease));
    holds::<ByHand>(&Table::read(include_str!("modern.txt")), &[("token", token)]);
}
