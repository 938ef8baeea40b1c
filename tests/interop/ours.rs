//! Our side of a scene: one of our lockers through the blocking driver.

use std::time::Duration;

use lockshift::driver::blocking::{Guard, Lock, ReleaseListener};
use lockshift::driver::{Attempt, Error, Wait};
use redis::Connection;

use crate::patience::until;
use crate::roster::Spoken;
use crate::testbed::Testbed;

/// A lock of ours on a connection of its own.
pub(crate) struct Ours(Lock<Connection>);

impl Ours {
    pub(crate) fn new(testbed: &Testbed, spoken: Spoken, key: &str, lease: Duration) -> Self {
        Self(Lock::new(testbed.connect(), spoken.opponent(key, lease)))
    }

    /// The same, with its own release listener.
    pub(crate) fn listening(testbed: &Testbed, spoken: Spoken, key: &str, lease: Duration) -> Self {
        let releases = ReleaseListener::new(testbed.server().client()).expect("random bytes can be read");
        Self(Self::new(testbed, spoken, key, lease).0.notified_by(&releases))
    }

    /// One attempt.
    pub(crate) fn acquire(&self) -> Option<Guard<Connection>> {
        won(self.0.try_acquire())
    }

    /// Acquires a free lock. A busy machine may let a short lease end before the driver knows that it has won.
    pub(crate) fn hold(&self) -> Guard<Connection> {
        until("the lock is free", || self.acquire())
    }

    /// Waits until it is woken by a release.
    pub(crate) fn waits(&self, at_most: Duration) -> Option<Guard<Connection>> {
        won(self.0.acquire(&Wait::notified().for_at_most(at_most)))
    }
}

fn won(attempt: Result<Attempt<Guard<Connection>>, Error>) -> Option<Guard<Connection>> {
    match attempt.unwrap_or_else(|error| panic!("{error}")) {
        Attempt::Won(guard) => Some(guard),
        Attempt::Held(_) | Attempt::TooLate => None,
        Attempt::Unknown(_) => panic!("the server answers"),
    }
}
