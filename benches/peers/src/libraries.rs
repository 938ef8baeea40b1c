//! The libraries of this language.

use std::time::Duration;

use distkit::DistkitRedisKey;
use distributed_lock_core::{DistributedLock, LockHandle};
use distributed_lock_redis::{RedisDistributedLock, RedisLockProvider};
use lockshift::bridge::Bridge;
use lockshift::driver::aio::ReleaseListener;
use lockshift::driver::{Attempt, Wait, aio, blocking};
use lockshift::legacy;
use lockshift::lock::{Lease, Locker, Mode};
use lockshift::modern::{FairLock, Publish, ReadWriteLock, TokenLock};
use lockshift::wire::Key;
use redis::aio::{ConnectionManager, MultiplexedConnection};
use redis::{Client, Script, cmd};

use crate::library::{LEASE, Library, Lock, Side};

const FOREVER: Duration = Duration::from_secs(3600);

fn lease() -> Lease {
    Lease::new(LEASE).expect("it is in bounds")
}

/// The two commands of the plain lock, by hand. It does not wait.
pub(crate) struct Bare(pub(crate) MultiplexedConnection);

pub(crate) struct BareLock(MultiplexedConnection, String, Script);

const DELETE: &str =
    r#"if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) else return 0 end"#;

fn set(key: &str) -> redis::Cmd {
    let mut set = cmd("SET");
    set.arg(key).arg("0123456789abcdef0123456789abcdef").arg("NX").arg("PX").arg(30_000);
    set
}

impl Library for Bare {
    type Lock = BareLock;

    fn lock(&self, key: &str, side: Side) -> Option<BareLock> {
        (side == Side::Exclusive).then(|| BareLock(self.0.clone(), key.to_owned(), Script::new(DELETE)))
    }
}

impl Lock for BareLock {
    type Held = (MultiplexedConnection, String, Script);

    async fn acquire(&self) -> Self::Held {
        let mut connection = self.0.clone();
        assert_eq!(set(&self.1).query_async(&mut connection).await, Ok(true), "no other client wants it");
        (connection, self.1.clone(), self.2.clone())
    }

    async fn release((mut connection, key, script): Self::Held) {
        let deleted = script.key(key).arg("0123456789abcdef0123456789abcdef").invoke_async(&mut connection).await;
        assert_eq!(deleted, Ok(1));
    }
}

/// The same, blocking.
pub(crate) struct BareBlocking(pub(crate) Client);

pub(crate) struct BareBlockingLock(std::sync::Mutex<redis::Connection>, String, Script);

impl Library for BareBlocking {
    type Lock = BareBlockingLock;

    fn lock(&self, key: &str, side: Side) -> Option<BareBlockingLock> {
        let connection = self.0.get_connection().expect("the server accepts connections");
        (side == Side::Exclusive)
            .then(|| BareBlockingLock(std::sync::Mutex::new(connection), key.to_owned(), Script::new(DELETE)))
    }

    const BLOCKS: bool = true;
}

impl Lock for BareBlockingLock {
    type Held = ();

    // Acquires and releases: the two do not wait for anything else.
    async fn acquire(&self) {
        let connection = &mut *self.0.lock().expect("no other thread panics");
        assert_eq!(set(&self.1).query(connection), Ok(true), "no other client wants it");
        let deleted = self.2.key(&self.1).arg("0123456789abcdef0123456789abcdef").invoke(connection);
        assert_eq!(deleted, Ok(1));
    }

    async fn release((): ()) {}
}

/// How a lock of this project waits, and by which protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Token,
    Notified,
    Fair,
    Legacy,
    Bridge,
}

/// This project, by its driver for tasks over this connection.
pub(crate) struct Lockshift<C> {
    pub(crate) kind: Kind,
    pub(crate) connection: C,
    pub(crate) listener: ReleaseListener,
}

pub(crate) struct LockshiftLock<C>(aio::Lock<C>, Wait);

