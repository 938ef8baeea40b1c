//! The entry point for async programs: the names of the crate's front page, for tasks of a tokio runtime.
//!
//! ```no_run
//! use std::time::Duration;
//! use lockshift::aio::Locks;
//!
//! # async fn ship(_: Option<u64>) {}
//! # async fn report() {}
//! # async fn job() -> Result<(), Box<dyn std::error::Error>> {
//! let locks = Locks::connect("redis://127.0.0.1/").await?;
//! let lock = locks.token("report", Duration::from_secs(10))?;
//! // Acquires within 5 s, renews, releases. If the lock is lost, the work is dropped where it stands.
//! lock.with(Duration::from_secs(5), async |_| report().await).await?;
//!
//! // The same with a fence: a number that the warehouse compares, so that it refuses a holder that comes too late.
//! let lock = locks.protocol("token-fenced", "orders:42", Duration::from_secs(10))?;
//! lock.with(Duration::from_secs(5), async |held| ship(held.fence()).await).await?;
//! # Ok(())
//! # }
//! ```
//!
//! Every future may be dropped at any point: what was won is released, and what was begun on the server is carried to
//! its end, by a task on the runtime where it was begun. If that runtime is shut down before, or is never run again, the task does
//! not end, and the lease ends the lock. So the last lock of a program is released by [`Lock::with`], or by
//! [`release().await`](Held::release), before `block_on` returns.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::choose::{self, Chosen};
use super::error::{AcquireError, ChooseError, ConnectError, ExtendError, ReleaseError, WithError};
use super::outcome::{extended, for_lease, judge, log_unreleased, released};
use super::same_names::{knowledge_of_a_holder, locks_by_name, settings_of_a_lock};
use crate::connect::Server;
use crate::connect::aio::{Batching, Connection};
use crate::driver::aio::{self, Guard, ReleaseListener};
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
    connections: Mutex<BTreeMap<Duration, Connection>>,
}

impl Locks {
    /// The locks on the Redis at this address: see [`connect`](crate::connect) for what it may name.
    ///
    /// # Errors
    /// [`ConnectError`]: the address is malformed, or the server cannot be reached.
    pub async fn connect(address: &str) -> Result<Self, ConnectError> {
        Self::on(&address.parse()?).await
    }

    /// The locks on this server, whose timeouts and certificates are set.
    ///
    /// # Errors
    /// [`ConnectError`]: it cannot be reached.
    pub async fn on(server: &Server) -> Result<Self, ConnectError> {
        let failed = |source| ConnectError::Connection { server: server.to_string(), source };
        let connection = server.connect_async().await.map_err(failed)?;
        let listener = ReleaseListener::finding({
            let server = server.clone();
            // A new connection, which asks anew which server is the master.
            move || {
                let found = Connection::to(&server);
                async move { found.client().await }
            }
        });
        let connections = Mutex::new(BTreeMap::from([(server.response_timeout(), connection)]));
        let shared = Shared { server: server.clone(), listener, connections };
        Ok(Self { shared: Arc::new(shared), replication: None })
    }

    locks_by_name!();

    /// The same locks, each of which counts as acquired only once so many replicas have it: see [`Replication`] for what
    /// that does not promise. Not on a cluster, where an attempt ends with
    /// [`ErrorKind::SharedConnection`](crate::driver::ErrorKind::SharedConnection).
    ///
    /// ```no_run
    /// # use std::time::Duration;
    /// # async fn locks() -> Result<(), Box<dyn std::error::Error>> {
    /// use lockshift::{aio::Locks, driver::Replication};
    ///
    /// let locks = Locks::connect("redis+sentinel://a,b,c/mymaster").await?;
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
        let server = for_lease(&self.shared.server, locker.lease().length(), self.replication);
        let needs_own = locker.needs_own_connection() || self.replication.is_some();
        let mut lock = if needs_own && !server.is_cluster() {
            aio::Lock::on_own_connection(Connection::to(&server).batching(), locker)
        } else {
            aio::Lock::new(self.connection(server).batching(), locker)
        };
        if let Some(replication) = self.replication {
            lock = lock.replicated(replication);
        }
        Lock { lock: lock.notified_by(&self.shared.listener), renewal: Some(Renewal::every_third()) }
    }

    /// The connection for locks with these timeouts.
    fn connection(&self, server: Server) -> Connection {
        let mut connections = self.shared.connections.lock().unwrap_or_else(PoisonError::into_inner);
        connections.entry(server.response_timeout()).or_insert_with(|| Connection::to(&server)).clone()
    }
}

impl fmt::Debug for Locks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Locks({})", self.shared.server)
    }
}

/// A lock on one key. Cheap to clone; clones share it.
#[derive(Clone)]
pub struct Lock {
    lock: aio::Lock<Batching>,
    renewal: Option<Renewal>,
}

impl Lock {
    settings_of_a_lock!();

