//! What is held beside a lock, as the lock sees it.

use std::fmt;
use std::sync::Arc;

use crate::driver::shadow::{Tallies, Tally};

/// A lock that is taken beside another one, which alone decides: see [`Lock::shadowed`](super::Lock::shadowed).
///
/// Its own outcomes and errors go into a [`Tally`] and the log, and nowhere else. What it costs: a round trip more for
/// each try (a script or a SET where the lock was won, some reads where it was refused), for each extension and for each
/// release. A server that does not answer is waited for as long as the connection's timeouts say, so give it some. Give
/// it no longer a lease than the lock has: what a dead holder leaves must not outlast the lock.
///
/// The shadow is taken after the lock and given back before it, so that whoever has the lock finds the shadow free.
///
/// ```no_run
/// use std::time::Duration;
/// use lockshift::driver::{Attempt, blocking};
/// use lockshift::lock::Lease;
/// use lockshift::{legacy, modern};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let client = redis::Client::open("redis://127.0.0.1/")?;
/// let lease = Lease::new(Duration::from_secs(30))?;
/// let old = legacy::Lock::new(legacy::find("php-getset").ok_or("no such dialect")?, "invoices".into(), lease);
/// let new = modern::TokenLock::new("{invoices}:shadow".into(), lease);
///
/// let shadow = blocking::Shadow::new(client.get_connection()?, new);
/// let lock = blocking::Lock::new(client.get_connection()?, old).shadowed(&shadow);
/// if let Attempt::Won(guard) = lock.try_acquire()? {
///     guard.release()?;
/// }
/// println!("{:?}", shadow.tally());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Shadow {
    pub(super) beside: Arc<dyn Beside>,
    pub(super) tallies: Arc<Tallies>,
}

/// What is held beside a lock.
pub(super) trait HeldBeside: Send {
    /// Holds on, as the lock does.
    fn extend(&self);
    /// Gives back, before the lock is.
    fn release(self: Box<Self>);
    /// Lets go without telling the server.
    fn abandon(self: Box<Self>);
}

/// A shadow's lock, over whatever connection.
pub(super) trait Beside: Send + Sync {
    /// Takes it beside a lock that was won.
    fn take(&self, tallies: &Arc<Tallies>) -> Option<Box<dyn HeldBeside>>;
    /// Looks whether anybody has it, beside a lock that was refused.
    fn look(&self, tallies: &Tallies);
}

impl Shadow {
    /// How often the two have agreed so far, and how often not.
    pub fn tally(&self) -> Tally {
        self.tallies.tally()
    }

    pub(super) fn take(&self) -> Option<Box<dyn HeldBeside>> {
        self.beside.take(&self.tallies)
    }

    pub(super) fn look(&self) {
        self.beside.look(&self.tallies);
    }
}

impl fmt::Debug for Shadow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shadow").field("tally", &self.tally()).finish_non_exhaustive()
    }
}
