//! The driver for threads.

use lockshift::driver::blocking::{Guard, Lock};
use lockshift::driver::{Answer, Attempt, Error};
use lockshift::lock::{Extended, Locker, Released, Standing};
use redis::Connection;

use super::Driver;
use crate::server::Server;

#[derive(Default)]
pub(in crate::contract) struct Blocking;

impl Driver for Blocking {
    const NAME: &'static str = "blocking";
    type Lock = Lock<Connection>;
    type Guard = Guard<Connection>;

    fn lock(&self, server: &Server, locker: impl Locker + 'static) -> Self::Lock {
        Lock::new(server.connect(), locker)
    }

    fn try_acquire(&self, lock: &Self::Lock) -> Result<Attempt<Self::Guard>, Error> {
        lock.try_acquire()
    }

    fn release(&self, guard: Self::Guard) -> Result<Answer<Released>, Error> {
        guard.release()
    }

    fn extend(&self, guard: &Self::Guard) -> Result<Answer<Extended>, Error> {
        guard.extend()
    }

    fn standing(&self, guard: &Self::Guard) -> Result<Standing, Error> {
        guard.standing()
    }
}
