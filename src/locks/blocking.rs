//! The entry point for programs with threads.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use super::attempters::Attempters;
use super::choose::{self, Chosen};
use super::error::{AcquireError, ChooseError, ConnectError, ExtendError, ReleaseError, WithError};
use super::outcome::{extended, for_lease, judge, log_unreleased, released};
use super::pool::{Pool, PooledCarrier};
use super::same_names::{knowledge_of_a_holder, locks_by_name, settings_of_a_lock};
use crate::connect::Server;
use crate::driver::blocking::{self, Guard, ReleaseListener};
use crate::driver::{Loss, Renewal, Replication, Wait};
use crate::lock::Locker;
use crate::wire::Key;

/// The locks on one Redis. Cheap to clone; clones share their connections.
#[derive(Clone)]
pub struct Locks {
    shared: Arc<Shared>,
    replication: Option<Replication>,
}

struct Shared {
    server: Server,
    listener: ReleaseListener,
    /// By how long a server may take to answer: about a third of a short lease.
    pools: Mutex<BTreeMap<Duration, Arc<Pool>>>,
}

impl Locks {
    /// The locks on the Redis at this address: see [`connect`](crate::connect) for what it may name.
    ///
    /// # Errors
    /// [`ConnectError`]: the address is malformed, or the server cannot be reached.
    pub fn connect(address: &str) -> Result<Self, ConnectError> {
        Self::on(&address.parse()?)
    }

    /// The locks on this server, whose timeouts and certificates are set.
    ///
    /// # Errors
    /// [`ConnectError`]: it cannot be reached.
    pub fn on(server: &Server) -> Result<Self, ConnectError> {
        let failed = |source| ConnectError::Connection { server: server.to_string(), source };
        let connection = server.connect().map_err(failed)?;
        let listener = ReleaseListener::finding({
            let server = server.clone();
            move || server.client()
        })?;
        let shared = Shared { server: server.clone(), listener, pools: Mutex::default() };
        let locks = Self { shared: Arc::new(shared), replication: None };
        locks.pool(Duration::MAX).put(connection);
        Ok(locks)
    }

    locks_by_name!();

    /// The same locks, each of which counts as acquired only once so many replicas have it: see [`Replication`] for what
    /// that does not promise. Not on a cluster, where an attempt ends with
    /// [`ErrorKind::SharedConnection`](crate::driver::ErrorKind::SharedConnection).
    ///
    /// ```no_run
    /// # use std::time::Duration;
    /// # fn locks() -> Result<(), Box<dyn std::error::Error>> {
    /// use lockshift::{Locks, driver::Replication};
    ///
    /// let locks = Locks::connect("redis+sentinel://a,b,c/mymaster")?;
    /// let locks = locks.replicated(Replication::to(1, Duration::from_millis(100)));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn replicated(self, replication: Replication) -> Self {
        Self { replication: Some(replication), ..self }
    }

    /// A lock that speaks this protocol, exactly: where its client takes a key of another type for an expired lock, so does
    /// this one. [`legacy`](Self::legacy) and [`protocol`](Self::protocol) protect against that.
    pub fn locker(&self, locker: impl Locker + 'static) -> Lock {
        let pool = self.pool(locker.lease().length());
        let keeps_connection = locker.needs_own_connection() || self.replication.is_some();
        let mut lock =
            blocking::Lock::new(PooledCarrier::new(&pool, keeps_connection), locker).notified_by(&self.shared.listener);
        if let Some(replication) = self.replication {
            lock = lock.replicated(replication);
        }
        Lock { lock, attempters: Attempters::over(pool, keeps_connection), renewal: Some(Renewal::every_third()) }
    }

    /// The connections for locks of this lease.
    fn pool(&self, lease: Duration) -> Arc<Pool> {
        let server = for_lease(&self.shared.server, lease, self.replication);
        let mut pools = self.shared.pools.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(pools.entry(server.response_timeout()).or_insert_with(|| Pool::of(server)))
    }
}

impl fmt::Debug for Locks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Locks({})", self.shared.server)
    }
}

/// A lock on one key. Cheap to clone; clones share it, also between threads, which do not wait for each other's replies.
#[derive(Clone)]
pub struct Lock {
    /// What each of the others is a copy of.
    lock: blocking::Lock<PooledCarrier>,
    attempters: Arc<Attempters>,
    renewal: Option<Renewal>,
}

impl Lock {
    settings_of_a_lock!();

