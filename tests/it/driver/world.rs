//! The two worlds behind one face, that of threads: what is written once runs with both drivers.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use lockshift::driver::{Answer, Attempt, Counters, Error, Loss, Renewal, Replication, ShadowSummary, Wait, blocking};
use lockshift::lock::{Extended, Lease, Locker, Ownership, Released};
use lockshift::modern::TokenLock;
use lockshift::wire::Key;
use redis::Client;

use super::losing_replies::{Lossy, Plan};
use crate::server::Server;

/// A driver.
pub(super) trait World: Send + Sized {
    /// A lock that is held.
    type Guard: Debug + Send + 'static;
    /// What hears releases.
    type ReleaseListener: Clone + Send + Sync;
    /// What is taken beside a lock.
    type Shadow: Send;

    /// A lock on `server`, over a connection of its own that may lose replies as `plan` says, but waits for them for
    /// ever.
    fn open_lossy(server: &Server, locker: impl Locker + 'static, plan: Plan) -> Self;

    /// A listener over a connection of this client.
    fn listener(client: Client) -> Self::ReleaseListener;
    /// The same lock, with this release listener.
    fn notified_by(self, releases: &Self::ReleaseListener) -> Self;
    /// The same lock, which so many replicas must have.
    fn replicated(self, replication: Replication) -> Self;
    /// The same lock, with these counters.
    fn counting(self, counters: &Arc<Counters>) -> Self;

    /// A shadow on `server`, over a connection of its own, that is waited for so long.
    fn shadow(server: &Server, locker: impl Locker + 'static, patience: Duration) -> Self::Shadow;
    /// A shadow on `server`, which may not be there yet.
    fn shadow_to_be(server: &Server, locker: impl Locker + 'static) -> Self::Shadow;
    /// The same lock, with this shadow.
    fn shadowed(self, shadow: &Self::Shadow) -> Self;
    fn summary(shadow: &Self::Shadow) -> ShadowSummary;

    fn try_acquire(&self) -> Result<Attempt<Self::Guard>, Error>;
    fn acquire(&self, wait: &Wait) -> Result<Attempt<Self::Guard>, Error>;
    fn ownership(&self, guard: &Self::Guard) -> Result<Ownership, Error>;
    fn extend(&self, guard: &Self::Guard) -> Result<Answer<Extended>, Error>;
    fn renew(&self, guard: &mut Self::Guard, renewal: Renewal);
    fn release(&self, guard: Self::Guard) -> Result<Answer<Released>, Error>;
    fn abandon(&self, guard: Self::Guard);
    fn lost(guard: &Self::Guard) -> Option<Loss>;
    fn left(guard: &Self::Guard) -> Duration;
    fn wait_until_lost(&self, guard: &Self::Guard) -> Option<Loss>;
    fn about_to_be_lost(&self, guard: &Self::Guard, margin: Duration) -> Option<Duration>;

    /// A listener on `server`.
    fn releases(server: &Server) -> Self::ReleaseListener {
        Self::listener(server.client())
    }

    /// A lock on `server`, over a connection of its own.
    fn open(server: &Server, locker: impl Locker + 'static) -> Self {
        Self::open_lossy(server, locker, Plan::default())
    }

    /// The lock, which no client holds.
    fn win(&self) -> Self::Guard {
        match self.try_acquire() {
            Ok(Attempt::Won(guard)) => guard,
            other => panic!("the lock is free, but: {other:?}"),
        }
    }
}

/// A token lock on `k`.
pub(super) fn token(lease: Duration) -> TokenLock {
    token_on("k", lease)
}

/// A token lock on `key`.
pub(super) fn token_on(key: &str, lease: Duration) -> TokenLock {
    TokenLock::new(Key::from(key), Lease::new(lease).unwrap())
}

/// Longer than any test.
pub(super) const AN_HOUR: Duration = Duration::from_secs(3600);

/// A waiter that nothing has woken looks no sooner than after this: what it wins before was announced to it.
pub(super) const BEFORE_A_LOOK: Duration = ms(3500);

/// That many milliseconds.
pub(super) const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// A loss, which a watch of the guard knows as well: what is lost stays lost.
fn as_watched(lost: Option<Loss>, watched: impl FnOnce() -> Option<Loss>) -> Option<Loss> {
    if lost.is_some() {
        assert_eq!(watched(), lost);
    }
    lost
}

/// What is left of a lease by its guard, and by a watch that is asked right after it.
fn less_than_a_minute_before(left: Duration, watched: Duration) -> Duration {
    assert!(watched <= left && left.saturating_sub(watched) < Duration::from_secs(60), "{left:?}, {watched:?}");
    left
}

/// `driver::blocking`.
pub(super) struct Threads(blocking::Lock<Lossy<redis::Connection>>);

impl World for Threads {
    type Guard = blocking::Guard<Lossy<redis::Connection>>;
    type ReleaseListener = blocking::ReleaseListener;
    type Shadow = blocking::Shadow;

    fn open_lossy(server: &Server, locker: impl Locker + 'static, plan: Plan) -> Self {
        Self(blocking::Lock::new(Lossy::new(server.connect(), plan), locker))
    }

    fn listener(client: Client) -> Self::ReleaseListener {
        blocking::ReleaseListener::new(client).unwrap()
    }

    fn notified_by(self, releases: &Self::ReleaseListener) -> Self {
        Self(self.0.notified_by(releases))
    }

    fn replicated(self, replication: Replication) -> Self {
        Self(self.0.replicated(replication))
    }

    fn counting(self, counters: &Arc<Counters>) -> Self {
        let lock = self.0.counting(counters);
        assert!(Arc::ptr_eq(lock.counters(), counters));
        Self(lock)
    }

    fn shadow(server: &Server, locker: impl Locker + 'static, patience: Duration) -> Self::Shadow {
        blocking::Shadow::new(server.connect(), locker).patient_for(patience)
    }

    fn shadow_to_be(server: &Server, locker: impl Locker + 'static) -> Self::Shadow {
        blocking::Shadow::new(server.client(), locker).patient_for(AN_HOUR)
    }

    fn shadowed(self, shadow: &Self::Shadow) -> Self {
        Self(self.0.shadowed(shadow))
    }

    fn summary(shadow: &Self::Shadow) -> ShadowSummary {
        shadow.summary()
    }

    fn try_acquire(&self) -> Result<Attempt<Self::Guard>, Error> {
        self.0.try_acquire()
    }

    fn acquire(&self, wait: &Wait) -> Result<Attempt<Self::Guard>, Error> {
        self.0.acquire(wait)
    }

    fn ownership(&self, guard: &Self::Guard) -> Result<Ownership, Error> {
        guard.ownership()
    }

    fn extend(&self, guard: &Self::Guard) -> Result<Answer<Extended>, Error> {
        guard.extend()
    }

    fn renew(&self, guard: &mut Self::Guard, renewal: Renewal) {
        guard.renew(renewal).unwrap();
    }

    fn release(&self, guard: Self::Guard) -> Result<Answer<Released>, Error> {
        guard.release()
    }

    fn abandon(&self, guard: Self::Guard) {
        guard.abandon();
    }

    fn lost(guard: &Self::Guard) -> Option<Loss> {
        as_watched(guard.lost(), || guard.watch().lost())
    }

    fn left(guard: &Self::Guard) -> Duration {
        less_than_a_minute_before(guard.remaining(), guard.watch().remaining())
    }

    fn wait_until_lost(&self, guard: &Self::Guard) -> Option<Loss> {
        guard.watch().wait()
    }

    fn about_to_be_lost(&self, guard: &Self::Guard, margin: Duration) -> Option<Duration> {
        guard.watch().about_to_be_lost(margin)
    }
}

#[cfg(feature = "tokio")]
pub(super) use tasks::Tasks;

#[cfg(feature = "tokio")]
mod tasks {
    use lockshift::driver::aio;
    use redis::AsyncConnectionConfig;
    use redis::aio::{ConnectionManager, ConnectionManagerConfig, MultiplexedConnection};
    use tokio::runtime::Runtime;

    use super::*;

    /// `driver::aio`, on a runtime of its own.
    pub(in super::super) struct Tasks {
        lock: aio::Lock<Lossy<MultiplexedConnection>>,
        runtime: Runtime,
    }

    /// A shadow, and the runtime on which its connection is read.
    pub(in super::super) struct OnRuntime {
        shadow: aio::Shadow,
        _runtime: Runtime,
    }

    impl Tasks {
        /// Waits for the lock, which another client holds, and drops the future after that long.
        pub(in super::super) fn acquire_for(&self, wait: &Wait, patience: Duration) -> Result<(), String> {
            let waiting = async { ::tokio::time::timeout(patience, self.lock.acquire(wait)).await };
            match self.runtime.block_on(waiting) {
                Err(_elapsed) => Ok(()),
                Ok(ended) => Err(format!("it is held, but: {ended:?}")),
            }
        }
    }

    impl World for Tasks {
        type Guard = aio::Guard<Lossy<MultiplexedConnection>>;
        type ReleaseListener = aio::ReleaseListener;
        type Shadow = OnRuntime;

        fn open_lossy(server: &Server, locker: impl Locker + 'static, plan: Plan) -> Self {
            let runtime = Runtime::new().unwrap();
            let patient = AsyncConnectionConfig::new().set_response_timeout(None);
            let client = server.client();
            let connection = runtime.block_on(client.get_multiplexed_async_connection_with_config(&patient)).unwrap();
            Self { lock: aio::Lock::on_own_connection(Lossy::new(connection, plan), locker), runtime }
        }

        fn listener(client: Client) -> Self::ReleaseListener {
            aio::ReleaseListener::new(client)
        }

        fn notified_by(self, releases: &Self::ReleaseListener) -> Self {
            Self { lock: self.lock.notified_by(releases), ..self }
        }

        fn counting(self, counters: &Arc<Counters>) -> Self {
            let lock = self.lock.counting(counters);
            assert!(Arc::ptr_eq(lock.counters(), counters));
            Self { lock, ..self }
        }

        fn replicated(self, replication: Replication) -> Self {
            Self { lock: self.lock.replicated(replication), ..self }
        }

        fn shadow(server: &Server, locker: impl Locker + 'static, patience: Duration) -> Self::Shadow {
            let runtime = Runtime::new().unwrap();
            let patient = AsyncConnectionConfig::new().set_response_timeout(None);
            let client = server.client();
            let connection = runtime.block_on(client.get_multiplexed_async_connection_with_config(&patient)).unwrap();
            let shadow = aio::Shadow::new(connection, locker).patient_for(patience);
            OnRuntime { shadow, _runtime: runtime }
        }

        fn shadow_to_be(server: &Server, locker: impl Locker + 'static) -> Self::Shadow {
            let runtime = Runtime::new().unwrap();
            let hasty = ConnectionManagerConfig::new().set_number_of_retries(0);
            let inside = runtime.enter();
            let connection = ConnectionManager::new_lazy_with_config(server.client(), hasty).unwrap();
            let shadow = aio::Shadow::new(connection, locker).patient_for(AN_HOUR);
            drop(inside);
            OnRuntime { shadow, _runtime: runtime }
        }

        fn shadowed(self, shadow: &Self::Shadow) -> Self {
            Self { lock: self.lock.shadowed(&shadow.shadow), ..self }
        }

        fn summary(shadow: &Self::Shadow) -> ShadowSummary {
            shadow.shadow.summary()
        }

        fn try_acquire(&self) -> Result<Attempt<Self::Guard>, Error> {
            self.runtime.block_on(self.lock.try_acquire())
        }

        fn acquire(&self, wait: &Wait) -> Result<Attempt<Self::Guard>, Error> {
            self.runtime.block_on(self.lock.acquire(wait))
        }

        fn ownership(&self, guard: &Self::Guard) -> Result<Ownership, Error> {
            self.runtime.block_on(guard.ownership())
        }

        fn extend(&self, guard: &Self::Guard) -> Result<Answer<Extended>, Error> {
            self.runtime.block_on(guard.extend())
        }

        fn renew(&self, guard: &mut Self::Guard, renewal: Renewal) {
            self.runtime.block_on(guard.renew(renewal));
        }

        fn release(&self, guard: Self::Guard) -> Result<Answer<Released>, Error> {
            self.runtime.block_on(guard.release())
        }

        fn abandon(&self, guard: Self::Guard) {
            self.runtime.block_on(guard.abandon());
        }

        fn lost(guard: &Self::Guard) -> Option<Loss> {
            as_watched(guard.lost(), || guard.watch().lost())
        }

        fn left(guard: &Self::Guard) -> Duration {
            less_than_a_minute_before(guard.remaining(), guard.watch().remaining())
        }

        fn wait_until_lost(&self, guard: &Self::Guard) -> Option<Loss> {
            self.runtime.block_on(guard.watch().wait())
        }

        fn about_to_be_lost(&self, guard: &Self::Guard, margin: Duration) -> Option<Duration> {
            self.runtime.block_on(guard.watch().about_to_be_lost(margin))
        }
    }
}

/// Plays each of these functions over a `World` as a test in both.
macro_rules! in_both_worlds {
    ($($story:ident),* $(,)?) => {
        mod threads {
            $(#[test] fn $story() { super::$story::<crate::driver::world::Threads>() })*
        }
        #[cfg(feature = "tokio")]
        mod tasks {
            $(#[test] fn $story() { super::$story::<crate::driver::world::Tasks>() })*
        }
    };
}
pub(super) use in_both_worlds;
