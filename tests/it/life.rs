//! The life of a lock, of every protocol: acquired, refused to another thread, extended if it can be, released, acquired
//! by a third.

use std::sync::Arc;
use std::time::Duration;

use lockshift::driver::{Answer, Attempt, Error, ErrorKind, blocking};
use lockshift::lock::{Extended, Lease, Locker, Mode, Released};
use lockshift::wire::Key;

use crate::patience::{until, wall};
use crate::protocols;

/// Old dialects whose release deletes nothing: another key, or none at all. See `contract`.
const NEVER_RELEASED: [&str; 2] = ["spring-redis-callback", "l2met"];

/// An old dialect that wins whenever it raises the stamp, which counts seconds: it is refused until the next one begins.
const WINS_EVERY_SECOND: &str = "l2met";

/// A way to make locks: over which driver and connections.
pub(crate) trait Locks {
    type Lock;
    type Guard;

    fn lock(&self, locker: Arc<dyn Locker>) -> Self::Lock;
    fn try_acquire(&self, lock: &Self::Lock) -> Result<Attempt<Self::Guard>, Error>;
    fn extend(&self, guard: &Self::Guard) -> Result<Answer<Extended>, Error>;
    fn release(&self, guard: Self::Guard) -> Result<Answer<Released>, Error>;
}

/// Lets two of each protocol meet, each on a connection and under a key of its own. Those that are `refused` must say
/// that they cannot use the connection. Hands back what went otherwise, a line each.
pub(crate) fn lives<L: Locks + Sync>(locks: &L, prefix: &str, refused: impl Fn(&dyn Locker) -> bool) -> Vec<String> {
    let lease = Lease::new(Duration::from_secs(600)).expect("ten minutes are a lease");
    let mut stories = Vec::new();
    for (place, (name, _)) in protocols::every(&Key::from(""), lease).into_iter().enumerate() {
        // In braces: old dialects have further keys that know nothing of slots.
        let key = Key::new(format!("{{{prefix} {place}}}"));
        let locker = Arc::clone(&protocols::every(&key, lease)[place].1);
        let result = if refused(&*locker) { meet_refusal(locks, &locker) } else { life(locks, &name, &locker) };
        stories.extend(result.err().map(|story| format!("{name}: {story}")));
    }
    stories
}

fn meet_refusal<L: Locks>(locks: &L, locker: &Arc<dyn Locker>) -> Result<(), String> {
    match locks.try_acquire(&locks.lock(Arc::clone(locker))) {
        Err(error) if error.kind() == ErrorKind::SharedConnection => {
            assert!(error.to_string().contains("WATCH and MULTI: give it a connection of its own, to one server"));
            Ok(())
        }
        Err(error) => Err(format!("refused for another reason: {error}")),
        Ok(_) => Err("not refused".to_owned()),
    }
}

/// The life of one of them, by its name.
pub(crate) fn life<L: Locks + Sync>(locks: &L, name: &str, locker: &Arc<dyn Locker>) -> Result<(), String> {
    let guard = meet(locks, name, locker)?;
    match locks.extend(&guard) {
        Ok(Answer::Known(Extended::Until(_) | Extended::Unsupported)) => {}
        Ok(Answer::Known(other)) if locker.mode() == Mode::Exclusive => return Err(format!("not extended: {other:?}")),
        Ok(_) => {}
        Err(error) => return Err(format!("extending fails: {}", describe(&error))),
    }
    match locks.release(guard) {
        Ok(_) if NEVER_RELEASED.contains(&name) => return Ok(()),
        Ok(Answer::Known(Released::Freed)) => {}
        Ok(Answer::Known(other)) if locker.mode() == Mode::Exclusive => {
            return Err(format!("not released: {other:?}"));
        }
        Ok(_) => {}
        Err(error) => return Err(format!("the release fails: {}", describe(&error))),
    }
    // Not the second one: one of the old clients leaves its connection watching the key when it is refused.
    let third = locks.lock(Arc::clone(locker));
    let guard = won(locks.try_acquire(&third)).map_err(|story| format!("after the release: {story}"))?;
    locks.release(guard).map(drop).map_err(|error| describe(&error))
}

