//! Several servers that know nothing of each other, asked at the same time.

use std::io;
use std::panic::resume_unwind;
use std::thread::{self, Builder, ScopedJoinHandle};
use std::time::Duration;

use lockshift_wire::{Command, MonoTime, NoReply, NodeReply, Reply};
use redis::{Client, Connection, RedisError};

use super::carrier::Carrier;
use super::handshake::connect_within;
use crate::driver::connection::reply;
use crate::driver::events::CONNECT;
use crate::driver::host;
use crate::driver::interrupted::{Unanswered, node_reply};
use crate::driver::late_replies::LateReplies;

/// Several independent masters, for a lock that needs most of them: one connection each, made when it is first needed
/// and made anew after it broke.
///
/// A round goes to all of them at the same time, and none is waited for longer than the patience: one that is down, hangs
/// or is far away costs that much, and so do three. What it answers too late is never taken for the answer to something
/// later. A connection that has been idle for a second, or for the patience if that is longer, is asked PING first, with a
/// patience of its own: one that broke meanwhile is replaced, so that a release reaches its master; and so is one that was
/// silent before and still is, if the master answers on a new one.
///
/// ```no_run
/// use std::num::NonZeroU8;
/// use std::time::Duration;
/// use lockshift::driver::blocking::{Lock, Masters};
/// use lockshift::lock::Lease;
/// use lockshift::modern::Redlock;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let clients = ["redis://a/", "redis://b/", "redis://c/"].map(redis::Client::open);
/// let clients = clients.into_iter().collect::<Result<Vec<_>, _>>()?;
/// let three = NonZeroU8::new(3).expect("three is not zero");
/// let locker = Redlock::new("invoices".into(), Lease::new(Duration::from_secs(30))?, three);
/// let lock = Lock::new(Masters::new(clients, Duration::from_millis(50)), locker);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Masters {
    masters: Vec<Master>,
    patience: Duration,
}

#[derive(Debug)]
struct Master {
    client: Client,
    open: Option<OpenMaster>,
}

struct OpenMaster {
    connection: Connection,
    late: LateReplies,
}

impl std::fmt::Debug for OpenMaster {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenMaster").field("late", &self.late).finish_non_exhaustive()
    }
}

impl Masters {
    /// The masters that these clients lead to. Each may take this long (`patience`) to be connected to and to answer a
    /// round: much less than the lease, and more than a round trip. Nothing is connected yet.
    pub fn new(clients: impl IntoIterator<Item = Client>, patience: Duration) -> Self {
        let masters = clients.into_iter().map(|client| Master { client, open: None }).collect();
        Self { masters, patience: patience.max(SHORTEST) }
    }
}

/// The shortest time that can be set as the timeout of a socket.
const SHORTEST: Duration = Duration::from_millis(1);

impl Carrier for Masters {
    fn servers(&self) -> usize {
        self.masters.len()
    }

    /// Asks no PING first: after WATCH or MULTI no other connection may take the place of this one.
    fn send(&mut self, command: &Command) -> Result<Reply, Unanswered> {
        let (master, patience) = (&mut self.masters[place(command)], self.patience);
        master.write_off(host::mono());
        Unanswered::of_node_reply(master.ask(command, patience))
    }

    fn round(&mut self, commands: &[Command]) -> Vec<NodeReply> {
        let (now, patience) = (host::mono(), self.patience);
        self.masters.iter_mut().for_each(|master| master.write_off(now));
        let mut masters: Vec<_> = self.masters.iter_mut().map(Some).collect();
        let replies = thread::scope(|scope| {
            let sent: Vec<Sent<'_, '_>> = commands
                .iter()
                .map(|command| {
                    let master = masters[place(command)].take().expect("a round asks each server once");
                    if master.is_in_use(patience, now) {
                        master.send(command);
                        return Sent::Directly(master);
                    }
                    Sent::ByThread(Builder::new().spawn_scoped(scope, move || master.ask_anew(command, patience)))
                })
                .collect();
            let until = host::mono().saturating_add(patience);
            let left = || until.saturating_since(host::mono());
            sent.into_iter().map(|sent| sent.reply(left())).collect()
        });
        let ended = host::mono();
        commands.iter().for_each(|command| self.masters[place(command)].note_use(ended));
        replies
    }

    fn keeps_its_connection(&self) -> bool {
        true
    }
}

