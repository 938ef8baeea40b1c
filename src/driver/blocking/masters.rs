//! Several servers that know nothing of each other, asked at the same time.

use std::thread;
use std::time::Duration;

use lockshift_wire::{Command, MonoTime, NoReply, NodeReply, Reply};
use redis::{Client, Connection, RedisError, RedisResult};

use super::carrier::Carrier;
use crate::driver::connection::reply;
use crate::driver::events::CONNECT;
use crate::driver::host;
use crate::driver::interrupted::{Unanswered, node_reply};
use crate::driver::late_replies::LateReplies;

/// Several independent masters, for a lock that needs most of them: one connection each, made when it is first needed
/// and made anew after it broke.
///
/// A round goes to all of them before any reply is awaited, and none is waited for longer than the patience: one that
/// is down, hangs or is far away costs that much, and so do three. What it answers too late is never taken for the
/// answer to something later.
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

    fn send(&mut self, command: &Command) -> Result<Reply, Unanswered> {
        let reply = self.round(std::slice::from_ref(command)).pop();
        Unanswered::of_node_reply(reply.unwrap_or(NodeReply::NoReply(NoReply::Unreachable)))
    }

    fn round(&mut self, commands: &[Command]) -> Vec<NodeReply> {
        let began = host::mono();
        self.masters.iter_mut().for_each(|master| master.write_off(began));
        let (open, closed): (Vec<&Command>, Vec<&Command>) =
            commands.iter().partition(|command| self.masters[place(command)].open.is_some());
        open.into_iter().for_each(|command| self.masters[place(command)].send(command));
        self.connect_and_send(&closed);

        let until = began.saturating_add(self.patience);
        commands.iter().map(|command| self.masters[place(command)].receive(until)).collect()
    }

    fn keeps_its_connection(&self) -> bool {
        true
    }
}

impl Masters {
    /// Connects to the masters that these commands are for, to all at the same time, and sends to each as soon as it is
    /// connected: one that cannot be reached takes none of the time that the others have to answer.
    fn connect_and_send(&mut self, commands: &[&Command]) {
        let patience = self.patience;
        thread::scope(|scope| {
            for (at, master) in self.masters.iter_mut().enumerate() {
                let Some(command) = commands.iter().copied().find(|command| place(command) == at) else { continue };
                let connect_and_send = move || {
                    master.connect(patience);
                    master.send(command);
                };
                // A master whose thread cannot be started is unreachable in this round.
                let _ = thread::Builder::new().spawn_scoped(scope, connect_and_send);
            }
        });
    }
}

/// The place among the masters of the one that the command is for.
fn place(command: &Command) -> usize {
    usize::from(command.node().0)
}

impl Master {
    /// Closes a connection whose reply is so late that none will come.
    fn write_off(&mut self, now: MonoTime) {
        if self.open.as_ref().is_some_and(|open| open.late.is_hopeless(now)) {
            self.open = None;
        }
    }

    fn connect(&mut self, patience: Duration) {
        let connected = || -> RedisResult<Connection> {
            let connection = self.client.get_connection_with_timeout(patience)?;
            connection.set_write_timeout(Some(patience))?;
            Ok(connection)
        };
        match connected() {
            Ok(connection) => self.open = Some(OpenMaster { connection, late: LateReplies::default() }),
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
    fn receive(&mut self, until: MonoTime) -> NodeReply {
        let Some(open) = &mut self.open else { return NodeReply::NoReply(NoReply::Unreachable) };
        let left = until.saturating_since(host::mono()).max(SHORTEST);
        // The `redis` crate knows how many replies came too late, and passes over them.
        let answer = open.connection.set_read_timeout(Some(left)).and_then(|()| open.connection.recv_response());
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
