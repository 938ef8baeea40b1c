//! The release listener of an async program: one connection for all its locks.

use std::fmt;
use std::sync::Arc;

use lockshift_lock::ReleaseChannel;
use redis::{Client, RedisResult};

use super::listener_task::ListenerShared;
use crate::driver::waiting::{Listener, Waiters};

/// One connection on which the waiters of a program, on one server, are notified of releases.
///
/// Make it once and hand it to every lock that is to wait with [`Wait::notified`](crate::driver::Wait::notified).
/// Clones are the same. It connects when the first waiter begins, from a task of its own on the runtime of the waiter that
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
/// let listener = ReleaseListener::new(client.clone());
/// let locker = TokenLock::new("invoices".into(), Lease::new(Duration::from_secs(30))?).announced(Publish::Everywhere);
/// let lock = Lock::new(client.get_multiplexed_async_connection().await?, locker).notified_by(&listener);
/// let attempt = lock.acquire(&Wait::notified().for_at_most(Duration::from_secs(10))).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct ReleaseListener(Arc<ListenerShared>);

impl ReleaseListener {
    /// A listener on this server; nothing is connected yet.
    pub fn new(client: Client) -> Self {
        Self::finding(move || std::future::ready(Ok(client.clone())))
    }

    /// A listener on the server to which `find` leads: it is asked before each connection, and after 5 s without a word
    /// from the server, whether that is still the one. So the listener follows a failover, also where the old master
    /// goes on. Nothing is connected yet.
    ///
    /// ```no_run
    /// # use lockshift::{connect::{Server, aio::Connection}, driver::aio::ReleaseListener};
    /// # fn listener() -> Result<ReleaseListener, Box<dyn std::error::Error>> {
    /// let server: Server = "redis+sentinel://sentinel-a,sentinel-b/mymaster".parse()?;
    /// let listener = ReleaseListener::finding(move || {
    ///     let server = Connection::to(&server);
    ///     async move { server.client().await }
    /// });
    /// # Ok(listener)
    /// # }
    /// ```
    pub fn finding<F>(find: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = RedisResult<Client>> + Send + 'static,
    {
        Self(Arc::new(ListenerShared::new(Box::new(move || Box::pin(find())))))
    }

    /// How many commands have been sent for listening: SUBSCRIBE, UNSUBSCRIBE and PING.
    pub fn commands(&self) -> u64 {
        self.0.waiters.commands()
    }
}

impl ReleaseListener {
    /// Starts the listener anew if its runtime has ended.
    pub(super) fn keep_listening(&self) {
        self.0.listen();
    }
}

impl fmt::Debug for ReleaseListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReleaseListener").field("commands", &self.commands()).finish_non_exhaustive()
    }
}

impl Listener for ReleaseListener {
    fn waiters(&self) -> &Arc<Waiters> {
        &self.0.waiters
    }

    fn listen(&self, channel: &ReleaseChannel) {
        self.0.listen_on(channel);
    }
}

#[test]
fn a_listener_without_a_waiter_has_sent_nothing() {
    let client = Client::open("redis://127.0.0.1/").unwrap();
    assert_eq!(ReleaseListener::new(client).commands(), 0);
}
