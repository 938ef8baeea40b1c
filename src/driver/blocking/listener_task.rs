//! The thread that listens, and what it shares with those who wait.

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;
use std::time::Duration;

use lockshift_lock::{ReleaseChannel, Token};
use redis::{Client, Connection, ConnectionLike, RedisResult, cmd};

use super::alarm::Alarm;
use crate::driver::events::LISTEN;
use crate::driver::host;
use crate::driver::pubsub::{Heard, PATIENCE, QUIET, command, kept_alive};
use crate::driver::waiters::{Book, Change};

/// The arguments of the two PINGs.
const FIRST_PING: &[u8] = b"1";
const SECOND_PING: &[u8] = b"2";

/// The longest pause before connecting anew.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// What the thread that listens shares with those who wait.
pub(super) struct ListenerShared {
    client: Client,
    /// The thread blocks in a read, for as long as it takes; what is published here wakes it.
    door: ReleaseChannel,
    inside: Mutex<ListenerState>,
    knocker: Mutex<Option<Connection>>,
    commands: AtomicU64,
}

struct ListenerState {
    book: Book<Arc<Alarm>>,
    thread: Thread,
    is_closed: bool,
}

/// How far the thread is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Thread {
    /// There is none.
    Gone,
    /// It will look into the book before it begins to read.
    Connecting,
    /// It reads, and has to be woken.
    Reading,
}

impl ListenerShared {
    pub(super) fn new(client: Client) -> Result<Self, getrandom::Error> {
        let channel = format!("lockshift:door:{}", host::owner(0)?.token.hex()).into_bytes();
        Ok(Self {
            client,
            door: ReleaseChannel { channel, sharded: false },
            inside: Mutex::new(ListenerState { book: Book::new(), thread: Thread::Gone, is_closed: false }),
            knocker: Mutex::new(None),
            commands: AtomicU64::new(0),
        })
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
        let mut inside = self.inside();
        let number = inside.book.enter(bell, name, alarm);
        match inside.thread {
            Thread::Gone => {
                inside.thread = Thread::Connecting;
                drop(inside);
                self.start();
            }
            Thread::Reading if inside.book.is_wanted(bell) => {
                drop(inside);
                self.knock();
            }
            Thread::Connecting | Thread::Reading => {}
        }
        number
    }

    pub(super) fn leave(&self, bell: &ReleaseChannel, number: u64, passes_on: bool) {
        self.inside().book.leave(bell, number, passes_on, host::mono());
    }

    /// Ends the thread.
    pub(super) fn close(&self) {
        let mut inside = self.inside();
        inside.is_closed = true;
        if inside.thread == Thread::Reading {
            drop(inside);
            self.knock();
        }
    }

    fn start(self: &Arc<Self>) {
        let hall = Arc::clone(self);
        if let Err(error) = Builder::new().name("lockshift-bells".into()).spawn(move || hall.listen()) {
            log::warn!(target: LISTEN, "no thread to hear releases from, so waiting means polling: {error}");
            self.inside().thread = Thread::Gone;
        }
    }

    /// Wakes the thread from its read. If that cannot be done, who waits goes on polling.
    fn knock(&self) {
        let mut knocker = self.knocker.lock().unwrap_or_else(PoisonError::into_inner);
        let knock = cmd("PUBLISH").arg(&self.door.channel).arg("").to_owned();
        for _ in 0..2 {
            let sent = match knocker.take().map_or_else(|| self.connect_to_knock(), Ok) {
                Ok(mut connection) => connection.req_command(&knock).map(|_| *knocker = Some(connection)),
                Err(error) => Err(error),
            };
            self.commands.fetch_add(1, Ordering::Relaxed);
            match sent {
                Ok(()) => return,
                Err(error) => log::debug!(target: LISTEN, "could not wake the listener: {error}"),
            }
        }
    }

    fn connect_to_knock(&self) -> RedisResult<Connection> {
        let connection = self.client.get_connection_with_timeout(PATIENCE)?;
        connection.set_read_timeout(Some(PATIENCE))?;
        connection.set_write_timeout(Some(PATIENCE))?;
        Ok(connection)
    }

