//! Our side of a scene: one of our lockers through the blocking driver.

use std::time::Duration;

use lockshift::driver::Attempt;
use lockshift::driver::blocking::{Guard, Lock};
use redis::Connection;

use crate::roster::Spoken;
use crate::stand::Stand;

/// A lock of ours on a connection of its own.
pub(crate) struct Ours(Lock<Connection>);

impl Ours {
    pub(crate) fn new(stand: &Stand, spoken: Spoken, key: &str, lease: Duration) -> Self {
        Self(Lock::new(stand.connect(), spoken.opponent(key, lease)))
    }

    /// One try.
    pub(crate) fn acquire(&self) -> Option<Guard<Connection>> {
        match self.0.try_acquire().unwrap_or_else(|error| panic!("{error}")) {
            Attempt::Won(guard) => Some(guard),
            Attempt::Held(_) | Attempt::TooLate => None,
            Attempt::Unknown(_) => panic!("the server answers"),
        }
    }
}