impl<C> Lockshift<C> {
    fn locker(&self, key: &str, side: Side) -> Box<dyn Locker> {
        let key = Key::from(key);
        let old = || legacy::find("php-getset").expect("it is in the catalogue");
        let read_write = |mode| -> Box<dyn Locker> {
            Box::new(ReadWriteLock::new(key.clone(), mode, lease()).announced(Publish::Everywhere))
        };
        match (side, self.kind) {
            (Side::Read, _) => read_write(Mode::Shared),
            (Side::Write, _) => read_write(Mode::Exclusive),
            (Side::Exclusive, Kind::Token) => Box::new(TokenLock::new(key, lease())),
            (Side::Exclusive, Kind::Notified) => Box::new(TokenLock::new(key, lease()).announced(Publish::Everywhere)),
            (Side::Exclusive, Kind::Fair) => Box::new(FairLock::new(key, lease())),
            (Side::Exclusive, Kind::Legacy) => Box::new(legacy::Lock::new(old(), key, lease())),
            (Side::Exclusive, Kind::Bridge) => Box::new(Bridge::new(&[old()], key, lease()).expect("it has a bridge")),
        }
    }
}

impl<C: aio::Carrier + Clone + Sync + 'static> Library for Lockshift<C> {
    type Lock = LockshiftLock<C>;

    fn lock(&self, key: &str, side: Side) -> Option<Self::Lock> {
        let wait = match self.kind {
            Kind::Token | Kind::Legacy | Kind::Bridge => Wait::backoff(),
            Kind::Notified | Kind::Fair => Wait::notified(),
        };
        let locker: std::sync::Arc<dyn Locker> = self.locker(key, side).into();
        let lock = aio::Lock::new(self.connection.clone(), locker).notified_by(&self.listener);
        Some(LockshiftLock(lock, wait.for_at_most(FOREVER)))
    }
}

impl<C: aio::Carrier + Clone + Sync + 'static> Lock for LockshiftLock<C> {
    type Held = aio::Guard<C>;

    async fn acquire(&self) -> Self::Held {
        match self.0.acquire(&self.1).await {
            Ok(Attempt::Won(guard)) => guard,
            other => panic!("{other:?}"),
        }
    }

    async fn release(guard: Self::Held) {
        drop(guard.release().await.expect("the server replies"));
    }
}

/// This project, by its entry point: a connection that opens anew, renewal, and notified waiters.
pub(crate) struct Locks(pub(crate) lockshift::aio::Locks);

impl Library for Locks {
    type Lock = lockshift::aio::Lock;

    fn lock(&self, key: &str, side: Side) -> Option<Self::Lock> {
        (side == Side::Exclusive).then(|| self.0.token(key, LEASE).expect("the lease is in bounds"))
    }
}

impl Lock for lockshift::aio::Lock {
    type Held = lockshift::aio::Held;

    async fn acquire(&self) -> Self::Held {
        self.acquire_within(FOREVER).await.expect("the server replies")
    }

    async fn release(held: Self::Held) {
        held.release().await.expect("the server replies");
    }
}

/// This project, by its driver for threads.
pub(crate) struct LockshiftBlocking(pub(crate) Client);

impl Library for LockshiftBlocking {
    type Lock = blocking::Lock<redis::Connection>;

    const BLOCKS: bool = true;

    fn lock(&self, key: &str, side: Side) -> Option<Self::Lock> {
        let connection = self.0.get_connection().expect("the server accepts connections");
        (side == Side::Exclusive).then(|| blocking::Lock::new(connection, TokenLock::new(Key::from(key), lease())))
    }
}

impl Lock for blocking::Lock<redis::Connection> {
    type Held = blocking::Guard<redis::Connection>;

    async fn acquire(&self) -> Self::Held {
        match self.acquire(&Wait::backoff().for_at_most(FOREVER)) {
            Ok(Attempt::Won(guard)) => guard,
            other => panic!("{other:?}"),
        }
    }

    async fn release(guard: Self::Held) {
        drop(guard.release().expect("the server replies"));
    }
}

pub(crate) struct Rslock(pub(crate) rslock::LockManager);

pub(crate) struct RslockLock(rslock::LockManager, String);

impl Library for Rslock {
    type Lock = RslockLock;

