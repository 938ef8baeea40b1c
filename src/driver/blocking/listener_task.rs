//! The listener's thread, and what it shares with the waiters.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Builder;
use std::time::Duration;

use lockshift_lock::ReleaseChannel;
use redis::{Client, Connection, ConnectionAddr, ConnectionLike, RedisResult, cmd};

use crate::driver::events::LISTEN;
use crate::driver::host;
use crate::driver::pubsub::{PATIENCE, QUIET, Received, command, kept_alive, still_at};
use crate::driver::waiters::Change;
use crate::driver::waiting::{ListenerState, Waiters};

/// The arguments of the two PINGs.
const FIRST_PING: &[u8] = b"1";
const SECOND_PING: &[u8] = b"2";

/// The longest pause before connecting anew.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// What the listener's thread shares with the waiters.
pub(super) struct ListenerShared {
    find: Find,
    /// The thread blocks in a read, for as long as it takes; what is published here wakes it.
    wake_channel: ReleaseChannel,
    pub(super) waiters: Arc<Waiters>,
    waker: Mutex<ListenerWaker>,
}

/// Finds the server to listen to.
pub(super) type Find = Box<dyn Fn() -> RedisResult<Client> + Send + Sync>;

/// What wakes the thread, on the server that it listens to.
#[derive(Default)]
struct ListenerWaker {
    client: Option<Client>,
    connection: Option<Connection>,
}

impl ListenerShared {
    pub(super) fn new(find: Find) -> Result<Self, getrandom::Error> {
        let channel = format!("lockshift:wake:{}", host::owner(0)?.token.hex()).into_bytes();
        Ok(Self {
            find,
            wake_channel: ReleaseChannel { channel, sharded: false },
            waiters: Arc::new(Waiters::new()),
            waker: Mutex::default(),
        })
    }

    /// A waiter has been refused; the listener is started if it does not run yet.
    pub(super) fn listen_on(self: &Arc<Self>, channel: &ReleaseChannel) {
        let mut state = self.waiters.state();
        match state.listener {
            ListenerState::Gone => {
                state.listener = ListenerState::Connecting;
                drop(state);
                self.start();
            }
            ListenerState::Reading if state.registry.is_wanted(channel) => {
                drop(state);
                self.wake();
            }
            ListenerState::Connecting | ListenerState::Reading | ListenerState::Closed => {}
        }
    }

    /// Ends the thread.
    pub(super) fn close(&self) {
        let state = std::mem::replace(&mut self.waiters.state().listener, ListenerState::Closed);
        if state == ListenerState::Reading {
            self.wake();
        }
    }

    fn start(self: &Arc<Self>) {
        let shared = Arc::clone(self);
        if let Err(error) = Builder::new().name("lockshift-listener".into()).spawn(move || shared.listen()) {
            log::warn!(target: LISTEN, "cannot start the listener's thread, so waiting means polling: {error}");
            self.waiters.state().listener = ListenerState::Gone;
        }
    }

    /// Wakes the thread from its read. If that cannot be done, waiters go on polling.
    fn wake(&self) {
        let mut waker = self.waker.lock().unwrap_or_else(PoisonError::into_inner);
        let message = cmd("PUBLISH").arg(&self.wake_channel.channel).arg("").to_owned();
        for _ in 0..2 {
            let sent = match waker.connected() {
                Ok(mut connection) => connection.req_command(&message).map(|_| waker.connection = Some(connection)),
                Err(error) => Err(error),
            };
            self.waiters.count_command();
            match sent {
                Ok(()) => return,
                Err(error) => log::debug!(target: LISTEN, "could not wake the listener: {error}"),
            }
        }
    }

