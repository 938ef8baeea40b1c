//! One lock for many threads: each that tries to acquire it does so over a connection of its own.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::pool::{Pool, PooledCarrier};
use crate::driver::blocking;

/// The same lock for each thread that tries to acquire it at the same time: a server that hangs is waited for by all of them at
/// once. What one of them could not disclaim is disclaimed by the thread that uses it next.
pub(super) struct Attempters {
    /// The one that was used last is used next.
    idle: Mutex<Vec<blocking::Lock<PooledCarrier>>>,
    pool: Arc<Pool>,
    keeps_connection: bool,
}

/// How many are kept.
const MOST_IDLE: usize = 8;

impl Attempters {
    /// None yet; each will have connections out of this pool.
    pub(super) fn over(pool: Arc<Pool>, keeps_connection: bool) -> Arc<Self> {
        Arc::new(Self { idle: Mutex::default(), pool, keeps_connection })
    }

    /// Acquires with one that no other thread uses.
    pub(super) fn acquire<T>(
        &self,
        lock: &blocking::Lock<PooledCarrier>,
        acquire: impl FnOnce(&blocking::Lock<PooledCarrier>) -> T,
    ) -> T {
        let idle = self.idle().pop();
        let own = idle.unwrap_or_else(|| lock.over(PooledCarrier::new(&self.pool, self.keeps_connection)));
        let outcome = acquire(&own);
        let mut idle = self.idle();
        if idle.len() < MOST_IDLE {
            idle.push(own);
        }
        outcome
    }

    fn idle(&self) -> MutexGuard<'_, Vec<blocking::Lock<PooledCarrier>>> {
        // Each change is one step.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
