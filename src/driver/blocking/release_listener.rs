//! The ears of a program with threads: one connection on which all its locks hear releases.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use lockshift_lock::{ReleaseChannel, Token};
use redis::Client;

use super::alarm::Alarm;
use super::listener_task::ListenerShared;

/// One connection on which all locks of a program, on one server, hear that others were released.
///
/// Make it once and hand it to every lock that is to wait with [`Wait::notified`](crate::driver::Wait::notified).
/// Clones are the same. It connects when somebody first has to wait, from a thread of its own, and again whenever the
/// connection breaks; the last clone that is dropped ends both.
///
/// To wake its own thread it publishes on a channel that nobody else listens to, `lockshift:door:` and a random token:
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
/// let bells = ReleaseListener::new(client.clone())?;
/// let locker = TokenLock::new("invoices".into(), Lease::new(Duration::from_secs(30))?).announced(Publish::Everywhere);
/// let lock = Lock::new(client.get_connection()?, locker).hearing(&bells);
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
    /// Ears on this server; nothing is connected yet.
    ///
    /// # Errors
    /// The system gives no random bits to name the door after.
    pub fn new(client: Client) -> Result<Self, getrandom::Error> {
        Ok(Self(Arc::new(Handle(Arc::new(ListenerShared::new(client)?)))))
    }

    /// How many commands have been sent for listening: SUBSCRIBE, UNSUBSCRIBE, PING and the knocks on the own door.
    pub fn commands(&self) -> u64 {
        self.0.0.commands()
    }

    /// Whether who begins to wait now misses nothing.
    pub(super) fn hears(&self, bell: &ReleaseChannel) -> bool {
        self.0.0.hears(bell)
    }

    /// Begins to wait.
    pub(super) fn enter(&self, bell: ReleaseChannel, name: Token) -> Place {
        let alarm = Arc::new(Alarm::default());
        let number = self.0.0.enter(&bell, name, Arc::clone(&alarm));
        Place { bells: self.clone(), bell, number, alarm, is_called: false }
    }
}

impl fmt::Debug for ReleaseListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReleaseListener").field("commands", &self.commands()).finish_non_exhaustive()
    }
}

/// The place of somebody who waits. Whoever drops it without having tried leaves the release to the next.
pub(super) struct Place {
    bells: ReleaseListener,
    bell: ReleaseChannel,
    number: u64,
    alarm: Arc<Alarm>,
    is_called: bool,
}

impl Place {
    /// How many wait in the same place, this one included, if a release would wake them.
    pub(super) fn waiters(&self) -> Option<usize> {
        self.bells.0.0.waiters(&self.bell)
    }

    /// A try begins: it answers every call until now.
    pub(super) fn begin_try(&mut self) {
        self.is_called = true;
        self.alarm.silence();
    }

    /// The try has ended, and whether it has made use of the calls that it answered. If not, the next one is called
    /// when this place is left.
    pub(super) fn end_try(&mut self, used: bool) {
        self.is_called = !used;
    }

    /// Waits for a call, but not longer than that.
    pub(super) fn wait(&self, at_most: Duration) -> bool {
        self.alarm.wait(at_most)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.bells.0.0.leave(&self.bell, self.number, self.is_called);
    }
}
