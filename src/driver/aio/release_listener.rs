//! The ears of an async program: one connection on which all its locks hear releases.

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
/// Clones are the same. It connects when somebody first has to wait, from a task of its own on the runtime of whoever
/// that is, and again whenever the connection breaks; it hangs up a second after the last has gone. It speaks RESP3, so
/// that a server has to be Redis 6 or later.
///
/// ```no_run
/// use std::time::Duration;
/// use lockshift::driver::{Wait, aio::{ReleaseListener, Lock}};
/// use lockshift::lock::Lease;
/// use lockshift::modern::{Publish, TokenLock};
///
/// # async fn job() -> Result<(), Box<dyn std::error::Error>> {
/// let client = redis::Client::open("redis://127.0.0.1/")?;
/// let bells = ReleaseListener::new(client.clone());
/// let locker = TokenLock::new("invoices".into(), Lease::new(Duration::from_secs(30))?).announced(Publish::Everywhere);
/// let lock = Lock::new(client.get_multiplexed_async_connection().await?, locker).hearing(&bells);
/// let attempt = lock.acquire(&Wait::notified().for_at_most(Duration::from_secs(10))).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct ReleaseListener(Arc<ListenerShared>);

impl ReleaseListener {
    /// Ears on this server; nothing is connected yet.
    pub fn new(client: Client) -> Self {
        Self(Arc::new(ListenerShared::new(client)))
    }

    /// How many commands have been sent for listening: SUBSCRIBE, UNSUBSCRIBE and PING.
    pub fn commands(&self) -> u64 {
        self.0.commands()
    }

    /// Whether who begins to wait now misses nothing.
    pub(super) fn hears(&self, bell: &ReleaseChannel) -> bool {
        self.0.hears(bell)
    }

    /// Begins to wait, inside of a runtime.
    pub(super) fn enter(&self, bell: ReleaseChannel, name: Token) -> Place {
        let alarm = Arc::new(Alarm::default());
        let number = self.0.enter(&bell, name, Arc::clone(&alarm));
        Place { hall: Arc::clone(&self.0), bell, number, alarm, is_called: false }
    }
}

impl fmt::Debug for ReleaseListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReleaseListener").field("commands", &self.commands()).finish_non_exhaustive()
    }
}

/// The place of somebody who waits. Whoever drops it without having tried leaves the release to the next.
pub(super) struct Place {
    hall: Arc<ListenerShared>,
    bell: ReleaseChannel,
    number: u64,
    alarm: Arc<Alarm>,
    is_called: bool,
}

impl Place {
    /// How many wait in the same place, this one included, if a release would wake them.
    pub(super) fn waiters(&self) -> Option<usize> {
        self.hall.waiters(&self.bell)
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
    pub(super) async fn wait(&self, at_most: Duration) {
        self.hall.listen();
        self.alarm.wait(at_most).await;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.hall.leave(&self.bell, self.number, self.is_called);
    }
}
