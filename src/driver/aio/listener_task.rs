//! The listener's task, and what it shares with the waiters.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lockshift_lock::{ReleaseChannel, Token};
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, ProtocolVersion, PushInfo, RedisResult, cmd};
use tokio::select;
use tokio::sync::Notify;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::wake_up::WakeUp;
use crate::driver::events::LISTEN;
use crate::driver::host;
use crate::driver::pubsub::{Heard, PATIENCE, QUIET, command, kept_alive};
use crate::driver::waiters::{Change, WaiterRegistry};

/// The longest pause before connecting anew.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// How often the registry is searched for channels without waiters.
const LOOK: Duration = Duration::from_secs(1);

/// What the listener's task shares with the waiters.
pub(super) struct ListenerShared {
    client: Client,
    state: Mutex<ListenerState>,
    /// A waiter waits on a channel that is not subscribed to.
    wanted: Notify,
    commands: AtomicU64,
}

struct ListenerState {
    registry: WaiterRegistry<Arc<WakeUp>>,
    is_listening: bool,
}

impl ListenerShared {
    pub(super) fn new(client: Client) -> Self {
        let state = Mutex::new(ListenerState { registry: WaiterRegistry::new(), is_listening: false });
        Self { client, state, wanted: Notify::new(), commands: AtomicU64::new(0) }
    }

    pub(super) fn commands(&self) -> u64 {
        self.commands.load(Ordering::Relaxed)
    }

    pub(super) fn hears(&self, channel: &ReleaseChannel) -> bool {
        self.state().registry.is_confirmed(channel)
    }

    pub(super) fn waiters(&self, channel: &ReleaseChannel) -> Option<usize> {
        self.state().registry.waiters(channel)
    }

    /// A waiter begins; the listener is started if it does not run yet.
    pub(super) fn enter(self: &Arc<Self>, channel: &ReleaseChannel, name: Token, wake_up: Arc<WakeUp>) -> u64 {
        let number = self.state().registry.enter(channel, name, wake_up);
        self.listen();
        self.wanted.notify_one();
        number
    }

    /// Starts the listener's task if none runs. The last one may have ended with its runtime.
    pub(super) fn listen(self: &Arc<Self>) {
        let mut state = self.state();
        if !state.is_listening {
            state.is_listening = true;
            tokio::spawn(ListenerTask { shared: Arc::clone(self), is_done: false }.listen());
        }
    }

    pub(super) fn leave(&self, channel: &ReleaseChannel, number: u64, passes_on: bool) {
        self.state().registry.leave(channel, number, passes_on, host::mono());
    }

    async fn connect(&self) -> RedisResult<(MultiplexedConnection, UnboundedReceiver<PushInfo>)> {
        let info = kept_alive(self.client.get_connection_info());
        let resp3 = info.redis_settings().clone().set_protocol(ProtocolVersion::RESP3);
        let (pushes, heard) = unbounded_channel();
        let config = AsyncConnectionConfig::new()
            .set_push_sender(pushes)
            .set_connection_timeout(Some(PATIENCE))
            .set_response_timeout(Some(PATIENCE));
        let client = Client::open(info.set_redis_settings(resp3))?;
        Ok((client.get_multiplexed_async_connection_with_config(&config).await?, heard))
    }

    /// Listens on this connection until it breaks, or no waiter is left.
    async fn serve(
        &self,
        mut connection: MultiplexedConnection,
        mut pushes: UnboundedReceiver<PushInfo>,
    ) -> RedisResult<()> {
        let mut heard_at = host::mono();
        loop {
            let due = self.state().registry.due(host::mono());
            for change in due {
                self.ask(&change, &mut connection).await?;
                heard_at = host::mono();
            }
            if host::mono().saturating_since(heard_at) >= QUIET {
                self.commands.fetch_add(1, Ordering::Relaxed);
                connection.send_packed_command(&cmd("PING")).await?;
                heard_at = host::mono();
            }
            select! {
                push = pushes.recv() => match push.map(|push| Heard::in_push(&push.kind, push.data)) {
                    Some(Heard::Message(channel, text)) => {
                        heard_at = host::mono();
                        self.state().registry.heard(&channel, &text);
                    }
                    Some(Heard::Broken) | None => return Err(io::Error::from(io::ErrorKind::BrokenPipe).into()),
                    Some(Heard::Done | Heard::Refused(_) | Heard::Pong(_) | Heard::Nothing) => {}
                },
                () = self.wanted.notified() => {}
                () = host::sleep_async(LOOK) => {
                    let mut state = self.state();
                    if state.registry.is_empty() {
                        state.is_listening = false;
                        state.registry.broke();
                        return Ok(());
                    }
                }
            }
        }
    }

    /// A refusal is noted, a broken connection is an error.
    async fn ask(&self, change: &Change, connection: &mut MultiplexedConnection) -> RedisResult<()> {
        self.commands.fetch_add(1, Ordering::Relaxed);
        let answer = connection.send_packed_command(&command(change)).await.and_then(|value| value.extract_error());
        match (change, answer) {
            (Change::Listen(channel), Ok(_)) => self.state().registry.confirmed(channel),
            (Change::Listen(channel), Err(error)) if error.code().is_some() => {
                log::warn!(target: LISTEN, "a subscription is refused, so waiting means polling: {error}");
                self.state().registry.refused(channel);
            }
            (Change::Leave(_), Ok(_)) => {}
            (Change::Listen(_) | Change::Leave(_), Err(error)) => return Err(error),
        }
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, ListenerState> {
        // Also after a panic: at worst a waiter is woken for nothing.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The task. If its runtime ends before it does, the next who waits starts another one.
struct ListenerTask {
    shared: Arc<ListenerShared>,
    is_done: bool,
}

impl ListenerTask {
    /// Listens, over one connection after the other, for as long as anybody waits.
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
        let (connection, pushes) = self.shared.connect().await?;
        log::debug!(target: LISTEN, "listening for releases");
        *pause = Duration::from_millis(10);
        self.shared.serve(connection, pushes).await
    }

    /// Whether no waiter is left, so that there is no need to connect anew.
    fn ends(&mut self) -> bool {
        let mut state = self.shared.state();
        state.registry.broke();
        state.is_listening = !state.registry.is_empty();
        self.is_done = !state.is_listening;
        self.is_done
    }
}

impl Drop for ListenerTask {
    fn drop(&mut self) {
        if !self.is_done {
            let mut state = self.shared.state();
            state.is_listening = false;
            state.registry.broke();
        }
    }
}