    /// The thread: listens, over one connection after the other, for as long as anybody waits or may wait.
    fn listen(&self) {
        let mut pause = Duration::from_millis(10);
        loop {
            let error = match self.connect() {
                Ok(connection) => {
                    log::debug!(target: LISTEN, "listening for releases");
                    pause = Duration::from_millis(10);
                    match self.serve(connection) {
                        Ok(()) => return,
                        Err(error) => error,
                    }
                }
                Err(error) => error,
            };
            if !self.goes_on() {
                return;
            }
            log::warn!(target: LISTEN, "releases are not heard, so waiting means polling: {error}");
            host::sleep(pause);
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Whether to connect anew. Nobody is left in a book that would be read by no thread.
    fn goes_on(&self) -> bool {
        let mut inside = self.inside();
        inside.book.broke();
        let goes_on = !inside.is_closed && !inside.book.is_empty();
        inside.thread = if goes_on { Thread::Connecting } else { Thread::Gone };
        goes_on
    }

    fn connect(&self) -> RedisResult<Connection> {
        let client = Client::open(kept_alive(self.client.get_connection_info()))?;
        let connection = client.get_connection_with_timeout(PATIENCE)?;
        connection.set_write_timeout(Some(PATIENCE))?;
        Ok(connection)
    }

    /// Listens on this connection until it breaks, or nobody is there any more.
    fn serve(&self, mut connection: Connection) -> RedisResult<()> {
        let mut asked = VecDeque::new();
        self.ask(Change::Listen(self.door.clone()), &mut connection, &mut asked)?;
        loop {
            let heard = self.hear(&mut connection)?;
            if let Heard::Refused(text) = &heard {
                log::warn!(target: LISTEN, "a subscription is refused, so waiting means polling: {text}");
            }
            let Some(due) = self.note(heard, &mut asked) else { return Ok(()) };
            for change in due {
                self.ask(change, &mut connection, &mut asked)?;
            }
        }
    }

    /// What comes in next. A server that is quiet for long is asked for a word, and given up if it says none.
    ///
    /// The `redis` crate takes whatever comes in after a read that timed out for a late reply, and drops it. So two PINGs
    /// are sent, of which it drops the first; if that one comes all the same, something else was dropped in its place,
    /// and the connection is of no use any more.
    fn hear(&self, connection: &mut Connection) -> RedisResult<Heard> {
        connection.set_read_timeout(Some(QUIET))?;
        match connection.recv_response() {
            Err(error) if error.is_timeout() => {}
            received => return received.map(Heard::in_value),
        }
        for argument in [FIRST_PING, SECOND_PING] {
            connection.send_packed_command(&cmd("PING").arg(argument).get_packed_command())?;
            self.commands.fetch_add(1, Ordering::Relaxed);
        }
        connection.set_read_timeout(Some(PATIENCE))?;
        match Heard::in_value(connection.recv_response()?) {
            Heard::Pong(argument) if argument == SECOND_PING => Ok(Heard::Nothing),
            // Also a message that came before both replies, as they may be dropped in its place or not.
            _ => Err(io::Error::other("a message may have been missed while the server was quiet").into()),
        }
    }

    /// Takes note of what came in: what is to be asked now, or `None` if nobody will wait any more.
    fn note(&self, heard: Heard, asked: &mut VecDeque<Change>) -> Option<Vec<Change>> {
        let mut inside = self.inside();
        match heard {
            Heard::Message(bell, text) => inside.book.heard(&bell, &text),
            Heard::Done => match asked.pop_front() {
                Some(Change::Listen(bell)) if bell == self.door => inside.thread = Thread::Reading,
                Some(Change::Listen(bell)) => inside.book.confirmed(&bell),
                Some(Change::Leave(_)) | None => {}
            },
            Heard::Refused(_) => match asked.pop_front() {
                // Without a door the book is read whenever something else comes in.
                Some(Change::Listen(bell)) => inside.book.refused(&bell),
                Some(Change::Leave(_)) | None => {}
            },
            Heard::Pong(_) | Heard::Broken | Heard::Nothing => {}
        }
        if inside.is_closed {
            inside.thread = Thread::Gone;
            return None;
        }
        Some(inside.book.due(host::mono()))
    }

    fn ask(&self, change: Change, connection: &mut Connection, asked: &mut VecDeque<Change>) -> RedisResult<()> {
        connection.send_packed_command(&command(&change).get_packed_command())?;
        self.commands.fetch_add(1, Ordering::Relaxed);
        asked.push_back(change);
        Ok(())
    }

    fn inside(&self) -> MutexGuard<'_, ListenerState> {
        // Whatever panicked, a book is read on: at worst somebody is woken for nothing.
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
