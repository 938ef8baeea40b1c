//! The listener's task, and what it shares with the waiters.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use lockshift_lock::ReleaseChannel;
use redis::aio::{AsyncPushSender, MultiplexedConnection, SendError};
use redis::{AsyncConnectionConfig, Client, ConnectionAddr, ProtocolVersion, PushInfo, RedisResult, cmd};
use tokio::select;
use tokio::sync::Notify;

use crate::driver::events::LISTEN;
use crate::driver::host;
use crate::driver::pubsub::{PATIENCE, QUIET, Received, command, kept_alive, still_at};
use crate::driver::waiters::Change;
use crate::driver::waiting::{ListenerState, Waiters};

/// The longest pause before connecting anew.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// How often the registry is searched for channels without waiters.
const LOOK: Duration = Duration::from_secs(1);

/// What the listener's task shares with the waiters.
pub(super) struct ListenerShared {
    find: Find,
    pub(super) waiters: Arc<Waiters>,
    /// A waiter waits on a channel that is not subscribed to.
    wanted: Notify,
}

/// What comes in over one connection, noted where it is read: no other task runs before the one that waits for it.
struct Incoming {
    waiters: Arc<Waiters>,
    /// Whether there was a message since the task last looked.
    has_message: AtomicBool,
    broken: Notify,
}

impl AsyncPushSender for Incoming {
    fn send(&self, push: PushInfo) -> Result<(), SendError> {
        match Received::in_push(&push.kind, push.data) {
            Received::Message(channel, text) => {
                self.has_message.store(true, Ordering::Relaxed);
                self.waiters.state().registry.received(&channel, &text, host::mono());
            }
            Received::Left(channel) => self.waiters.state().registry.lost(&channel),
            Received::Broken => self.broken.notify_one(),
            Received::Done | Received::Refused(_) | Received::Pong(_) | Received::Nothing => {}
        }
        Ok(())
    }
}

/// Finds the server to listen to.
pub(super) type Find = Box<dyn Fn() -> Pin<Box<dyn Future<Output = RedisResult<Client>> + Send>> + Send + Sync>;

impl ListenerShared {
    pub(super) fn new(find: Find) -> Self {
        Self { find, waiters: Arc::new(Waiters::new()), wanted: Notify::new() }
    }

    /// A waiter has been refused; the listener is started if it does not run yet.
    pub(super) fn listen_on(self: &Arc<Self>, _: &ReleaseChannel) {
        self.listen();
        self.wanted.notify_one();
    }

    /// Starts the listener's task if none runs. The last one may have ended with its runtime.
    pub(super) fn listen(self: &Arc<Self>) {
        let state = std::mem::replace(&mut self.waiters.state().listener, ListenerState::Reading);
        if state == ListenerState::Gone {
            tokio::spawn(ListenerTask { shared: Arc::clone(self), is_done: false }.listen());
        }
    }

    async fn connect(&self) -> RedisResult<(MultiplexedConnection, Arc<Incoming>, ConnectionAddr)> {
        let info = kept_alive((self.find)().await?.get_connection_info());
        let resp3 = info.redis_settings().clone().set_protocol(ProtocolVersion::RESP3);
        let waiters = Arc::clone(&self.waiters);
        let incoming = Arc::new(Incoming { waiters, has_message: AtomicBool::new(false), broken: Notify::new() });
        let config = AsyncConnectionConfig::new()
            .set_push_sender(Arc::clone(&incoming))
            .set_connection_timeout(Some(PATIENCE))
            .set_response_timeout(Some(PATIENCE));
        let address = info.addr().clone();
        let client = Client::open(info.set_redis_settings(resp3))?;
        Ok((client.get_multiplexed_async_connection_with_config(&config).await?, incoming, address))
    }

    /// Listens on this connection until it breaks, or no waiter is left.
    async fn serve(
        &self,
        mut connection: MultiplexedConnection,
        incoming: &Incoming,
        address: &ConnectionAddr,
    ) -> RedisResult<()> {
        let mut heard_at = host::mono();
        loop {
            let due = self.waiters.state().registry.due(host::mono());
            for change in due {
                self.ask(&change, &mut connection).await?;
                heard_at = host::mono();
            }
            if incoming.has_message.swap(false, Ordering::Relaxed) {
                heard_at = host::mono();
            }
            if host::mono().saturating_since(heard_at) >= QUIET {
                self.waiters.count_command();
                connection.send_packed_command(&cmd("PING")).await?;
                still_at(address, (self.find)().await)?;
                heard_at = host::mono();
            }
            select! {
                () = incoming.broken.notified() => return Err(io::Error::from(io::ErrorKind::BrokenPipe).into()),
                () = self.wanted.notified() => {}
                () = host::sleep_async(LOOK) => {
                    let mut state = self.waiters.state();
                    if state.registry.is_empty() {
                        state.listener = ListenerState::Gone;
                        state.registry.broke();
                        return Ok(());
                    }
                }
            }
        }
    }

    /// A refusal is noted, a broken connection is an error.
    async fn ask(&self, change: &Change, connection: &mut MultiplexedConnection) -> RedisResult<()> {
        self.waiters.count_command();
        let answer = connection.send_packed_command(&command(change)).await.and_then(|value| value.extract_error());
        match (change, answer) {
            (Change::Listen(channel), Ok(_)) => self.waiters.state().registry.confirmed(channel),
            (Change::Listen(channel), Err(error)) if error.code().is_some() => {
                log::warn!(target: LISTEN, "a subscription is refused, so waiting means polling: {error}");
                self.waiters.state().registry.refused(channel);
            }
            (Change::Leave(_), Ok(_)) => {}
            (Change::Listen(_) | Change::Leave(_), Err(error)) => return Err(error),
        }
        Ok(())
    }
}

/// The task. If its runtime ends before it does, the next waiter starts another one.
struct ListenerTask {
    shared: Arc<ListenerShared>,
    is_done: bool,
}

impl ListenerTask {
    /// Listens, over one connection after the other, for as long as a client waits.
    async fn listen(mut self) {
        let mut pause = Duration::from_millis(10);
        while let Err(error) = self.listen_once(&mut pause).await {
            if self.ends() {
                return;
            }
            log::warn!(target: LISTEN, "cannot listen for releases, so waiting means polling: {error}");
            host::sleep_async(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
        self.is_done = true;
    }

    async fn listen_once(&self, pause: &mut Duration) -> RedisResult<()> {
        let (connection, incoming, address) = self.shared.connect().await?;
        log::debug!(target: LISTEN, "listening for releases on {address}");
        *pause = Duration::from_millis(10);
        self.shared.serve(connection, &incoming, &address).await
    }

    /// Whether no waiter is left, so that there is no need to connect anew.
    fn ends(&mut self) -> bool {
        let mut state = self.shared.waiters.state();
        state.registry.broke();
        self.is_done = state.registry.is_empty();
        if self.is_done {
            state.listener = ListenerState::Gone;
        }
        self.is_done
    }
}

impl Drop for ListenerTask {
    fn drop(&mut self) {
        if !self.is_done {
            let mut state = self.shared.waiters.state();
            state.listener = ListenerState::Gone;
            state.registry.broke();
        }
    }
}