/// Lets one acquire, and another one try while the first holds: it is refused, or shares.
fn meet<L: Locks + Sync>(locks: &L, name: &str, locker: &Arc<dyn Locker>) -> Result<L::Guard, String> {
    loop {
        let began = wall().as_secs();
        let guard = won(locks.try_acquire(&locks.lock(Arc::clone(locker))))?;
        // On the thread of the first one, a re-entrant lock would let it in.
        let met = std::thread::scope(|scope| scope.spawn(|| meets_a_holder(locks, locker)).join());
        let met = met.expect("the thread returns");
        let ended = wall().as_secs();
        if met.is_ok() || name != WINS_EVERY_SECOND || ended == began {
            return met.map(|()| guard);
        }
        until("the next second begins", || (wall().as_secs() > ended).then_some(()));
    }
}

fn meets_a_holder<L: Locks>(locks: &L, locker: &Arc<dyn Locker>) -> Result<(), String> {
    match (locker.mode(), locks.try_acquire(&locks.lock(Arc::clone(locker)))) {
        (Mode::Exclusive, Ok(Attempt::Held(_))) => Ok(()),
        (Mode::Shared, Ok(Attempt::Won(other))) => locks.release(other).map(drop).map_err(|error| describe(&error)),
        (mode, Ok(_)) => Err(format!("the second one of two in mode {mode:?} fares otherwise")),
        (_, Err(error)) => Err(format!("the second one fails: {}", describe(&error))),
    }
}

fn won<G>(attempt: Result<Attempt<G>, Error>) -> Result<G, String> {
    match attempt {
        Ok(Attempt::Won(guard)) => Ok(guard),
        Ok(Attempt::Held(held)) => Err(format!("not acquired: {held:?}")),
        Ok(Attempt::TooLate) => Err("not acquired in time".to_owned()),
        Ok(Attempt::Unknown(unknown)) => Err(unknown.to_string()),
        Err(error) => Err(describe(&error)),
    }
}

fn describe(error: &Error) -> String {
    let cause = std::error::Error::source(error).map(ToString::to_string);
    format!("{error} ({})", cause.unwrap_or_default())
}

/// A driver, over connections that are made like this.
pub(crate) struct Over<F, R> {
    connect: F,
    #[cfg_attr(not(feature = "tokio"), expect(dead_code, reason = "threads need no runtime"))]
    runtime: R,
}

impl<C: blocking::Carrier + 'static, F: Fn() -> C> Over<F, ()> {
    /// Threads.
    pub(crate) fn threads(connect: F) -> Self {
        Self { connect, runtime: () }
    }
}

impl<C: blocking::Carrier + 'static, F: Fn() -> C> Locks for Over<F, ()> {
    type Lock = blocking::Lock<C>;
    type Guard = blocking::Guard<C>;

    fn lock(&self, locker: Arc<dyn Locker>) -> Self::Lock {
        blocking::Lock::new((self.connect)(), locker)
    }

    fn try_acquire(&self, lock: &Self::Lock) -> Result<Attempt<Self::Guard>, Error> {
        lock.try_acquire()
    }

    fn extend(&self, guard: &Self::Guard) -> Result<Answer<Extended>, Error> {
        guard.extend()
    }

    fn release(&self, guard: Self::Guard) -> Result<Answer<Released>, Error> {
        guard.release()
    }
}

#[cfg(feature = "tokio")]
mod tasks {
    use lockshift::driver::aio;
    use tokio::runtime::{Builder, Runtime};

    use super::*;

    impl<C: aio::Carrier + Clone + 'static, F: AsyncFn() -> C> Over<F, Runtime> {
        /// Tasks of a runtime of its own.
        pub(crate) fn tasks(connect: F) -> Self {
            let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime of this thread");
            Self { connect, runtime }
        }
    }

    impl<C: aio::Carrier + Clone + 'static, F: AsyncFn() -> C> Locks for Over<F, Runtime> {
        type Lock = aio::Lock<C>;
        type Guard = aio::Guard<C>;

        fn lock(&self, locker: Arc<dyn Locker>) -> Self::Lock {
            aio::Lock::new(self.runtime.block_on((self.connect)()), locker)
        }

        fn try_acquire(&self, lock: &Self::Lock) -> Result<Attempt<Self::Guard>, Error> {
            self.runtime.block_on(lock.try_acquire())
        }

        fn extend(&self, guard: &Self::Guard) -> Result<Answer<Extended>, Error> {
            self.runtime.block_on(guard.extend())
        }

        fn release(&self, guard: Self::Guard) -> Result<Answer<Released>, Error> {
            self.runtime.block_on(guard.release())
        }
    }
}
