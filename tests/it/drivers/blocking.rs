//! The driver for threads.

use std::marker::PhantomData;

use lockshift::driver::blocking::{Guard, Lock};
use lockshift::driver::{Answer, Attempt, Error};
use lockshift::lock::{Extended, Locker, Ownership, Released};
use redis::{Client, Connection, ConnectionLike};

use super::Driver;

/// `driver::blocking` over connections of the kind `C`.
pub(crate) struct Threads<C>(PhantomData<C>);

/// How a connection of this kind comes about.
pub(crate) trait Connect: ConnectionLike + 'static {
    const NAME: &'static str;

    fn connect(client: &Client) -> Self;
}

impl Connect for Connection {
    const NAME: &'static str = "blocking";

    fn connect(client: &Client) -> Self {
        client.get_connection().expect("the server is up")
    }
}

/// A client connects anew for every command.
impl Connect for Client {
    const NAME: &'static str = "blocking, connecting anew";

    fn connect(client: &Client) -> Self {
        client.clone()
    }
}

impl<C> Default for Threads<C> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<C: Connect> Driver for Threads<C> {
    const NAME: &'static str = C::NAME;
    type Lock = Lock<C>;
    type Guard = Guard<C>;

    fn lock(&self, client: &Client, locker: impl Locker + 'static) -> Self::Lock {
        Lock::new(C::connect(client), locker)
    }

    fn try_acquire(&self, lock: &Self::Lock) -> Result<Attempt<Self::Guard>, Error> {
        lock.try_acquire()
    }

    fn release(&self, guard: Self::Guard) -> Result<Answer<Released>, Error> {
        guard.release()
    }

    fn abandon(&self, guard: Self::Guard) {
        guard.abandon();
    }

    fn extend(&self, guard: &Self::Guard) -> Result<Answer<Extended>, Error> {
        guard.extend()
    }

    fn ownership(&self, guard: &Self::Guard) -> Result<Ownership, Error> {
        guard.ownership()
    }
}
