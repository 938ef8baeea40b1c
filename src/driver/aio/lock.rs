//! A lock that one may try to acquire, and wait for.

use std::fmt;
use std::sync::Arc;

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
use crate::driver::outcome::Attempt;
use crate::driver::replication::Replication;
use crate::driver::session::LockSession;
use crate::driver::undisclaimed::Undisclaimed;
use crate::driver::wait::Wait;
use crate::driver::waiting::{Listener, Waiting};

/// A lock: one protocol on one connection.
#[derive(Clone)]
pub struct Lock<C> {
    connection: Share<C>,
    locker: Arc<dyn Locker>,
    counters: Arc<Counters>,
    listener: Option<ReleaseListener>,
    shadow: Option<Shadow>,
    replication: Option<Replication>,
    undisclaimed: Undisclaimed,
    resends: bool,
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
    /// `MultiplexedConnection` (out of a pool: a clone of it), a `ConnectionManager`, one of [`connect`](crate::connect).
    ///
    /// Protocols with WATCH and MULTI cannot share a connection; trying to acquire ends with
    /// [`ErrorKind::SharedConnection`](crate::driver::ErrorKind) then. Use [`on_own_connection`](Self::on_own_connection).
    pub fn new(connection: C, locker: impl Locker + 'static) -> Self {
        Self::on(Share::Clones(connection), locker)
    }

    /// A lock that speaks the protocol of `locker` over `connection`, of which no other clone is in use, and which is
    /// not a cluster's. Tries, guards and renewals of this lock use it one after another, so that any protocol may run.
    pub fn on_own_connection(connection: C, locker: impl Locker + 'static) -> Self {
        Self::on(Share::Own(Arc::new(SharedConnection::own(connection))), locker)
    }

    /// The same lock, with another one taken beside it whenever it is won: nothing else changes for the caller, and how
    /// often the two disagree is in the shadow's [`summary`](Shadow::summary).
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
    pub fn notified_by(self, listener: &ReleaseListener) -> Self {
        Self { listener: Some(listener.clone()), ..self }
    }

    /// The same lock, acquired only once so many replicas have it: see [`Replication`]. It needs a connection of its own,
    /// to one server: [`on_own_connection`](Self::on_own_connection).
    #[must_use]
    pub fn replicated(self, replication: Replication) -> Self {
        Self { replication: Some(replication), ..self }
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
        let acquiring = Acquiring::begin(self.session(), self.shadow.as_ref())?;
        let began = acquiring.acquisition.began();
        let (acquiring, attempt) = acquiring.attempt(began).await?;
        acquiring.give_up().await;
        attempt
    }

    /// Tries until the lock is won or the waiting time has passed. This future may be dropped at any time, as `try_acquire`'s may.
    ///
    /// An error that may [pass by itself](crate::driver::ErrorKind::is_transient) does not end the wait, nor does a lost
    /// reply, which the protocol has disclaimed if it can: the next try follows after a pause, up to the deadline, or
    /// without a deadline for 30 s of nothing but failures. Where it cannot disclaim, what may have been won is in the way
    /// of the next tries until its lease ends.
    ///
    /// # Errors
    /// As [`try_acquire`](Self::try_acquire).
    pub async fn acquire(&self, wait: &Wait) -> Result<Attempt<Guard<C>>, Error> {
        let mut acquiring = Acquiring::begin(self.session(), self.shadow.as_ref())?;
        let mut waiting = Waiting::begin(wait, self.listener.as_ref(), &acquiring.acquisition);
        let mut now = acquiring.acquisition.began();
        loop {
            while let Some((pause, wake_up)) = waiting.spoken_for(&acquiring.acquisition, now) {
                acquiring.acquisition.await_its_turn();
                self.listener.iter().for_each(ReleaseListener::keep_listening);
                wake_up.wait_async(pause).await;
                now = host::mono();
            }
            let granted = waiting.granted(&acquiring.acquisition);
            if let Some(won) = granted.and_then(|hold| acquiring.take(hold)) {
                return Ok(won);
            }
            waiting.begin_attempt(&mut acquiring.acquisition, now);
            let (tried, attempt) = acquiring.attempt(now).await?;
            acquiring = tried;
            let Some(pause) = waiting.after(&attempt, &acquiring.acquisition) else {
                acquiring.give_up().await;
                return attempt;
            };
            match waiting.wake_up() {
                Some(wake_up) => {
                    self.listener.iter().for_each(ReleaseListener::keep_listening);
                    wake_up.wait_async(pause).await;
                }
                None => host::sleep_async(pause).await,
            }
            now = host::mono();
        }
    }

    /// Asks the server about a hold that may be of no client.
    pub(super) async fn ownership_of(&self, hold: &Hold) -> Result<Ownership, Error> {
        self.session().ownership(hold).await
    }

    /// Whether the lock ends with its lease.
    pub(crate) fn expires(&self) -> bool {
        self.locker.expires()
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
            replication: None,
            undisclaimed: Undisclaimed::default(),
            resends: C::resends(),
        }
    }

    fn session(&self) -> LockSession<SharedConnection<C>> {
        let connection = match &self.connection {
            Share::Clones(connection) => Arc::new(SharedConnection::clone_of(connection.clone())),
            Share::Own(connection) => Arc::clone(connection),
        };
        LockSession {
            connection,
            locker: Arc::clone(&self.locker),
            counters: Arc::clone(&self.counters),
            replication: self.replication,
            undisclaimed: self.undisclaimed.clone(),
            waiters: self.listener.as_ref().map(|listener| Arc::clone(listener.waiters())),
            resends: self.resends,
        }
    }
}

impl<C> fmt::Debug for Lock<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lock").field("key", self.locker.key()).finish_non_exhaustive()
    }
}
