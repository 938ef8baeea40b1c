//! A lock that one may try to acquire, and wait for.

use std::fmt;
use std::time::Duration;

use lockshift_lock::{Acquired, Hold, Lease, Locker, Standing};
use lockshift_wire::Key;

use super::beside::Shadow;
use super::carrier::Carrier;
use super::guard::Guard;
use super::line::Line;
use crate::driver::LOG;
use crate::driver::error::Error;
use crate::driver::host;
use crate::driver::outcome::{Attempt, Unknown, log_unasked};
use crate::driver::wait::Wait;

/// A lock: one protocol on one connection.
///
/// Its guards and their renewals use the same connection, one at a time. Clones share it too.
pub struct Lock<C> {
    line: Line<C>,
    shadow: Option<Shadow>,
}

impl<C> Clone for Lock<C> {
    fn clone(&self) -> Self {
        Self { line: self.line.clone(), shadow: self.shadow.clone() }
    }
}

impl<C: Carrier + 'static> Lock<C> {
    /// A lock that speaks the protocol of `locker` over `connection`: a `redis::Connection`, one from a pool, a
    /// `redis::Client`, which connects anew for every command, or a cluster. The last two cannot carry protocols with
    /// WATCH and MULTI; trying to acquire ends with [`Trouble::SharedConnection`](crate::driver::Trouble) then.
    pub fn new(connection: C, locker: impl Locker + 'static) -> Self {
        Self { line: Line::new(connection, locker), shadow: None }
    }

    /// The same lock, with another one taken beside it whenever it is won: nothing else changes for the caller, and how
    /// often the two disagree is in the shadow's [`tally`](Shadow::tally).
    #[must_use]
    pub fn shadowed(self, shadow: &Shadow) -> Self {
        Self { shadow: Some(shadow.clone()), ..self }
    }

    /// The key that contenders share.
    pub fn key(&self) -> &Key {
        self.line.locker.key()
    }

    /// Tries once.
    ///
    /// # Errors
    /// The server cannot be used, and nothing of ours is left there as far as one can tell.
    pub fn try_acquire(&self) -> Result<Attempt<Guard<C>>, Error> {
        let owner = host::owner(host::thread_number()).map_err(|error| Error::no_randomness(self.key(), error))?;
        let mut connection = self.line.connection();
        if !self.line.fits(&connection) {
            return Err(Error::shared_connection(self.key()));
        }
        let interrupted = match self.line.ask(&mut connection, |locker, redis| locker.acquire(&owner, redis)) {
            Ok(Acquired::Won(hold)) => {
                drop(connection);
                let beside = self.shadow.as_ref().and_then(Shadow::take);
                return Ok(won(Guard::new(self.line.clone(), hold, beside)));
            }
            Ok(Acquired::Held(held)) => {
                drop(connection);
                self.shadow.iter().for_each(Shadow::look);
                return Ok(Attempt::Held(held));
            }
            Err(interrupted) => interrupted,
        };
        if interrupted.may_have_acted {
            self.line.disclaim(&mut connection, &owner);
        }
        Unknown::or_error(self.key(), interrupted).map(Attempt::Unknown)
    }

    /// Asks the server about a hold that may be nobody's.
    pub(super) fn standing_of(&self, hold: &Hold) -> Result<Standing, Error> {
        let mut connection = self.line.connection();
        let standing = self.line.ask(&mut connection, |locker, redis| locker.standing(hold, redis));
        standing.map_err(|interrupted| Error::because(self.key(), interrupted.cause))
    }

    /// For how long a winner holds.
    pub(super) fn lease(&self) -> Lease {
        self.line.locker.lease()
    }

    /// Tries until the lock is won or patience is over. An unknown outcome ends it at once: what may have been won is
    /// in the way of any further try.
    ///
    /// # Errors
    /// As [`try_acquire`](Self::try_acquire).
    pub fn acquire(&self, wait: &Wait) -> Result<Attempt<Guard<C>>, Error> {
        self.acquire_while(wait, |_, pause| {
            host::sleep(pause);
            true
        })
    }

    /// As [`acquire`](Self::acquire), but lets the caller pass the time between two tries: `pause` is told how the last
    /// one ended and for how long to pause, and answers whether to go on. If not, that outcome stands. So a wait can be
    /// broken off at once, and never amid a try.
    ///
    /// # Errors
    /// As [`try_acquire`](Self::try_acquire).
    pub fn acquire_while(
        &self,
        wait: &Wait,
        mut pause: impl FnMut(&Attempt<Guard<C>>, Duration) -> bool,
    ) -> Result<Attempt<Guard<C>>, Error> {
        let mut patience = wait.begin(host::mono());
        loop {
            let attempt = self.try_acquire()?;
            match patience.after(&attempt, host::mono(), host::jitter) {
                Some(length) if pause(&attempt, length) => {}
                Some(_) | None => return Ok(attempt),
            }
        }
    }
}

fn won<C: Carrier + 'static>(guard: Guard<C>) -> Attempt<Guard<C>> {
    if guard.lost().is_some() {
        let key = guard.key().clone();
        log_unasked(&key, &guard.release());
        return Attempt::TooLate;
    }
    log::debug!(target: LOG, "lock key `{}`: acquired", guard.key());
    Attempt::Won(guard)
}

impl<C> fmt::Debug for Lock<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lock").field("key", self.line.locker.key()).finish_non_exhaustive()
    }
}
