//! A lock that one may try to acquire, and wait for.

use std::fmt;
use std::sync::Arc;

use lockshift_lock::{Hold, Lease, Locker, Ownership, ReleaseChannel};
use lockshift_wire::Key;

use super::acquisition::Acquisition;
use super::carrier::Carrier;
use super::guard::Guard;
use super::release_listener::{ReleaseListener, Waiter};
use super::session::Session;
use super::shadow_hold::Shadow;
use super::shared_connection::SharedConnection;
use crate::driver::counters::Counters;
use crate::driver::error::Error;
use crate::driver::host;
use crate::driver::outcome::Attempt;
use crate::driver::wait::Wait;

/// A lock: one protocol on one connection.
#[derive(Clone)]
pub struct Lock<C> {
    connection: Share<C>,
    locker: Arc<dyn Locker>,
    counters: Arc<Counters>,
    listener: Option<ReleaseListener>,
    shadow: Option<Shadow>,
}

/// How tries and guards come by their connection.
#[derive(Clone)]
enum Share<C> {
    /// Each has a clone of it, and all may send at the same time.
    Clones(C),
    /// There is one, and one procedure at a time uses it.
    Own(Arc<SharedConnection<C>>),
}

impl<C: Carrier + Clone + 'static> Lock<C> {
    /// A lock that speaks the protocol of `locker` over clones of `connection`, which others may use as well: a
    /// `MultiplexedConnection` (out of a pool: a clone of it), a `ConnectionManager`, an async `ClusterConnection`.
    ///
    /// Protocols with WATCH and MULTI cannot share a connection; trying to acquire ends with
    /// [`ErrorKind::SharedConnection`](crate::driver::ErrorKind) then. Use [`on_own_connection`](Self::on_own_connection).
    pub fn new(connection: C, locker: impl Locker + 'static) -> Self {
        Self::on(Share::Clones(connection), locker)
    }

    /// A lock that speaks the protocol of `locker` over `connection`, of which no other clone is in use, and which is
    /// not a cluster's. Tries, guards and renewals of this lock use it one after another, so that any protocol may run.
    pub fn on_own_connection(connection: C, locker: impl Locker + 'static) -> Self {
        Self::on(Share::Own(Arc::new(SharedConnection::new(connection))), locker)
    }

    /// The same lock, with another one taken beside it whenever it is won: nothing else changes for the caller, and how
    /// often the two disagree is in the shadow's [`tally`](Shadow::tally).
    #[must_use]
    pub fn shadowed(self, shadow: &Shadow) -> Self {
        Self { shadow: Some(shadow.clone()), ..self }
    }

    /// The key that contenders share.
    pub fn key(&self) -> &Key {
        self.locker.key()
    }

    /// Waits for release notifications with this listener, where it waits with [`Wait::notified`].
    #[must_use]
    pub fn hearing(self, listener: &ReleaseListener) -> Self {
        Self { listener: Some(listener.clone()), ..self }
    }

    /// Counts into these counters, which other locks may share, instead of its own.
    #[must_use]
    pub fn counting(self, counters: &Arc<Counters>) -> Self {
        Self { counters: Arc::clone(counters), ..self }
    }

    /// What has become of this lock and its clones, or of all that share its counters.
    pub fn counters(&self) -> &Arc<Counters> {
        &self.counters
    }

    /// Tries once. If this future is dropped the try goes on to its end, and what it wins is released.
    ///
    /// # Errors
    /// The server cannot be used, and nothing of ours is left there as far as one can tell; or this is not a tokio
    /// runtime.
    pub async fn try_acquire(&self) -> Result<Attempt<Guard<C>>, Error> {
        let (acquisition, attempt) = Acquisition::new(self.session()?, self.shadow.clone())?.attempt().await?;
        acquisition.give_up().await;
        attempt
    }

    /// Tries until the lock is won or the waiting time has passed. An unknown outcome ends it at once: what may have been won is
    /// in the way of any further try. This future may be dropped at any time, as `try_acquire`'s may.
    ///
    /// An error that may [pass by itself](crate::driver::ErrorKind::is_transient) does not end the wait: the next try
    /// follows after a pause, up to the deadline, or without a deadline for 30 s of nothing but errors.
    ///
    /// # Errors
    /// As [`try_acquire`](Self::try_acquire).
    pub async fn acquire(&self, wait: &Wait) -> Result<Attempt<Guard<C>>, Error> {
        let mut acquisition = Acquisition::new(self.session()?, self.shadow.clone())?;
        let listener_and_channel =
            if wait.listens() { self.listener.as_ref().zip(acquisition.release_channel()) } else { None };
        let enter =
            |(listener, channel): &(&ReleaseListener, ReleaseChannel), token| listener.enter(channel.clone(), token);
        // Where others listen already a place is taken before the first try, which then misses nothing.
        let mut waiter = listener_and_channel
            .as_ref()
            .filter(|(listener, channel)| listener.hears(channel))
            .map(|listener_and_channel| enter(listener_and_channel, acquisition.owner().token));
        let mut patience = wait.begin(host::mono());
        loop {
            waiter.iter_mut().for_each(Waiter::begin_attempt);
            let (tried, attempt) = acquisition.attempt().await?;
            acquisition = tried;
            let used = attempt.as_ref().is_ok_and(Attempt::uses_the_wake_up);
            waiter.iter_mut().for_each(|waiter| waiter.end_attempt(used));
            let waiters = waiter.as_ref().and_then(Waiter::waiters);
            let Some(pause) = patience.after(&attempt, waiters, host::mono(), host::jitter) else {
                acquisition.give_up().await;
                return attempt;
            };
            if !matches!(attempt, Ok(Attempt::Held(_))) {
                // The next attempt has another name.
                waiter = None;
            }
            if waiter.is_none() {
                waiter = listener_and_channel
                    .as_ref()
                    .map(|listener_and_channel| enter(listener_and_channel, acquisition.owner().token));
            }
            match &waiter {
                Some(waiter) => waiter.wait(pause).await,
                None => host::sleep_async(pause).await,
            }
        }
    }

    /// Asks the server about a hold that may be of no client.
    pub(super) async fn ownership_of(&self, hold: &Hold) -> Result<Ownership, Error> {
        let session = self.session()?;
        let mut connection = session.for_holder().await;
        let standing = session.ask(&mut connection, |locker, redis| locker.ownership(hold, redis)).await;
        standing.map_err(|interrupted| Error::because(self.key(), interrupted.cause))
    }

    /// For how long a winner holds.
    pub(super) fn lease(&self) -> Lease {
        self.locker.lease()
    }

    fn on(connection: Share<C>, locker: impl Locker + 'static) -> Self {
        Self {
            connection,
            locker: Arc::new(locker),
            counters: Arc::new(Counters::default()),
            listener: None,
            shadow: None,
        }
    }

    fn session(&self) -> Result<Session<C>, Error> {
        let connection = match &self.connection {
            Share::Clones(_) if self.locker.needs_own_connection() => {
                return Err(Error::shared_connection(self.key()));
            }
            Share::Clones(connection) => Arc::new(SharedConnection::new(connection.clone())),
            Share::Own(connection) => Arc::clone(connection),
        };
        Ok(Session::new(connection, Arc::clone(&self.locker), Arc::clone(&self.counters)))
    }
}

impl<C> fmt::Debug for Lock<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lock").field("key", self.locker.key()).finish_non_exhaustive()
    }
}
