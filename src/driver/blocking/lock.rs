//! A lock that one may try to acquire, and wait for.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use lockshift_lock::{Hold, Lease, Locker, Ownership};
use lockshift_wire::Key;

use super::acquisition::Acquiring;
use super::carrier::Carrier;
use super::guard::Guard;
use super::release_listener::ReleaseListener;
use super::shadow_hold::Shadow;
use super::shared_connection::SharedConnection;
use crate::driver::counters::Counters;
use crate::driver::error::Error;
use crate::driver::host;
use crate::driver::link::at_once;
use crate::driver::outcome::Attempt;
use crate::driver::replication::Replication;
use crate::driver::session::LockSession;
use crate::driver::undisclaimed::Undisclaimed;
use crate::driver::wait::Wait;
use crate::driver::waiting::{Listener, Waiting};
use crate::driver::wake_up::WakeUp;

/// How soon, at the latest, a notified waiter asks its caller whether to go on.
const SLICE: Duration = Duration::from_millis(50);

/// A lock: one protocol on one connection.
///
/// Its guards and their renewals use the same connection, one at a time. Clones share it too.
pub struct Lock<C> {
    session: LockSession<SharedConnection<C>>,
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
        Self {
            session: LockSession::new(Arc::new(SharedConnection::new(connection)), Arc::new(locker), C::resends()),
            listener: None,
            shadow: None,
        }
    }

    /// The same lock over another connection, as if its own attempts were all it has made.
    pub(crate) fn over(&self, connection: C) -> Self {
        let (connection, undisclaimed) = (Arc::new(SharedConnection::new(connection)), Undisclaimed::default());
        Self { session: LockSession { connection, undisclaimed, ..self.session.clone() }, ..self.clone() }
    }

    /// The same lock, with another one taken beside it whenever it is won: nothing else changes for the caller, and how
    /// often the two disagree is in the shadow's [`summary`](Shadow::summary).
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
    pub fn notified_by(mut self, listener: &ReleaseListener) -> Self {
        self.session.waiters = Some(Arc::clone(listener.waiters()));
        self.listener = Some(listener.clone());
        self
    }

    /// The same lock, acquired only once so many replicas have it: see [`Replication`]. It needs a connection of its own,
    /// to one server, and not a `redis::Client`.
    #[must_use]
    pub fn replicated(mut self, replication: Replication) -> Self {
        self.session.replication = Some(replication);
        self
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
        let mut acquiring = Acquiring::begin(&self.session, self.shadow.as_ref())?;
        acquiring.attempt(acquiring.acquisition.began())
    }

    /// Asks the server about a hold that may be of no client.
    pub(super) fn ownership_of(&self, hold: &Hold) -> Result<Ownership, Error> {
        at_once(self.session.ownership(hold))
    }

    /// Whether the lock ends with its lease.
    pub(crate) fn expires(&self) -> bool {
        self.session.locker.expires()
    }

    /// For how long a winner holds.
    pub(super) fn lease(&self) -> Lease {
        self.session.locker.lease()
    }

    /// Tries until the lock is won or the waiting time has passed.
    ///
    /// An error that may [pass by itself](crate::driver::ErrorKind::is_transient) does not end the wait, nor does a lost
    /// reply, which the protocol has disclaimed if it can: the next try follows after a pause, up to the deadline, or
    /// without a deadline for 30 s of nothing but failures. Where it cannot disclaim, what may have been won is in the way
    /// of the next tries until its lease ends.
    ///
    /// # Errors
    /// As [`try_acquire`](Self::try_acquire).
    pub fn acquire(&self, wait: &Wait) -> Result<Attempt<Guard<C>>, Error> {
        let (acquiring, waiting) = self.begin(wait)?;
        Self::acquire_passing(acquiring, waiting, |_, pause, wake_up| {
            match wake_up {
                Some(wake_up) => drop(wake_up.wait(pause)),
                None => host::sleep(pause),
            }
            true
        })
    }

    /// As [`acquire`](Self::acquire), but lets the caller pass the time between two tries: `pause` receives how the last
    /// one ended and for how long to pause, and returns whether to go on. If not, that outcome stands. So a wait can be
    /// broken off at once, and never amid a try. It takes no turns with other waiters of this program: its first
    /// try is made at once.
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
        let (acquiring, waiting) = self.begin(wait)?;
        Self::acquire_passing(acquiring, waiting.without_turns(), |attempt, length, wake_up| {
            let Some(wake_up) = wake_up else { return pause(attempt, length) };
            let until = host::mono().saturating_add(length);
            loop {
                let left = until.saturating_since(host::mono());
                let has_ended = wake_up.wait(left.min(SLICE)) || left <= SLICE;
                if !pause(attempt, Duration::ZERO) {
                    return false;
                }
                if has_ended {
                    return true;
                }
            }
        })
    }

    fn begin<'a>(&'a self, wait: &'a Wait) -> Result<(Acquiring<C>, Waiting<'a, ReleaseListener>), Error> {
        let acquiring = Acquiring::begin(&self.session, self.shadow.as_ref())?;
        let waiting = Waiting::begin(wait, self.listener.as_ref(), &acquiring.acquisition);
        Ok((acquiring, waiting))
    }

    /// Tries, and lets `pass` pass the time between: with what wakes it, if it waits for notifications.
    fn acquire_passing(
        mut acquiring: Acquiring<C>,
        mut waiting: Waiting<'_, ReleaseListener>,
        mut pass: impl FnMut(&Result<Attempt<Guard<C>>, Error>, Duration, Option<&WakeUp>) -> bool,
    ) -> Result<Attempt<Guard<C>>, Error> {
        let mut now = acquiring.acquisition.began();
        loop {
            while let Some((pause, wake_up)) = waiting.spoken_for(&acquiring.acquisition, now) {
                acquiring.acquisition.await_its_turn();
                wake_up.wait(pause);
                now = host::mono();
            }
            let granted = waiting.granted(&acquiring.acquisition);
            if let Some(won) = granted.and_then(|hold| acquiring.take(hold)) {
                return Ok(won);
            }
            waiting.begin_attempt(&mut acquiring.acquisition, now);
            let attempt = acquiring.attempt(now);
            match waiting.after(&attempt, &acquiring.acquisition) {
                Some(pause) if pass(&attempt, pause, waiting.wake_up()) => now = host::mono(),
                Some(_) | None => return attempt,
            }
        }
    }
}

impl<C> fmt::Debug for Lock<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lock").field("key", self.session.locker.key()).finish_non_exhaustive()
    }
}
