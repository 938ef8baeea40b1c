//! The drivers, behind what the contract asks of every one of them.

mod blocking;
#[cfg(feature = "tokio")]
mod tokio;

use lockshift::driver::{Answer, Attempt, Error};
use lockshift::lock::{Extended, Locker, Released, Standing};

pub(super) use blocking::Blocking;
#[cfg(feature = "tokio")]
pub(super) use tokio::Tokio;

use crate::server::Server;

/// A driver: a lock on a connection of its own, and what can be done with it.
pub(super) trait Driver: Default {
    const NAME: &'static str;
    type Lock;
    type Guard;

    fn lock(&self, server: &Server, locker: impl Locker + 'static) -> Self::Lock;
    fn try_acquire(&self, lock: &Self::Lock) -> Result<Attempt<Self::Guard>, Error>;
    fn release(&self, guard: Self::Guard) -> Result<Answer<Released>, Error>;
    fn extend(&self, guard: &Self::Guard) -> Result<Answer<Extended>, Error>;
    fn standing(&self, guard: &Self::Guard) -> Result<Standing, Error>;
}
