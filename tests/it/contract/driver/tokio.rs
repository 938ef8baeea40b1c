//! The driver for tasks.

use lockshift::driver::tokio::{Guard, Lock};
use lockshift::driver::{Answer, Attempt, Error};
use lockshift::lock::{Extended, Locker, Released, Standing};
use redis::aio::MultiplexedConnection;
use tokio::runtime::{Builder, Runtime};

use super::Driver;
use crate::server::Server;

pub(in crate::contract) struct Tokio {
    runtime: Runtime,
}

impl Default for Tokio {
    fn default() -> Self {
        Self { runtime: Builder::new_current_thread().enable_all().build().expect("a runtime of this thread") }
    }
}

impl Driver for Tokio {
    const NAME: &'static str = "tokio";
    type Lock = Lock<MultiplexedConnection>;
    type Guard = Guard<MultiplexedConnection>;

    fn lock(&self, server: &Server, locker: impl Locker + 'static) -> Self::Lock {
        let client = server.client();
        let connection = self.runtime.block_on(client.get_multiplexed_async_connection()).expect("the server is up");
        if locker.needs_own_connection() {
            Lock::on_own_connection(connection, locker)
        } else {
            Lock::new(connection, locker)
        }
    }

    fn try_acquire(&self, lock: &Self::Lock) -> Result<Attempt<Self::Guard>, Error> {
        self.runtime.block_on(lock.try_acquire())
    }

    fn release(&self, guard: Self::Guard) -> Result<Answer<Released>, Error> {
        self.runtime.block_on(guard.release())
    }

    fn extend(&self, guard: &Self::Guard) -> Result<Answer<Extended>, Error> {
        self.runtime.block_on(guard.extend())
    }

    fn standing(&self, guard: &Self::Guard) -> Result<Standing, Error> {
        self.runtime.block_on(guard.standing())
    }
}