    /// Attempts it once: `None` if another client holds the lock. With a server that hangs this takes [some
    /// seconds](crate::locks#how-long-a-call-takes).
    ///
    /// # Errors
    /// [`AcquireError`], but not [`Timeout`](AcquireError::Timeout).
    pub async fn try_acquire(&self) -> Result<Option<Held>, AcquireError> {
        match judge(self.key(), self.lock.try_acquire().await) {
            Ok(guard) => Ok(Some(self.held(guard).await)),
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
    pub async fn acquire_within(&self, at_most: Duration) -> Result<Held, AcquireError> {
        let guard = judge(self.key(), self.lock.acquire(&Wait::notified().for_at_most(at_most)).await)?;
        Ok(self.held(guard).await)
    }

    /// Waits for the lock for `at_most` this long, does the work, and releases. If the lock is lost, the work is dropped
    /// where it stands.
    ///
    /// # Errors
    /// [`WithError::Acquire`]: the work was not begun. [`WithError::Lost`]: the lock was lost before the work was done, by the
    /// server's account or because the lease had ended by our own clock, even if no other client came. A release that fails after
    /// that is logged: the work was covered.
    pub async fn with<T>(&self, at_most: Duration, work: impl AsyncFnOnce(&Held) -> T) -> Result<T, WithError> {
        let held = self.acquire_within(at_most).await?;
        let watch = held.0.watch();
        let lost = |loss| WithError::Lost { key: self.key().clone(), loss };
        let done = tokio::select! {
            biased;
            Some(loss) = watch.wait() => return Err(lost(loss)),
            done = work(&held) => done,
        };
        if let Some(loss) = held.lost() {
            return Err(lost(loss));
        }
        match held.release().await {
            Ok(()) => Ok(done),
            Err(ReleaseError::Lost(_)) => Err(lost(Loss::Taken)),
            Err(error) => {
                log_unreleased(&error, self.lock.expires());
                Ok(done)
            }
        }
    }

    async fn held(&self, mut guard: Guard<Batching>) -> Held {
        if let Some(renewal) = &self.renewal {
            guard.renew(renewal.clone()).await;
        }
        Held(guard)
    }
}

impl fmt::Debug for Lock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Lock({})", self.key())
    }
}

/// A lock that is held, and renewed in the background.
///
/// Dropping it, on whatever thread, leaves the release to a task on the runtime where the lock was acquired, and logs a failure. If
/// that runtime is shut down before, as at the end of `main`, or is not run any more, as a current-thread runtime whose `block_on`
/// has returned, the lease ends the lock: use [`Lock::with`], or [`release`](Self::release) and await it.
#[must_use = "a lock that is dropped is released"]
#[derive(Debug)]
pub struct Held(Guard<Batching>);

impl Held {
    knowledge_of_a_holder!();

    /// Ends when the lock is lost; never, if it is released before.
    pub fn on_lost(&self) -> impl Future<Output = Loss> + Send + use<> {
        let watch = self.0.watch();
        async move {
            match watch.wait().await {
                Some(loss) => loss,
                None => std::future::pending().await,
            }
        }
    }

    /// Ends when at most `margin` of the lease remains, because no renewal was confirmed, with the time that remains: zero if
    /// the lock is lost at once. Never, if it is released before.
    ///
    /// ```no_run
    /// # use std::time::Duration;
    /// # async fn step() {}
    /// # async fn work(held: &lockshift::aio::Held) {
    /// let warning = held.on_about_to_be_lost(Duration::from_secs(3));
    /// tokio::select! {
    ///     () = step() => {}
    ///     remaining = warning => eprintln!("{remaining:?} remain to bring the work to a safe end"),
    /// }
    /// # }
    /// ```
    pub fn on_about_to_be_lost(&self, margin: Duration) -> impl Future<Output = Duration> + Send + use<> {
        let watch = self.0.watch();
        async move {
            match watch.about_to_be_lost(margin).await {
                Some(remaining) => remaining,
                None => std::future::pending().await,
            }
        }
    }

    /// Extends the lease by a whole one from now, at once. A renewal does that by itself: this is for a lock
    /// [without one](Lock::without_renewal), and for work that is about to take long.
    ///
    /// # Errors
    /// [`ExtendError`]: the lock is lost, or the server could not be used.
    pub async fn extend(&self) -> Result<(), ExtendError> {
        extended(self.key(), self.0.extend().await)
    }

    /// Releases the lock. Dropping this future does not stop it.
    ///
    /// `Ok` is what the server says: until then the lock was this holder's. Where the server compares what this acquisition
    /// wrote, as with a token, that may be so although [`lost`](Self::lost) says that the lease had ended: by the holder's own
    /// clock it ends a little earlier than on the server, to be safe. [`Lock::with`] judges by that clock as well, and ends
    /// with [`WithError::Lost`] then.
    ///
    /// # Errors
    /// [`ReleaseError`]: it had been lost by the server's account, or the server could not be used.
    pub async fn release(self) -> Result<(), ReleaseError> {
        let key = self.key().clone();
        released(&key, self.0.release().await)
    }
}
