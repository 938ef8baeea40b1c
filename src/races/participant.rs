//! One client of a race: its protocol and its program, as data.

use std::sync::Arc;
use std::time::Duration;

use super::protocol::RaceProtocol;
use crate::explore::{Client, Times};
use crate::legacy::Dialect;
use crate::lock::{Lease, Locker, Owner, Token};
use crate::wire::Key;

/// One client of a race. What is not given is as in [`Client::new`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Participant {
    /// Which protocol it speaks.
    pub protocol: RaceProtocol,
    /// For how long it holds.
    pub lease: Duration,
    /// How many milliseconds its clock is ahead of the server's.
    pub skew_ms: i64,
    /// How often it acquires, works and releases.
    pub rounds: u8,
    /// How often it tries in one round.
    pub tries: Times,
    /// For how many ticks it works at least.
    pub work: u16,
    /// How many ticks after the lease began it extends; `None`: never.
    pub renew_after: Option<u16>,
    /// Whether it stops believing that it holds when the lease expires.
    pub heeds_lease: bool,
    /// Whether the clock waits for it.
    pub prompt: bool,
    /// Whether it writes to the guarded resource before it releases.
    pub writes: bool,
    /// Which of several locks it is after.
    pub lock: u8,
    /// Whose renewal ends when it releases.
    pub ends_renewal_of: Option<usize>,
    /// The first byte of its token, where that matters.
    pub token_begins: Option<u8>,
}

impl Participant {
    /// A client that acquires once, trying as often as it takes, and releases when it likes.
    pub const fn new(protocol: RaceProtocol, lease: Duration) -> Self {
        Self {
            protocol,
            lease,
            skew_ms: 0,
            rounds: 1,
            tries: Times::Forever,
            work: 0,
            renew_after: None,
            heeds_lease: true,
            prompt: false,
            writes: false,
            lock: 0,
            ends_renewal_of: None,
            token_begins: None,
        }
    }

    /// [`new`](Self::new), in this old dialect, for so many seconds.
    pub const fn old(dialect: &'static Dialect, lease_secs: u64) -> Self {
        Self::new(RaceProtocol::Dialect(dialect), Duration::from_secs(lease_secs))
    }

    /// [`new`](Self::new), with the token lock, for so many seconds.
    pub const fn token(lease_secs: u64) -> Self {
        Self::new(RaceProtocol::TOKEN, Duration::from_secs(lease_secs))
    }

    /// The same client, trying so often.
    #[must_use]
    pub const fn trying(self, times: u8) -> Self {
        Self { tries: Times::Of(times), ..self }
    }

    /// The same client, working for so many ticks at least.
    #[must_use]
    pub const fn working(self, ticks: u16) -> Self {
        Self { work: ticks, ..self }
    }

    /// The same client, which never looks at its lease: it believes that it holds until it releases.
    #[must_use]
    pub const fn heedless(self) -> Self {
        Self { heeds_lease: false, ..self }
    }

    /// Its lock.
    pub(super) fn locker(&self, key: &Key) -> Arc<dyn Locker> {
        self.protocol.locker(self.key(key), self.lease())
    }

    /// Its lease, or the shortest that there is.
    pub(super) fn lease(&self) -> Lease {
        Lease::new(self.lease).unwrap_or(SHORTEST)
    }

    /// The key of the lock that it is after, where the first of several locks is on this key.
    pub(super) fn key(&self, key: &Key) -> Key {
        if self.lock == 0 { key.clone() } else { key.with_suffix(&format!(":{}", self.lock)) }
    }

    /// The explorer's client, with this lock.
    pub(super) fn client(&self, locker: Arc<dyn Locker>) -> Client {
        Client {
            owner: self.token_begins.map(owner),
            skew_ms: self.skew_ms,
            rounds: Times::Of(self.rounds),
            tries: self.tries,
            work: self.work,
            renew_after: self.renew_after,
            heeds_lease: self.heeds_lease,
            prompt: self.prompt,
            writes: self.writes,
            lock: self.lock,
            ends_renewal_of: self.ends_renewal_of.into_iter().collect(),
            ..Client::new(self.protocol.name(), locker)
        }
    }

    /// Whether the two can share a lock.
    pub(super) fn speaks_like(&self, other: &Self) -> bool {
        (self.protocol, self.lease, self.lock) == (other.protocol, other.lease, other.lock)
    }
}

const SHORTEST: Lease = match Lease::new(Lease::MIN) {
    Ok(lease) => lease,
    Err(_) => unreachable!(),
};

fn owner(token_begins: u8) -> Owner {
    let mut token = [0x5a; 16];
    token[0] = token_begins;
    Owner::new(Token::new(token), 4_099_999, 1)
}
