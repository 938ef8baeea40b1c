//! Servers that refuse, hang or go away, and keys that hold something else: every protocol, through every driver, ends
//! in a message that names the key and says what to do, never in a panic, and leaves no lock behind.

mod cut;
mod leases;
mod refused;
mod values;

use std::time::Duration;

use lockshift::driver::{Error, Unknown};
use lockshift::lock::Lease;
use lockshift::wire::Key;

use crate::protocols::Named;

/// Plays a story over a `Driver` as a test for each of them.
macro_rules! through_every_driver {
    ($($story:ident),* $(,)?) => {
        mod blocking {
            $(#[test] fn $story() { super::$story::<crate::drivers::Blocking>() })*
        }
        #[cfg(feature = "tokio")]
        mod tokio {
            $(#[test] fn $story() { super::$story::<crate::drivers::Tokio>() })*
        }
    };
}
use through_every_driver;

/// The key of all these locks.
fn key() -> Key {
    Key::from("lock:7")
}

/// Their lease.
fn lease() -> Lease {
    Lease::new(Duration::from_secs(10)).expect("ten seconds are a lease")
}

/// The message names the key, the problem and, after a colon, what to do.
fn assert_helps((name, locker): &Named, error: &Error) {
    let message = error.to_string();
    let says = message.strip_prefix(&format!("lock key `{}`: ", locker.key()));
    assert!(says.is_some_and(|says| says.contains(": ")), "{name}: {message}");
}

/// The message names the key.
fn assert_names((name, locker): &Named, unknown: &Unknown) {
    let message = unknown.to_string();
    assert!(message.starts_with(&format!("lock key `{}`: ", locker.key())), "{name}: {message}");
}
