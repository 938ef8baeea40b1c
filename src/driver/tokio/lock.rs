//! A lock that one may try to acquire, and wait for.

use std::fmt;
use std::sync::Arc;

use lockshift_lock::{Acquired, Locker, Owner};
use lockshift_wire::Key;
use tokio::runtime::Handle;
use tokio::sync::Mutex;

use super::carrier::Carrier;
use super::guard::Guard;
use super::line::Line;
use super::unattended::to_the_end;
use crate::driver::LOG;
use crate::driver::error::Error;
use crate::driver::host;
use crate::driver::outcome::{Attempt, Unknown, log_unasked};
use crate::driver::wait::Wait;

/// A lock: one protocol on one connection.
#[derive(Clone)]
pub struct Lock<C> {
    connection: Share<C>,
    locker: Arc<dyn Locker>,
}

/// How tries and guards come by their connection.
#[derive(Clone)]
enum Share<C> {
    /// Each has a clone of it, and all may send at the same time.
    Clones(C),
    /// There is one, and one procedure at a time uses it.
    Own(Arc<Mutex<C>>),
}

impl<C: Carrier + Clone + 'static> Lock<C> {
    /// A lock that speaks the protocol of `locker` over clones of `connection`, which others may use as well: a
    /// `MultiplexedConnection` (out of a pool: a clone of it), a `ConnectionManager`, an async `ClusterConnection`.
    ///
    /// Protocols with WATCH and MULTI cannot share a connection; trying to acquire ends with
    /// [`Trouble::SharedConnection`](crate::driver::Trouble) then. Use [`on_own_connection`](Self::on_own_connection).
    pub fn new(connection: C, locker: impl Locker + 'static) -> Self {
        Self { connection: Share::Clones(connection), locker: Arc::new(locker) }
    }

    /// A lock that speaks the protocol of `locker` over `connection`, of which no other clone is in use, and which is
    /// not a cluster's. Tries, guards and renewals of this lock use it one after another, so that any protocol may run.
    pub fn on_own_connection(connection: C, locker: impl Locker + 'static) -> Self {
        Self { connection: Share::Own(Arc::new(Mutex::new(connection))), locker: Arc::new(locker) }
    }

    /// The key that contenders share.
    pub fn key(&self) -> &Key {
        self.locker.key()
    }

    /// Tries once. If this future is dropped the try goes on to its end, and what it wins is given back.
    ///
    /// # Errors
    /// The server cannot be used, and nothing of ours is left there as far as one can tell; or this is not a tokio
    /// runtime.
    pub async fn try_acquire(&self) -> Result<Attempt<Guard<C>>, Error> {
        let runtime = Handle::try_current().map_err(|error| Error::no_runtime(self.key(), error))?;
        let owner = host::owner(host::task_number()).map_err(|error| Error::no_randomness(self.key(), error))?;
        to_the_end(&runtime, self.key(), attempt(self.line()?, owner, runtime.clone())).await
    }

    /// Tries until the lock is won or patience is over. An unknown outcome ends it at once: what may have been won is
    /// in the way of any further try. This future may be dropped at any time, as `try_acquire`'s may.
    ///
    /// # Errors
    /// As [`try_acquire`](Self::try_acquire).
    pub async fn acquire(&self, wait: &Wait) -> Result<Attempt<Guard<C>>, Error> {
        let mut patience = wait.begin(host::mono());
        loop {
            let attempt = self.try_acquire().await?;
            match patience.after(&attempt, host::mono(), host::jitter) {
                Some(pause) => host::sleep_async(pause).await,
                None => return Ok(attempt),
            }
        }
    }

    fn line(&self) -> Result<Line<C>, Error> {
        let connection = match &self.connection {
            Share::Clones(_) if self.locker.needs_own_connection() => {
                return Err(Error::shared_connection(self.key()));
            }
            Share::Clones(connection) => Arc::new(Mutex::new(connection.clone())),
            Share::Own(connection) => Arc::clone(connection),
        };
        Ok(Line::new(connection, Arc::clone(&self.locker)))
    }
}

async fn attempt<C>(line: Line<C>, owner: Owner, runtime: Handle) -> Result<Attempt<Guard<C>>, Error>
where
    C: Carrier + 'static,
{
    let mut connection = line.connection().await;
    let interrupted = match line.ask(&mut connection, |locker, redis| locker.acquire(&owner, redis)).await {
        Ok(Acquired::Won(hold)) => {
            drop(connection);
            return Ok(won(Guard::new(line, hold, runtime)).await);
        }
        Ok(Acquired::Held(held)) => return Ok(Attempt::Held(held)),
        Err(interrupted) => interrupted,
    };
    if interrupted.may_have_acted {
        line.disclaim(&mut connection, &owner).await;
    }
    Unknown::or_error(line.locker.key(), interrupted).map(Attempt::Unknown)
}

async fn won<C: Carrier + 'static>(guard: Guard<C>) -> Attempt<Guard<C>> {
    if guard.lost().is_some() {
        let key = guard.key().clone();
        log_unasked(&key, &guard.release().await);
        return Attempt::TooLate;
    }
    log::debug!(target: LOG, "lock key `{}`: acquired", guard.key());
    Attempt::Won(guard)
}

impl<C> fmt::Debug for Lock<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lock").field("key", self.locker.key()).finish_non_exhaustive()
    }
}
