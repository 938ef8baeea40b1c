//! The two drivers behind one trait, each with several servers.

use std::fmt::Debug;
use std::num::NonZeroU8;
use std::time::Duration;

use lockshift::driver::{Answer, Attempt, Error, Loss, Renewal, blocking};
use lockshift::lock::{Extended, Held, Lease, Ownership, Released};
use lockshift::modern::Redlock;
use lockshift::wire::{Key, MonoTime};
use redis::Client;

use super::fleet::{Fleet, KEY};

/// How long each server may take to reply: longer than a running server needs on a busy machine.
pub(super) const PATIENCE: Duration = Duration::from_secs(3);

/// A driver, and a Redlock on all servers of a fleet.
pub(super) trait Side: Sized {
    type Guard: Debug;

    /// On the servers that these clients lead to.
    fn to(clients: Vec<Client>, patience: Duration) -> Self {
        let servers = clients.len().try_into().expect("few servers");
        Self::on(clients, patience, servers)
    }

    /// On this number of servers, of which the fleet may have fewer.
    fn over(fleet: &Fleet, servers: u8) -> Self {
        Self::on(fleet.clients(), PATIENCE, servers)
    }

    fn on(clients: Vec<Client>, patience: Duration, servers: u8) -> Self;
    fn try_acquire(&self) -> Result<Attempt<Self::Guard>, Error>;
    fn ownership(&self, guard: &Self::Guard) -> Result<Ownership, Error>;
    fn extend(&self, guard: &Self::Guard) -> Result<Answer<Extended>, Error>;
    fn renew_often(&self, guard: &mut Self::Guard);
    fn release(&self, guard: Self::Guard) -> Result<Answer<Released>, Error>;
    fn lost(guard: &Self::Guard) -> Option<Loss>;
    fn since(guard: &Self::Guard) -> MonoTime;

    /// Acquires the lock, which must be free.
    fn win(&self) -> Self::Guard {
        match self.try_acquire() {
            Ok(Attempt::Won(guard)) => guard,
            other => panic!("the lock should be free: {other:?}"),
        }
    }

    /// The refusal of an attempt that must fail.
    fn refused(&self) -> Held {
        match self.try_acquire() {
            Ok(Attempt::Held(held)) => held,
            other => panic!("the attempt should fail: {other:?}"),
        }
    }
}

fn redlock(servers: u8) -> Redlock {
    let lease = Lease::new(Duration::from_secs(3600)).unwrap();
    Redlock::new(Key::from(KEY), lease, NonZeroU8::new(servers).unwrap())
}

/// A renewal period far below every timeout of the tests.
fn often() -> Renewal {
    Renewal::every(Duration::from_millis(20))
}

/// `driver::blocking`.
pub(super) struct Threads(blocking::Lock<blocking::Masters>);

impl Side for Threads {
    type Guard = blocking::Guard<blocking::Masters>;

    fn on(clients: Vec<Client>, patience: Duration, servers: u8) -> Self {
        Self(blocking::Lock::new(blocking::Masters::new(clients, patience), redlock(servers)))
    }

    fn try_acquire(&self) -> Result<Attempt<Self::Guard>, Error> {
        self.0.try_acquire()
    }

    fn ownership(&self, guard: &Self::Guard) -> Result<Ownership, Error> {
        guard.ownership()
    }

    fn extend(&self, guard: &Self::Guard) -> Result<Answer<Extended>, Error> {
        guard.extend()
    }

    fn renew_often(&self, guard: &mut Self::Guard) {
        guard.renew(often()).unwrap();
    }

    fn release(&self, guard: Self::Guard) -> Result<Answer<Released>, Error> {
        guard.release()
    }

    fn lost(guard: &Self::Guard) -> Option<Loss> {
        guard.lost()
    }

    fn since(guard: &Self::Guard) -> MonoTime {
        guard.hold().since.mono
    }
}

#[cfg(feature = "tokio")]
pub(super) use tasks::Tasks;

#[cfg(feature = "tokio")]
mod tasks {
    use lockshift::driver::aio;
    use tokio::runtime::Runtime;

    use super::*;

    /// `driver::aio`, on a runtime of its own.
    pub(in super::super) struct Tasks {
        lock: aio::Lock<aio::Masters>,
        runtime: Runtime,
    }

    impl Side for Tasks {
        type Guard = aio::Guard<aio::Masters>;

        fn on(clients: Vec<Client>, patience: Duration, servers: u8) -> Self {
            let masters = aio::Masters::new(clients, patience);
            Self { lock: aio::Lock::new(masters, redlock(servers)), runtime: Runtime::new().unwrap() }
        }

        fn try_acquire(&self) -> Result<Attempt<Self::Guard>, Error> {
            self.runtime.block_on(self.lock.try_acquire())
        }

        fn ownership(&self, guard: &Self::Guard) -> Result<Ownership, Error> {
            self.runtime.block_on(guard.ownership())
        }

        fn extend(&self, guard: &Self::Guard) -> Result<Answer<Extended>, Error> {
            self.runtime.block_on(guard.extend())
        }

        fn renew_often(&self, guard: &mut Self::Guard) {
            self.runtime.block_on(guard.renew(often()));
        }

        fn release(&self, guard: Self::Guard) -> Result<Answer<Released>, Error> {
            self.runtime.block_on(guard.release())
        }

        fn lost(guard: &Self::Guard) -> Option<Loss> {
            guard.lost()
        }

        fn since(guard: &Self::Guard) -> MonoTime {
            guard.hold().since.mono
        }
    }
}

/// Runs each of these functions over a `Side` as a test with both drivers.
macro_rules! on_both_sides {
    ($($story:ident),* $(,)?) => {
        mod threads {
            $(#[test] fn $story() { super::$story::<super::sides::Threads>() })*
        }
        #[cfg(feature = "tokio")]
        mod tasks {
            $(#[test] fn $story() { super::$story::<super::sides::Tasks>() })*
        }
    };
}
pub(super) use on_both_sides;
