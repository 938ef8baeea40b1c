//! A lock that one may try to acquire, and wait for.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use lockshift_lock::{Hold, Lease, Locker, Ownership, ReleaseChannel};
use lockshift_wire::Key;

use super::acquisition::Acquisition;
use super::carrier::Carrier;
use super::guard::Guard;
use super::release_listener::{ReleaseListener, Waiter};
use super::session::Session;
use super::shadow_hold::Shadow;
use crate::driver::counters::Counters;
use crate::driver::error::Error;
use crate::driver::host;
use crate::driver::outcome::Attempt;
use crate::driver::wait::Wait;

/// How soon, at the latest, a notified waiter asks its caller whether to go on.
const SLICE: Duration = Duration::from_millis(50);

/// A lock: one protocol on one connection.
///
/// Its guards and their renewals use the same connection, one at a time. Clones share it too.
pub struct Lock<C> {
    session: Session<C>,
    listener: Option<ReleaseListener>,
    shadow: Option<Shadow>,
}

impl<C> Clone for Lock<C> {
    fn clone(&self) -> Self {
        Self { session: self.session.clone(), listener: self.listener.clone(), shadow: self.shadow.clone() }
    }
}

impl<C: Carrier + 'static> Lock<C> {
    /// A lock that speaks the protocol of `locker` over `connection`: a `redis::Connection`, one from a pool, a
    /// `redis::Client`, which connects anew for every command, or a cluster. The last two cannot carry protocols with
    /// WATCH and MULTI; trying to acquire ends with [`ErrorKind::SharedConnection`](crate::driver::ErrorKind) then.
    pub fn new(connection: C, locker: impl Locker + 'static) -> Self {
        Self { session: Session::new(connection, locker), listener: None, shadow: None }
    }

    /// The same lock, with another one taken beside it whenever it is won: nothing else changes for the caller, and how
    /// often the two disagree is in the shadow's [`tally`](Shadow::tally).
    #[must_use]
    pub fn shadowed(self, shadow: &Shadow) -> Self {
        Self { shadow: Some(shadow.clone()), ..self }
    }

    /// The key that contenders share.
    pub fn key(&self) -> &Key {
        self.session.locker.key()
    }

    /// Waits for release notifications with this listener, where it waits with [`Wait::notified`].
    #[must_use]
    pub fn hearing(self, listener: &ReleaseListener) -> Self {
        Self { listener: Some(listener.clone()), ..self }
    }

    /// Counts into these counters, which other locks may share, instead of its own.
    #[must_use]
    pub fn counting(mut self, counters: &Arc<Counters>) -> Self {
        self.session.counters = Arc::clone(counters);
        self
    }

    /// What has become of this lock and its clones, or of all that share its counters.
    pub fn counters(&self) -> &Arc<Counters> {
        &self.session.counters
    }

    /// Tries once.
    ///
    /// # Errors
    /// The server cannot be used, and nothing of ours is left there as far as one can tell.
    pub fn try_acquire(&self) -> Result<Attempt<Guard<C>>, Error> {
        Acquisition::new(self.session.clone(), self.shadow.clone())?.attempt()
    }

    /// Asks the server about a hold that may be of no client.
    pub(super) fn ownership_of(&self, hold: &Hold) -> Result<Ownership, Error> {
        let mut connection = self.session.for_holder();
        let standing = self.session.ask(&mut connection, |locker, redis| locker.ownership(hold, redis));
        standing.map_err(|interrupted| Error::because(self.key(), interrupted.cause))
    }

    /// For how long a winner holds.
    pub(super) fn lease(&self) -> Lease {
        self.session.locker.lease()
    }

    /// Tries until the lock is won or the waiting time has passed. An unknown outcome ends it at once: what may have been won is
    /// in the way of any further try.
    ///
    /// An error that may [pass by itself](crate::driver::ErrorKind::is_transient) does not end the wait: the next try
    /// follows after a pause, up to the deadline, or without a deadline for 30 s of nothing but errors.
    ///
    /// # Errors
    /// As [`try_acquire`](Self::try_acquire).
    pub fn acquire(&self, wait: &Wait) -> Result<Attempt<Guard<C>>, Error> {
        self.acquire_passing(wait, |_, pause, waiter| {
            match waiter {
                Some(waiter) => drop(waiter.wait(pause)),
                None => host::sleep(pause),
            }
            true
        })
    }

    /// As [`acquire`](Self::acquire), but lets the caller pass the time between two tries: `pause` is told how the last
    /// one ended and for how long to pause, and answers whether to go on. If not, that outcome stands. So a wait can be
    /// broken off at once, and never amid a try.
    ///
    /// While it listens for the release it passes the time itself, and asks twenty times a second, with a pause of
    /// zero, whether to go on.
    ///
    /// # Errors
    /// As [`try_acquire`](Self::try_acquire).
    pub fn acquire_while(
        &self,
        wait: &Wait,
        mut pause: impl FnMut(&Result<Attempt<Guard<C>>, Error>, Duration) -> bool,
    ) -> Result<Attempt<Guard<C>>, Error> {
        self.acquire_passing(wait, |attempt, length, waiter| {
            let Some(waiter) = waiter else { return pause(attempt, length) };
            let until = host::mono().saturating_add(length);
            loop {
                let left = until.saturating_since(host::mono());
                let is_over = waiter.wait(left.min(SLICE)) || left <= SLICE;
                if !pause(attempt, Duration::ZERO) {
                    return false;
                }
                if is_over {
                    return true;
                }
            }
        })
    }

    /// Tries, and lets `pass` pass the time between: with the waiter, if it waits for notifications.
    fn acquire_passing(
        &self,
        wait: &Wait,
        mut pass: impl FnMut(&Result<Attempt<Guard<C>>, Error>, Duration, Option<&Waiter>) -> bool,
    ) -> Result<Attempt<Guard<C>>, Error> {
        let mut acquisition = Acquisition::new(self.session.clone(), self.shadow.clone())?;
        let listener_and_channel =
            if wait.listens() { self.listener.as_ref().zip(acquisition.release_channel()) } else { None };
        let enter = |(listener, channel): &(&ReleaseListener, ReleaseChannel)| {
            listener.enter(channel.clone(), acquisition.owner().token)
        };
        // Where others listen already a place is taken before the first try, which then misses nothing.
        let mut waiter = listener_and_channel.as_ref().filter(|(listener, channel)| listener.hears(channel)).map(enter);
        let mut patience = wait.begin(host::mono());
        loop {
            waiter.iter_mut().for_each(Waiter::begin_attempt);
            let attempt = acquisition.attempt();
            let used = attempt.as_ref().is_ok_and(Attempt::uses_the_wake_up);
            waiter.iter_mut().for_each(|waiter| waiter.end_attempt(used));
            let waiters = waiter.as_ref().and_then(Waiter::waiters);
            let Some(length) = patience.after(&attempt, waiters, host::mono(), host::jitter) else { return attempt };
            if !matches!(attempt, Ok(Attempt::Held(_))) {
                // The next attempt has another name.
                waiter = None;
            }
            if waiter.is_none() {
                let enter = |(listener, channel): &(&ReleaseListener, ReleaseChannel)| {
                    listener.enter(channel.clone(), acquisition.owner().token)
                };
                waiter = listener_and_channel.as_ref().map(enter);
            }
            if !pass(&attempt, length, waiter.as_ref()) {
                return attempt;
            }
        }
    }
}

impl<C> fmt::Debug for Lock<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lock").field("key", self.session.locker.key()).finish_non_exhaustive()
    }
}
