//! One client of a play: what it wants next, and what it does now.

use std::time::Duration;

use super::demand::LockRequest;
use crate::driver::Patience;
use crate::lock::{Hold, Owner, Token};
use crate::sim::Session;
use crate::wire::Transcript;

/// One client of a play. It does one thing after the other.
pub(super) struct DemandClient<'a> {
    number: u32,
    requests: std::slice::Iter<'a, LockRequest>,
    acquisitions: u32,
    pub(super) doing: DemandActivity<'a>,
}

/// What a client is doing.
pub(super) enum DemandActivity<'a> {
    /// Nothing, until it wants something.
    Resting,
    /// It wants the lock.
    Attempt(DemandAttempt<'a>),
    /// It releases the lock, or will when its work is done.
    Leaving {
        /// What it holds.
        hold: Hold,
        /// The release so far.
        transcript: Transcript,
    },
}

/// One attempt to acquire the lock, with the pauses between its tries.
pub(super) struct DemandAttempt<'a> {
    pub(super) owner: Owner,
    pub(super) request: LockRequest,
    /// Since when, since the beginning.
    pub(super) since: Duration,
    pub(super) patience: Patience<'a>,
    /// This try so far.
    pub(super) transcript: Transcript,
}

impl<'a> DemandClient<'a> {
    pub(super) fn new(number: u32, requests: &'a [LockRequest]) -> Self {
        Self { number, requests: requests.iter(), acquisitions: 0, doing: DemandActivity::Resting }
    }

    /// Its connection.
    pub(super) fn session(&self) -> Session {
        Session(self.number)
    }

    /// When it wants something next; `None` if never again.
    pub(super) fn wants_at(&self, now: Duration) -> Option<Duration> {
        self.requests.as_slice().first().map(|request| request.asked_at.max(now))
    }

    /// What it wants now, and its owner: another one for each acquisition.
    pub(super) fn request(&mut self) -> Option<(LockRequest, Owner)> {
        let request = *self.requests.next()?;
        self.acquisitions += 1;
        let name = u128::from(self.number) << 32 | u128::from(self.acquisitions);
        Some((request, Owner::new(Token::new(name.to_be_bytes()), self.number, 1)))
    }
}
