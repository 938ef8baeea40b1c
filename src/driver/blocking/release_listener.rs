//! The release listener of a program with threads: one connection for all its locks.

use std::fmt;
use std::sync::Arc;

use lockshift_lock::ReleaseChannel;
use redis::{Client, RedisResult};

use super::listener_task::ListenerShared;
use crate::driver::waiting::{Listener, Waiters};

/// One connection on which the waiters of a program, on one server, are notified of releases.
///
/// Make it once and hand it to every lock that is to wait with [`Wait::notified`](crate::driver::Wait::notified).
/// Clones are the same. It connects when the first waiter begins, from a thread of its own, and again whenever the
/// connection breaks; the last clone that is dropped ends both.
///
/// To wake its own thread it publishes on a channel that no other client listens to, `lockshift:wake:` and a random token:
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
/// let lock = Lock::new(client.get_connection()?, locker).notified_by(&listener);
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
        Self::finding(move || Ok(client.clone()))
    }

    /// A listener on the server to which `find` leads: it is asked before each connection, and after 5 s without a word
    /// from the server, whether that is still the one. So the listener follows a failover, also where the old master
    /// goes on. Nothing is connected yet.
    ///
    /// ```no_run
    /// # use lockshift::{connect::Server, driver::blocking::ReleaseListener};
    /// # fn listener() -> Result<ReleaseListener, Box<dyn std::error::Error>> {
    /// let server: Server = "redis+sentinel://sentinel-a,sentinel-b/mymaster".parse()?;
    /// let listener = ReleaseListener::finding(move || server.client())?;
    /// # Ok(listener)
    /// # }
    /// ```
    ///
    /// # Errors
    /// Random bits for the name of its own channel cannot be drawn.
    pub fn finding(find: impl Fn() -> RedisResult<Client> + Send + Sync + 'static) -> Result<Self, getrandom::Error> {
        Ok(Self(Arc::new(Handle(Arc::new(ListenerShared::new(Box::new(find))?)))))
    }

    /// How many commands have been sent for listening: SUBSCRIBE, UNSUBSCRIBE, PING and PUBLISH on the own channel.
    pub fn commands(&self) -> u64 {
        self.0.0.waiters.commands()
    }
}

impl fmt::Debug for ReleaseListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReleaseListener").field("commands", &self.commands()).finish_non_exhaustive()
    }
}

impl Listener for ReleaseListener {
    fn waiters(&self) -> &Arc<Waiters> {
        &self.0.0.waiters
    }

    fn listen(&self, channel: &ReleaseChannel) {
        self.0.0.listen_on(channel);
    }
}