    fn lock(&self, key: &str, side: Side) -> Option<RslockLock> {
        (side == Side::Exclusive).then(|| RslockLock(self.0.clone(), key.to_owned()))
    }
}

impl Lock for RslockLock {
    type Held = rslock::LockGuard;

    async fn acquire(&self) -> Self::Held {
        self.0.acquire(self.1.as_bytes(), LEASE).await.expect("the lease is in bounds")
    }

    async fn release(guard: Self::Held) {
        guard.release().await;
    }
}

pub(crate) struct Redlock(pub(crate) &'static redlock::RedLock);

pub(crate) struct RedlockLock(&'static redlock::RedLock, String);

impl Library for Redlock {
    type Lock = RedlockLock;

    const BLOCKS: bool = true;

    fn lock(&self, key: &str, side: Side) -> Option<RedlockLock> {
        (side == Side::Exclusive).then(|| RedlockLock(self.0, key.to_owned()))
    }
}

impl Lock for RedlockLock {
    type Held = redlock::RedLockGuard<'static>;

    async fn acquire(&self) -> Self::Held {
        self.0.acquire(self.1.as_bytes(), 30_000).expect("the server replies")
    }

    async fn release(guard: Self::Held) {
        drop(guard);
    }
}

pub(crate) struct Distkit(pub(crate) ConnectionManager);

pub(crate) enum DistkitLock {
    Mutex(std::sync::Arc<distkit::lock::Mutex>),
    Rw(std::sync::Arc<distkit::lock::RwLock>, Side),
}

pub(crate) enum DistkitHeld {
    Mutex(distkit::lock::MutexGuard),
    Read(distkit::lock::RwLockReadGuard),
    Write(distkit::lock::RwLockWriteGuard),
}

impl Library for Distkit {
    type Lock = DistkitLock;

    fn lock(&self, key: &str, side: Side) -> Option<DistkitLock> {
        let key = DistkitRedisKey::new_or_panic(key.to_owned());
        let options = distkit::lock::LockOptions::new(key, self.0.clone());
        Some(match side {
            Side::Exclusive => DistkitLock::Mutex(distkit::lock::Mutex::new(options)),
            Side::Read | Side::Write => DistkitLock::Rw(distkit::lock::RwLock::new(options), side),
        })
    }
}

impl Lock for DistkitLock {
    type Held = DistkitHeld;

    async fn acquire(&self) -> DistkitHeld {
        let held = match self {
            Self::Mutex(mutex) => mutex.lock().await.map(DistkitHeld::Mutex),
            Self::Rw(lock, Side::Read) => lock.read().await.map(DistkitHeld::Read),
            Self::Rw(lock, _) => lock.write().await.map(DistkitHeld::Write),
        };
        held.expect("the server replies")
    }

    async fn release(held: DistkitHeld) {
        let released = match held {
            DistkitHeld::Mutex(guard) => guard.release().await,
            DistkitHeld::Read(guard) => guard.release().await,
            DistkitHeld::Write(guard) => guard.release().await,
        };
        released.expect("the server replies");
    }
}

pub(crate) struct DistributedLockRedis(pub(crate) RedisLockProvider);

impl Library for DistributedLockRedis {
    type Lock = RedisDistributedLock;

    fn lock(&self, key: &str, side: Side) -> Option<Self::Lock> {
        use distributed_lock_core::LockProvider;
        (side == Side::Exclusive).then(|| self.0.create_lock(key))
    }
}

impl Lock for RedisDistributedLock {
    type Held = <RedisDistributedLock as DistributedLock>::Handle;

    async fn acquire(&self) -> Self::Held {
        DistributedLock::acquire(self, None).await.expect("the server replies")
    }

    async fn release(held: Self::Held) {
        held.release().await.expect("the server replies");
    }
}

/// The key that the waiters of the queue wait for.
pub(crate) fn queue(
    connection: MultiplexedConnection,
    listener: &ReleaseListener,
    key: &str,
) -> aio::Lock<MultiplexedConnection> {
    // Places are kept for as long as the lease.
    let place = lease();
    aio::Lock::new(connection, FairLock::new(Key::from(key), lease()).keeping_places_for(place)).notified_by(listener)
}
