//! The entry point for programs with threads.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use super::choose::{self, Chosen};
use super::error::{AcquireError, ChooseError, ConnectError, ReleaseError, WithError};
use super::outcome::{Next, judge, released};
use super::pool::{Pool, PooledCarrier};
use crate::connect::Server;
use crate::driver::blocking::{self, Guard, ReleaseListener};
use crate::driver::{Loss, Renewal, Wait, host};
use crate::lock::Locker;
use crate::wire::Key;

/// The locks on one Redis. Cheap to clone; clones share their connections.
#[derive(Clone)]
pub struct Locks(Arc<Shared>);

struct Shared {
    server: Server,
    listener: ReleaseListener,
    /// By how long a server may take to answer: a third of a short lease.
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
        let listener = ReleaseListener::new(server.client().map_err(failed)?)?;
        let locks = Self(Arc::new(Shared { server: server.clone(), listener, pools: Mutex::default() }));
        locks.pool(Duration::MAX).put(connection);
        Ok(locks)
    }

    /// A lock that only its holder can release, and whose release is announced to those who wait. Holders and waiters are
    /// token locks of this library; for the plain lock that other libraries share (`SET key token NX PX`), use
    /// [`protocol`](Self::protocol) with the name `token`.
    ///
    /// # Errors
    /// [`ChooseError::Lease`].
    pub fn token(&self, key: impl Into<Key>, lease: Duration) -> Result<Lock, ChooseError> {
        self.chosen(choose::token(key.into(), lease))
    }

    /// A token lock that is acquired in the order of arrival.
    ///
    /// # Errors
    /// [`ChooseError::Lease`].
    pub fn fair(&self, key: impl Into<Key>, lease: Duration) -> Result<Lock, ChooseError> {
        self.chosen(choose::fair(key.into(), lease))
    }

    /// A timestamp lock as this old client speaks it: a name of `lockshift protocols`, such as `php-getset`.
    ///
    /// # Errors
    /// [`ChooseError`]: there is no such lock, or the lease is impossible.
    pub fn legacy(&self, name: &str, key: impl Into<Key>, lease: Duration) -> Result<Lock, ChooseError> {
        self.chosen(choose::legacy(name, key.into(), lease))
    }

    /// A lock that the old clients of these dialects respect, and new clients on the [new
    /// key](crate::bridge::new_key).
    ///
    /// # Errors
    /// [`ChooseError`]: no bridge keeps that fleet out, or the lease is impossible.
    pub fn bridge(&self, fleet: &[&str], key: impl Into<Key>, lease: Duration) -> Result<Lock, ChooseError> {
        self.chosen(choose::bridge(fleet, key.into(), lease))
    }

    /// A lock by its name in `lockshift protocols`, with options: `token-fenced`, `redisson,kind=fair`.
    ///
    /// # Errors
    /// [`ChooseError`]: there is no such lock, it needs several servers, or the lease is impossible.
    pub fn protocol(&self, name: &str, key: impl Into<Key>, lease: Duration) -> Result<Lock, ChooseError> {
        self.chosen(choose::protocol(name, key.into(), lease))
    }

    /// A lock that speaks this protocol.
    pub fn locker(&self, locker: impl Locker + 'static) -> Lock {
        let pool = self.pool(locker.lease().length());
        let carrier = PooledCarrier::new(&pool, locker.needs_own_connection());
        let lock = blocking::Lock::new(carrier, locker).hearing(&self.0.listener);
        Lock { lock, renewal: Some(Renewal::every_third()) }
    }

    fn chosen(&self, chosen: Chosen) -> Result<Lock, ChooseError> {
        chosen.map(|locker| self.locker(locker))
    }

    /// The connections for locks of this lease.
    fn pool(&self, lease: Duration) -> Arc<Pool> {
        let server = self.0.server.clone().for_lease(lease);
        let mut pools = self.0.pools.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(pools.entry(server.response_timeout()).or_insert_with(|| Pool::of(server)))
    }
}