    /// Attempts it once: `None` if another client holds the lock. With a server that hangs this takes [some
    /// seconds](crate::locks#how-long-a-call-takes).
    ///
    /// # Errors
    /// [`AcquireError`], but not [`Timeout`](AcquireError::Timeout).
    pub fn try_acquire(&self) -> Result<Option<Held>, AcquireError> {
        match judge(self.key(), self.attempters.acquire(&self.lock, blocking::Lock::try_acquire)) {
            Ok(guard) => self.held(guard).map(Some),
            Err(AcquireError::Timeout(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Waits for the lock, for this long at most. One last attempt is made at the very end; an attempt under way is not cut
    /// short, its length is bounded by the timeouts of the connection, which may add up to some seconds: see
    /// [`locks`](crate::locks#how-long-a-call-takes).
    ///
    /// # Errors
    /// [`AcquireError`]: another client held it until then, or the server could not be used.
    pub fn acquire_within(&self, at_most: Duration) -> Result<Held, AcquireError> {
        let wait = Wait::notified().for_at_most(at_most);
        let guard = judge(self.key(), self.attempters.acquire(&self.lock, |lock| lock.acquire(&wait)))?;
        self.held(guard)
    }

    /// Waits for the lock for `at_most` this long, does the work, and releases.
    ///
    /// # Errors
    /// [`WithError::Acquire`]: the work was not begun. [`WithError::Lost`]: the lock was lost before the work was done, by the
    /// server's account or because the lease had ended by our own clock, even if no other client came; it may ask
    /// [`Held::is_lost`] to stop early. A release that fails after that is logged: the work was covered.
    pub fn with<T>(&self, at_most: Duration, work: impl FnOnce(&Held) -> T) -> Result<T, WithError> {
        let held = self.acquire_within(at_most)?;
        let done = work(&held);
        if let Some(loss) = held.lost() {
            return Err(WithError::Lost { key: self.key().clone(), loss });
        }
        match held.release() {
            Ok(()) => Ok(done),
            Err(ReleaseError::Lost(key)) => Err(WithError::Lost { key, loss: Loss::Taken }),
            Err(error) => {
                log_unreleased(&error, self.lock.expires());
                Ok(done)
            }
        }
    }

    fn held(&self, mut guard: Guard<PooledCarrier>) -> Result<Held, AcquireError> {
        if let Some(renewal) = &self.renewal {
            guard.renew(renewal.clone())?;
        }
        Ok(Held(guard))
    }
}

impl fmt::Debug for Lock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Lock({})", self.key())
    }
}

/// A lock that is held, and renewed in the background. Dropping it releases the lock, and logs a failure.
#[must_use = "a lock that is dropped is released"]
#[derive(Debug)]
pub struct Held(Guard<PooledCarrier>);

impl Held {
    knowledge_of_a_holder!();

    /// Calls this when the lock is lost, from a thread of its own; not if it is released before.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn on_lost(&self, call: impl FnOnce(Loss) + Send + 'static) -> std::io::Result<()> {
        let watch = self.0.watch();
        thread::Builder::new().name("lockshift-on-lost".into()).spawn(move || watch.wait().map(call)).map(drop)
    }

    /// Calls this when at most `margin` of the lease remains, because no renewal was confirmed, with the time that remains:
    /// zero if the lock is lost at once. From a thread of its own; not if the lock is released before.
    ///
    /// ```no_run
    /// # use std::time::Duration;
    /// # fn work(held: &lockshift::locks::Held, stop: std::sync::mpsc::Sender<()>) -> std::io::Result<()> {
    /// held.on_about_to_be_lost(Duration::from_secs(3), move |_remaining| drop(stop.send(())))?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn on_about_to_be_lost(
        &self,
        margin: Duration,
        call: impl FnOnce(Duration) + Send + 'static,
    ) -> std::io::Result<()> {
        let watch = self.0.watch();
        let warn = move || watch.about_to_be_lost(margin).map(call);
        thread::Builder::new().name("lockshift-on-about-to-be-lost".into()).spawn(warn).map(drop)
    }

    /// Extends the lease by a whole one from now, at once. A renewal does that by itself: this is for a lock
    /// [without one](Lock::without_renewal), and for work that is about to take long.
    ///
    /// # Errors
    /// [`ExtendError`]: the lock is lost, or the server could not be used.
    pub fn extend(&self) -> Result<(), ExtendError> {
        extended(self.key(), self.0.extend())
    }

    /// Releases the lock.
    ///
    /// `Ok` is what the server says: until then the lock was this holder's. Where the server compares what this acquisition
    /// wrote, as with a token, that may be so although [`lost`](Self::lost) says that the lease had ended: by the holder's own
    /// clock it ends a little earlier than on the server, to be safe. [`Lock::with`] judges by that clock as well, and ends
    /// with [`WithError::Lost`] then.
    ///
    /// # Errors
    /// [`ReleaseError`]: it had been lost by the server's account, or the server could not be used.
    pub fn release(self) -> Result<(), ReleaseError> {
        let key = self.key().clone();
        released(&key, self.0.release())
    }
}
