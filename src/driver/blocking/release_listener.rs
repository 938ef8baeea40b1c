//! The release listener of a program with threads: one connection for all its locks.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use lockshift_lock::{ReleaseChannel, Token};
use redis::Client;

use super::listener_task::ListenerShared;
use super::wake_up::WakeUp;

/// One connection on which the waiters of a program, on one server, are notified of releases.
///
/// Make it once and hand it to every lock that is to wait with [`Wait::notified`](crate::driver::Wait::notified).
/// Clones are the same. It connects when the first waiter begins, from a thread of its own, and again whenever the
/// connection breaks; the last clone that is dropped ends both.
///
/// To wake its own thread it publishes on a channel that no other client listens to, `lockshift:door:` and a random token:
/// a user restricted by ACL needs that channel too, and PUBLISH.
///
/// ```no_run
/// use std::time::Duration;
/// use lockshift::driver::{Wait, blocking::{ReleaseListener, Lock}};
/// use lockshift::lock::Lease;
/// use lockshift::modern::{Publish, TokenLock};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let client = redis::Client::open("redis://127.0.0.1/")?;
/// let listener = ReleaseListener::new(client.clone())?;
/// let locker = TokenLock::new("invoices".into(), Lease::new(Duration::from_secs(30))?).announced(Publish::Everywhere);
/// let lock = Lock::new(client.get_connection()?, locker).hearing(&listener);
/// let attempt = lock.acquire(&Wait::notified().for_at_most(Duration::from_secs(10)))?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct ReleaseListener(Arc<Handle>);

/// Ends the thread with the last clone.
struct Handle(Arc<ListenerShared>);

impl Drop for Handle {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl ReleaseListener {
    /// A listener on this server; nothing is connected yet.
    ///
    /// # Errors
    /// Random bits for the name of its own channel cannot be drawn.
    pub fn new(client: Client) -> Result<Self, getrandom::Error> {
        Ok(Self(Arc::new(Handle(Arc::new(ListenerShared::new(client)?)))))
    }

    /// How many commands have been sent for listening: SUBSCRIBE, UNSUBSCRIBE, PING and PUBLISH on the own channel.
    pub fn commands(&self) -> u64 {
        self.0.0.commands()
    }

    /// Whether a waiter that begins now misses no release.
    pub(super) fn hears(&self, channel: &ReleaseChannel) -> bool {
        self.0.0.hears(channel)
    }

    /// Begins to wait.
    pub(super) fn enter(&self, channel: ReleaseChannel, name: Token) -> Waiter {
        let wake_up = Arc::new(WakeUp::default());
        let number = self.0.0.enter(&channel, name, Arc::clone(&wake_up));
        Waiter { listener: self.clone(), channel, number, wake_up, owes_wake_up: false }
    }
}

impl fmt::Debug for ReleaseListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReleaseListener").field("commands", &self.commands()).finish_non_exhaustive()
    }
}

/// One waiter. Dropped while it owes a wake-up, it passes the wake-up on to the next.
pub(super) struct Waiter {
    listener: ReleaseListener,
    channel: ReleaseChannel,
    number: u64,
    wake_up: Arc<WakeUp>,
    owes_wake_up: bool,
}

impl Waiter {
    /// How many wait in the same place, this one included, if a release would wake them.
    pub(super) fn waiters(&self) -> Option<usize> {
        self.listener.0.0.waiters(&self.channel)
    }

    /// An attempt begins: it uses every wake-up until now.
    pub(super) fn begin_attempt(&mut self) {
        self.owes_wake_up = true;
        self.wake_up.clear();
    }

    /// The attempt has ended, and whether it has used its wake-up. If not, the wake-up is passed on when this waiter
    /// leaves.
    pub(super) fn end_attempt(&mut self, used: bool) {
        self.owes_wake_up = !used;
    }

    /// Waits to be woken, but not longer than that.
    pub(super) fn wait(&self, at_most: Duration) -> bool {
        self.wake_up.wait(at_most)
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        self.listener.0.0.leave(&self.channel, self.number, self.owes_wake_up);
    }
}