impl fmt::Debug for Locks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Locks({})", self.0.server)
    }
}

/// A lock on one key. Cheap to clone; clones share it.
#[derive(Clone)]
pub struct Lock {
    lock: blocking::Lock<PooledCarrier>,
    renewal: Option<Renewal>,
}

impl Lock {
    /// The same, renewed for no longer than this: work that hangs does not hold the lock for ever.
    #[must_use]
    pub fn held_for_at_most(self, at_most: Duration) -> Self {
        Self { renewal: Some(Renewal::every_third().for_at_most(at_most)), ..self }
    }

    /// The same, held for one lease and not renewed.
    #[must_use]
    pub fn without_renewal(self) -> Self {
        Self { renewal: None, ..self }
    }

    /// The key that contenders share.
    pub fn key(&self) -> &Key {
        self.lock.key()
    }

    /// Attempts it once: `None` if another client holds the lock.
    ///
    /// # Errors
    /// [`AcquireError`], but not [`Timeout`](AcquireError::Timeout).
    pub fn try_acquire(&self) -> Result<Option<Held>, AcquireError> {
        match judge(self.key(), self.lock.try_acquire(), true) {
            Next::Hold(guard) => self.held(guard).map(Some),
            Next::Fail(AcquireError::Timeout(_)) | Next::Again => Ok(None),
            Next::Fail(error) => Err(error),
        }
    }

    /// Waits for the lock, for this long at most.
    ///
    /// # Errors
    /// [`AcquireError`]: another client held it until then, or the server could not be used.
    pub fn acquire_within(&self, at_most: Duration) -> Result<Held, AcquireError> {
        let deadline = host::mono().saturating_add(at_most);
        loop {
            let left = deadline.saturating_since(host::mono());
            let attempt = self.lock.acquire(&Wait::notified().for_at_most(left));
            match judge(self.key(), attempt, host::mono() >= deadline) {
                Next::Hold(guard) => return self.held(guard),
                Next::Again => {}
                Next::Fail(error) => return Err(error),
            }
        }
    }

    /// Waits for the lock for `at_most` this long, does the work, and releases.
    ///
    /// # Errors
    /// [`WithError::Acquire`]: the work was not begun. [`WithError::Lost`]: the lock was lost before the work was done; it
    /// may ask [`Held::is_lost`] to stop early. A release that fails after that is logged: the work was covered.
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
                log::warn!(target: "lockshift::locks", "{error}: its lease ends the lock");
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
    /// The key that contenders share.
    pub fn key(&self) -> &Key {
        self.0.key()
    }

    /// A number that grows with every acquisition, where the protocol has one: `token-fenced`, fenced bridges.
    pub fn fence(&self) -> Option<u64> {
        self.0.hold().fence
    }

    /// For how long the holder may still work if no renewal succeeds: zero once the lock is lost. Asks no server.
    pub fn remaining(&self) -> Duration {
        self.0.remaining()
    }

    /// Whether the lock is lost. Asks no server.
    pub fn is_lost(&self) -> bool {
        self.lost().is_some()
    }

    /// How the lock was lost, if it was.
    pub fn lost(&self) -> Option<Loss> {
        self.0.lost()
    }

    /// Calls this when the lock is lost, from a thread of its own; not if it is released before.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn on_lost(&self, call: impl FnOnce(Loss) + Send + 'static) -> std::io::Result<()> {
        let watch = self.0.watch();
        thread::Builder::new().name("lockshift-on-lost".into()).spawn(move || watch.wait().map(call)).map(drop)
    }

    /// Releases the lock.
    ///
    /// # Errors
    /// [`ReleaseError`]: it had been lost, or the server could not be used.
    pub fn release(self) -> Result<(), ReleaseError> {
        let key = self.key().clone();
        released(&key, self.0.release())
    }
}
