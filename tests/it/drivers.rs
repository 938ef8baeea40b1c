//! The drivers behind one interface, so that one test runs through both.

mod blocking;
#[cfg(feature = "tokio")]
mod tokio;

use std::fmt::Debug;

use lockshift::driver::{Answer, Attempt, Error};
use lockshift::lock::{Extended, Locker, Ownership, Released};
use redis::Client;

/// Over one connection, which stays broken once it is.
pub(crate) type Blocking = blocking::Threads<redis::Connection>;
/// Over one connection, which stays broken once it is.
#[cfg(feature = "tokio")]
pub(crate) type Tokio = tokio::Tasks<redis::aio::MultiplexedConnection>;

/// Over as many connections as it takes.
pub(crate) type BlockingAnew = blocking::Threads<Client>;
/// Over as many connections as it takes.
#[cfg(feature = "tokio")]
pub(crate) type TokioAnew = tokio::Tasks<redis::aio::ConnectionManager>;

/// A driver: a lock on a connection of its own, and what can be done with it.
pub(crate) trait Driver: Default {
    const NAME: &'static str;
    type Lock;
    type Guard: Debug;

    fn lock(&self, client: &Client, locker: impl Locker + 'static) -> Self::Lock;
    fn try_acquire(&self, lock: &Self::Lock) -> Result<Attempt<Self::Guard>, Error>;
    fn release(&self, guard: Self::Guard) -> Result<Answer<Released>, Error>;
    /// Lets go without a word to the server.
    fn abandon(&self, guard: Self::Guard);
    fn extend(&self, guard: &Self::Guard) -> Result<Answer<Extended>, Error>;
    fn ownership(&self, guard: &Self::Guard) -> Result<Ownership, Error>;
}