    /// The thread: listens, over one connection after the other, for as long as a client waits or may wait.
    fn listen(&self) {
        let mut pause = Duration::from_millis(10);
        loop {
            let error = match self.connect() {
                Ok((connection, address)) => {
                    log::debug!(target: LISTEN, "listening for releases on {address}");
                    pause = Duration::from_millis(10);
                    match self.serve(connection, &address) {
                        Ok(()) => return,
                        Err(error) => error,
                    }
                }
                Err(error) => error,
            };
            if !self.goes_on() {
                return;
            }
            log::warn!(target: LISTEN, "cannot listen for releases, so waiting means polling: {error}");
            host::sleep(pause);
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Whether to connect anew. No waiter stays in a registry that no thread reads.
    fn goes_on(&self) -> bool {
        let mut state = self.waiters.state();
        state.registry.broke();
        let goes_on = state.listener != ListenerState::Closed && !state.registry.is_empty();
        if state.listener != ListenerState::Closed {
            state.listener = if goes_on { ListenerState::Connecting } else { ListenerState::Gone };
        }
        goes_on
    }

    fn connect(&self) -> RedisResult<(Connection, ConnectionAddr)> {
        let client = Client::open(kept_alive((self.find)()?.get_connection_info()))?;
        let connection = client.get_connection_with_timeout(PATIENCE)?;
        connection.set_write_timeout(Some(PATIENCE))?;
        let address = client.get_connection_info().addr().clone();
        *self.waker.lock().unwrap_or_else(PoisonError::into_inner) =
            ListenerWaker { client: Some(client), connection: None };
        Ok((connection, address))
    }

    /// Listens on this connection until it breaks, or no waiter is left and none can come.
    fn serve(&self, mut connection: Connection, address: &ConnectionAddr) -> RedisResult<()> {
        let mut asked = VecDeque::new();
        self.ask(Change::Listen(self.wake_channel.clone()), &mut connection, &mut asked)?;
        loop {
            let received = self.receive(&mut connection, address)?;
            if let Received::Refused(text) = &received {
                log::warn!(target: LISTEN, "a subscription is refused, so waiting means polling: {text}");
            }
            let Some(due) = self.note(received, &mut asked) else { return Ok(()) };
            for change in due {
                self.ask(change, &mut connection, &mut asked)?;
            }
        }
    }

    /// What comes in next. A server that is quiet for long is asked for a word, and given up if it says none, or if it is no
    /// longer the one to listen to.
    ///
    /// The `redis` crate takes whatever comes in after a read that timed out for a late reply, and drops it. So two PINGs
    /// are sent, of which it drops the first; if that one comes all the same, something else was dropped in its place,
    /// and the connection is of no use any more.
    fn receive(&self, connection: &mut Connection, address: &ConnectionAddr) -> RedisResult<Received> {
        connection.set_read_timeout(Some(QUIET))?;
        match connection.recv_response() {
            Err(error) if error.is_timeout() => {}
            received => return received.map(Received::in_value),
        }
        for argument in [FIRST_PING, SECOND_PING] {
            connection.send_packed_command(&cmd("PING").arg(argument).get_packed_command())?;
            self.waiters.count_command();
        }
        connection.set_read_timeout(Some(PATIENCE))?;
        match Received::in_value(connection.recv_response()?) {
            Received::Pong(argument) if argument == SECOND_PING => {
                still_at(address, (self.find)()).map(|()| Received::Nothing)
            }
            // Also a message that came before both replies, as they may be dropped in its place or not.
            _ => Err(io::Error::other("a message may have been missed while the server was quiet").into()),
        }
    }

    /// Takes note of what came in: what is to be asked now, or `None` if no waiter can come any more.
    fn note(&self, received: Received, asked: &mut VecDeque<Change>) -> Option<Vec<Change>> {
        let mut state = self.waiters.state();
        match received {
            Received::Message(channel, text) => state.registry.received(&channel, &text, host::mono()),
            Received::Left(channel) if asked.front() != Some(&Change::Leave(channel.clone())) => {
                state.registry.lost(&channel);
            }
            Received::Done | Received::Left(_) => match asked.pop_front() {
                Some(Change::Listen(channel)) if channel == self.wake_channel => {
                    if state.listener == ListenerState::Connecting {
                        state.listener = ListenerState::Reading;
                    }
                }
                Some(Change::Listen(channel)) => state.registry.confirmed(&channel),
                Some(Change::Leave(_)) | None => {}
            },
            Received::Refused(_) => match asked.pop_front() {
                // Without that subscription the registry is read whenever something else comes in.
                Some(Change::Listen(channel)) => state.registry.refused(&channel),
                Some(Change::Leave(_)) | None => {}
            },
            Received::Pong(_) | Received::Broken | Received::Nothing => {}
        }
        (state.listener != ListenerState::Closed).then(|| state.registry.due(host::mono()))
    }

    fn ask(&self, change: Change, connection: &mut Connection, asked: &mut VecDeque<Change>) -> RedisResult<()> {
        connection.send_packed_command(&command(&change).get_packed_command())?;
        self.waiters.count_command();
        asked.push_back(change);
        Ok(())
    }
}

impl ListenerWaker {
    /// The connection, taken out.
    fn connected(&mut self) -> RedisResult<Connection> {
        if let Some(connection) = self.connection.take() {
            return Ok(connection);
        }
        let Some(client) = &self.client else { return Err(io::Error::from(io::ErrorKind::NotConnected).into()) };
        let connection = client.get_connection_with_timeout(PATIENCE)?;
        connection.set_read_timeout(Some(PATIENCE))?;
        connection.set_write_timeout(Some(PATIENCE))?;
        Ok(connection)
    }
}

/// The slot of a channel may move to another server, which ends the subscription.
#[test]
fn a_channel_that_the_server_has_left_is_listened_to_again() {
    let shared = ListenerShared::new(Box::new(|| Client::open("redis://127.0.0.1/"))).unwrap();
    let channel = ReleaseChannel { channel: b"channel".to_vec(), sharded: true };
    let (name, wake_up) = (lockshift_lock::Token::new([1; 16]), crate::driver::wake_up::WakeUp::default());
    let waiter = crate::driver::waiters::Waiter::new(name, lockshift_lock::RefusalScope::OneWaiter, wake_up);
    shared.waiters.state().registry.enter_after_attempt(&channel, waiter, host::mono());
    let listen = || Change::Listen(channel.clone());
    let mut asked = VecDeque::new();
    assert_eq!(shared.note(Received::Nothing, &mut asked), Some(vec![listen()]));
    asked.push_back(listen());
    assert_eq!(shared.note(Received::Done, &mut asked), Some(Vec::new()));
    assert_eq!(shared.note(Received::Left(channel.clone()), &mut asked), Some(vec![listen()]));
}
