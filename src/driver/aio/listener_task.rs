//! The task that listens, and what it shares with those who wait.

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

use super::alarm::Alarm;
use crate::driver::events::LISTEN;
use crate::driver::host;
use crate::driver::pubsub::{Heard, PATIENCE, QUIET, command, kept_alive};
use crate::driver::waiters::{Book, Change};

/// The longest pause before connecting anew.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// How often the book is looked into for channels that nobody needs any more.
const LOOK: Duration = Duration::from_secs(1);

/// What the task that listens shares with those who wait.
pub(super) struct ListenerShared {
    client: Client,
    inside: Mutex<ListenerState>,
    /// Somebody waits on a channel that is not subscribed to.
    wanted: Notify,
    commands: AtomicU64,
}

struct ListenerState {
    book: Book<Arc<Alarm>>,
    is_listening: bool,
}

impl ListenerShared {
    pub(super) fn new(client: Client) -> Self {
        let inside = Mutex::new(ListenerState { book: Book::new(), is_listening: false });
        Self { client, inside, wanted: Notify::new(), commands: AtomicU64::new(0) }
    }

    pub(super) fn commands(&self) -> u64 {
        self.commands.load(Ordering::Relaxed)
    }

    pub(super) fn hears(&self, bell: &ReleaseChannel) -> bool {
        self.inside().book.is_confirmed(bell)
    }

    pub(super) fn waiters(&self, bell: &ReleaseChannel) -> Option<usize> {
        self.inside().book.waiters(bell)
    }

    /// Somebody begins to wait; if nobody listens yet, somebody will.
    pub(super) fn enter(self: &Arc<Self>, bell: &ReleaseChannel, name: Token, alarm: Arc<Alarm>) -> u64 {
        let number = self.inside().book.enter(bell, name, alarm);
        self.listen();
        self.wanted.notify_one();
        number
    }

    /// Sees to it that somebody listens. The task that did may have ended with its runtime.
    pub(super) fn listen(self: &Arc<Self>) {
        let mut inside = self.inside();
        if !inside.is_listening {
            inside.is_listening = true;
            tokio::spawn(ListenerTask { hall: Arc::clone(self), is_done: false }.listen());
        }
    }

    pub(super) fn leave(&self, bell: &ReleaseChannel, number: u64, passes_on: bool) {
        self.inside().book.leave(bell, number, passes_on, host::mono());
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

    /// Listens on this connection until it breaks, or nobody waits any more.
    async fn serve(
        &self,
        mut connection: MultiplexedConnection,
        mut pushes: UnboundedReceiver<PushInfo>,
    ) -> RedisResult<()> {
        let mut heard_at = host::mono();
        loop {
            let due = self.inside().book.due(host::mono());
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
                    Some(Heard::Message(bell, text)) => {
                        heard_at = host::mono();
                        self.inside().book.heard(&bell, &text);
                    }
                    Some(Heard::Broken) | None => return Err(io::Error::from(io::ErrorKind::BrokenPipe).into()),
                    Some(Heard::Done | Heard::Refused(_) | Heard::Pong(_) | Heard::Nothing) => {}
                },
                () = self.wanted.notified() => {}
                () = host::sleep_async(LOOK) => {
                    let mut inside = self.inside();
                    if inside.book.is_empty() {
                        inside.is_listening = false;
                        inside.book.broke();
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
            (Change::Listen(bell), Ok(_)) => self.inside().book.confirmed(bell),
            (Change::Listen(bell), Err(error)) if error.code().is_some() => {
                log::warn!(target: LISTEN, "a subscription is refused, so waiting means polling: {error}");
                self.inside().book.refused(bell);
            }
            (Change::Leave(_), Ok(_)) => {}
            (Change::Listen(_) | Change::Leave(_), Err(error)) => return Err(error),
        }
        Ok(())
    }

    fn inside(&self) -> MutexGuard<'_, ListenerState> {
        // Whatever panicked, a book is read on: at worst somebody is woken for nothing.
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The task. If its runtime ends before it does, the next who waits starts another one.
struct ListenerTask {
    hall: Arc<ListenerShared>,
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
            log::warn!(target: LISTEN, "releases are not heard, so waiting means polling: {error}");
            host::sleep_async(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
        self.is_done = true;
    }

    async fn listen_once(&self, pause: &mut Duration) -> RedisResult<()> {
        let (connection, pushes) = self.hall.connect().await?;
        log::debug!(target: LISTEN, "listening for releases");
        *pause = Duration::from_millis(10);
        self.hall.serve(connection, pushes).await
    }

    /// Whether nobody waits any more, so that there is no need to connect anew.
    fn ends(&mut self) -> bool {
        let mut inside = self.hall.inside();
        inside.book.broke();
        inside.is_listening = !inside.book.is_empty();
        self.is_done = !inside.is_listening;
        self.is_done
    }
}

impl Drop for ListenerTask {
    fn drop(&mut self) {
        if !self.is_done {
            let mut inside = self.hall.inside();
            inside.is_listening = false;
            inside.book.broke();
        }
    }
}