/// A command of a round, under way.
enum Sent<'scope, 'masters> {
    /// It was sent on a connection that is in use.
    Directly(&'masters mut Master),
    /// A thread connects, or asks whether the connection is still open, and then sends it: one that cannot be reached takes
    /// none of the time that the others have to answer.
    ByThread(io::Result<ScopedJoinHandle<'scope, NodeReply>>),
}

impl Sent<'_, '_> {
    fn reply(self, patience: Duration) -> NodeReply {
        match self {
            Self::Directly(master) => master.receive(patience),
            Self::ByThread(Ok(thread)) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
            // A master whose thread cannot be started is unreachable in this round.
            Self::ByThread(Err(_)) => NodeReply::NoReply(NoReply::Unreachable),
        }
    }
}

/// The place among the masters of the one that the command is for.
fn place(command: &Command) -> usize {
    usize::from(command.node().0)
}

impl Master {
    /// Whether its connection is open on both sides, as far as a client can find out without sending anything.
    fn is_in_use(&self, patience: Duration, now: MonoTime) -> bool {
        self.open.as_ref().is_some_and(|open| !open.late.is_to_be_asked(patience, now))
    }

    fn note_use(&mut self, now: MonoTime) {
        self.open.iter_mut().for_each(|open| open.late.note_use(now));
    }

    /// Sends a command on a connection that answers PING, or on a new one, and receives its reply.
    fn ask_anew(&mut self, command: &Command, patience: Duration) -> NodeReply {
        if let Some(open) = &self.open {
            let owed_reply = open.late.owes_reply();
            let is_silent = self.ask(&Command::new("PING"), patience) == NodeReply::NoReply(NoReply::TooSlow);
            if is_silent && !(owed_reply && self.replace(patience)) {
                // What is sent now runs after what is under way, as it must. The time to wait for it has passed.
                self.send(command);
                return self.receive(Duration::ZERO);
            }
        }
        self.ask(command, patience)
    }

    /// Sends a command, connecting if there is no connection, and receives its reply.
    fn ask(&mut self, command: &Command, patience: Duration) -> NodeReply {
        let until = host::mono().saturating_add(patience);
        if self.open.is_none() {
            self.connect(patience);
        }
        self.send(command);
        self.receive(until.saturating_since(host::mono()))
    }

    /// Replaces the connection if the master answers on a new one. Then its path is cut, and the master, which runs, has read all
    /// that has arrived by it.
    fn replace(&mut self, patience: Duration) -> bool {
        let mut anew = Self { client: self.client.clone(), open: None };
        let answers = matches!(anew.ask(&Command::new("PING"), patience), NodeReply::Reply(_));
        if answers {
            self.open = anew.open;
        }
        answers
    }

    /// Closes a connection whose reply is so late that none will come.
    fn write_off(&mut self, now: MonoTime) {
        if self.open.as_ref().is_some_and(|open| open.late.is_hopeless(now)) {
            self.open = None;
        }
    }

    fn connect(&mut self, patience: Duration) {
        match connect_within(&self.client, patience) {
            Ok(connection) => self.open = Some(OpenMaster { connection, late: LateReplies::begin(host::mono()) }),
            Err(error) => log::debug!(target: CONNECT, "{}: {error}", self.client.get_connection_info().addr()),
        }
    }

    /// Sends a command, if there is a connection; one that breaks is closed.
    fn send(&mut self, command: &Command) {
        let Some(open) = &mut self.open else { return };
        if let Err(error) = open.connection.send_packed_command(&command.packed()) {
            log::debug!(target: CONNECT, "{}: {error}", self.client.get_connection_info().addr());
            self.open = None;
        }
    }

    /// Receives the reply to the command that was sent, if there is a connection.
    fn receive(&mut self, patience: Duration) -> NodeReply {
        let Some(open) = &mut self.open else { return NodeReply::NoReply(NoReply::Unreachable) };
        // The `redis` crate knows how many replies came too late, and passes over them.
        let timeout = Some(patience.max(SHORTEST));
        let answer = open.connection.set_read_timeout(timeout).and_then(|()| open.connection.recv_response());
        let noted = |error: &RedisError| {
            log::debug!(target: CONNECT, "{}: {error}", self.client.get_connection_info().addr());
        };
        let reply = node_reply(reply(answer).inspect_err(noted));
        open.late.note(&reply, host::mono());
        if reply == NodeReply::NoReply(NoReply::Unreachable) {
            self.open = None;
        }
        reply
    }
}

/// A master that accepts a connection and never answers.
#[test]
fn a_connection_is_closed_when_its_replies_are_so_late_that_none_will_come() {
    use redis::IntoConnectionInfo;

    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let info = format!("redis://{}/", silent.local_addr().unwrap()).into_connection_info().unwrap();
    // A client that introduces itself waits for a reply to that.
    let wordless = info.redis_settings().clone().set_skip_set_lib_name();
    let client = Client::open(info.set_redis_settings(wordless)).unwrap();
    let mut masters = Masters::new([client], Duration::from_millis(100));
    assert_eq!(masters.round(&[Command::new("PING")]), [NodeReply::NoReply(NoReply::TooSlow)]);
    let master = &mut masters.masters[0];
    master.write_off(host::mono().saturating_add(Duration::from_secs(20)));
    assert!(master.open.is_some(), "they may still come");
    master.write_off(host::mono().saturating_add(Duration::from_secs(40)));
    assert!(master.open.is_none());
}
