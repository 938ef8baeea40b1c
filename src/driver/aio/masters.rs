//! Several servers that know nothing of each other, asked at the same time.

use std::io;
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lockshift_wire::{Command, MonoTime, NoReply, NodeReply, Reply};
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, Cmd, RedisError, RedisResult};
use tokio::task::JoinSet;

use super::carrier::{Carrier, cmd};
use crate::driver::connection::reply;
use crate::driver::events::CONNECT;
use crate::driver::host;
use crate::driver::interrupted::{Unanswered, node_reply};
use crate::driver::late_replies::LateReplies;

/// Several independent masters, for a lock that needs most of them: one connection each, made when it is first needed
/// and made anew after it broke. Clones share the connections.
///
/// A round goes to all of them at the same time, and none is waited for longer than the patience: one that is down,
/// hangs or is far away costs that much, and so do three. What it answers too late is never taken for the answer to
/// something later. A connection that has been idle for a second, or for the patience if that is longer, is asked PING first,
/// with a patience of its own: one that broke meanwhile is replaced, so that a release reaches its master; and so is one that
/// was silent before and still is, if the master answers on a new one.
#[derive(Clone, Debug)]
pub struct Masters {
    masters: Arc<[Arc<Master>]>,
    patience: Duration,
}

#[derive(Debug)]
struct Master {
    client: Client,
    /// Held for single steps, never across an await.
    state: Mutex<MasterState>,
    /// The task that connects; the others wait for it as long as their patience lasts.
    connecting: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct MasterState {
    open: Option<OpenMaster>,
    /// How many connections there have been: the number of the one that is open.
    number: u64,
}

#[derive(Debug)]
struct OpenMaster {
    connection: MultiplexedConnection,
    late: LateReplies,
}

impl MasterState {
    /// Notes a new connection; its number.
    fn opened(&mut self, connection: MultiplexedConnection) -> u64 {
        self.open = Some(OpenMaster { connection, late: LateReplies::begin(host::mono()) });
        self.number += 1;
        self.number
    }

    /// Which connection is open, and when it was used.
    fn use_of_open(&self) -> (u64, Option<LateReplies>) {
        (self.number, self.open.as_ref().map(|open| open.late))
    }
}

impl Masters {
    /// The masters that these clients lead to, each of which may take this long to answer: much less than the lease,
    /// and more than a round trip. Nothing is connected yet.
    pub fn new(clients: impl IntoIterator<Item = Client>, patience: Duration) -> Self {
        let master =
            |client| Arc::new(Master { client, state: Mutex::default(), connecting: tokio::sync::Mutex::default() });
        Self { masters: clients.into_iter().map(master).collect(), patience }
    }
}

impl Carrier for Masters {
    fn servers(&self) -> usize {
        self.masters.len()
    }

    /// Asks no PING first: after WATCH or MULTI no other connection may take the place of this one.
    async fn send(&mut self, command: &Command) -> Result<Reply, Unanswered> {
        let reply = self.each(std::slice::from_ref(command), Idle::UsedAsItIs).await.pop();
        Unanswered::of_node_reply(reply.unwrap_or(NodeReply::NoReply(NoReply::Unreachable)))
    }

    async fn round(&mut self, commands: &[Command]) -> Vec<NodeReply> {
        self.each(commands, Idle::AskedFirst).await
    }
}

/// What becomes of a connection that has been idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Idle {
    AskedFirst,
    UsedAsItIs,
}

impl Masters {
    /// Sends each command to its master, in tasks of their own.
    async fn each(&self, commands: &[Command], idle: Idle) -> Vec<NodeReply> {
        let mut asking = JoinSet::new();
        for (at, command) in commands.iter().enumerate() {
            let master = Arc::clone(&self.masters[usize::from(command.node().0)]);
            let (cmd, patience) = (cmd(command), self.patience);
            asking.spawn(async move {
                let reply = match idle {
                    Idle::AskedFirst => master.ask_anew(&cmd, patience).await,
                    Idle::UsedAsItIs => master.ask(&cmd, patience).await,
                };
                (at, reply)
            });
        }
        let mut replies = vec![NodeReply::NoReply(NoReply::Unreachable); commands.len()];
        while let Some(asked) = asking.join_next().await {
            match asked {
                Ok((at, first_reply)) => replies[at] = first_reply,
                Err(stopped) if stopped.is_panic() => resume_unwind(stopped.into_panic()),
                // The runtime is being shut down.
                Err(_) => {}
            }
        }
        let ended = host::mono();
        commands.iter().for_each(|command| self.masters[usize::from(command.node().0)].note_use(ended));
        replies
    }
}

impl Master {
    /// Sends a command on a connection that answers PING, or on a new one, and receives its reply.
    async fn ask_anew(&self, cmd: &Cmd, patience: Duration) -> NodeReply {
        let mut patience_left = patience;
        if let Some(late) = self.idle(patience) {
            let is_silent = self.ask(&redis::cmd("PING"), patience).await == NodeReply::NoReply(NoReply::TooSlow);
            if is_silent && !(late.owes_reply() && self.replace(patience).await) {
                // What is sent now runs after what is under way, as it must. The time to wait for it has passed.
                patience_left = Duration::ZERO;
            }
        }
        self.ask(cmd, patience_left).await
    }

    /// Sends a command and waits for its reply, altogether no longer than `patience`.
    async fn ask(&self, cmd: &Cmd, patience: Duration) -> NodeReply {
        let mut number = None;
        let answer = host::within(patience, self.exchange(cmd, &mut number)).await;
        let answer = reply(answer.unwrap_or_else(|| Err(io::Error::from(io::ErrorKind::TimedOut).into())));
        let noted = |error: &RedisError| {
            log::debug!(target: CONNECT, "{}: {error}", self.client.get_connection_info().addr());
        };
        let reply = node_reply(answer.inspect_err(noted));
        let mut state = self.state();
        // Unless a newer connection is in use by now.
        if number == Some(state.number)
            && let Some(open) = &mut state.open
        {
            open.late.note(&reply, host::mono());
            if reply == NodeReply::NoReply(NoReply::Unreachable) {
                state.open = None;
            }
        }
        drop(state);
        reply
    }

    /// Sends on the connection that is open, or on a new one, whose number it leaves in `number`. A caller that stops
    /// waiting for the reply does not take the command back: it keeps its place among this connection's commands.
    async fn exchange(&self, cmd: &Cmd, number: &mut Option<u64>) -> RedisResult<redis::Value> {
        let (mut connection, opened) = self.connection().await?;
        *number = Some(opened);
        connection.send_packed_command(cmd).await
    }

    async fn connection(&self) -> RedisResult<(MultiplexedConnection, u64)> {
        if let Some(open) = self.open() {
            return Ok(open);
        }
        let _one_at_a_time = self.connecting.lock().await;
        if let Some(open) = self.open() {
            return Ok(open);
        }
        let connection = self.connect().await?;
        let mut state = self.state();
        let number = state.opened(connection.clone());
        Ok((connection, number))
    }

    /// A new connection. How long this may take is up to the caller.
    async fn connect(&self) -> RedisResult<MultiplexedConnection> {
        let config = AsyncConnectionConfig::new().set_connection_timeout(None).set_response_timeout(None);
        self.client.get_multiplexed_async_connection_with_config(&config).await
    }

    /// Replaces the connection if the master answers on a new one. Then its path is cut, and the master, which runs, has read all
    /// that has arrived by it. One that another task uses meanwhile is kept.
    async fn replace(&self, patience: Duration) -> bool {
        let before = self.state().use_of_open();
        let answering = async {
            let mut anew = self.connect().await?;
            anew.send_packed_command(&redis::cmd("PING")).await?;
            RedisResult::Ok(anew)
        };
        let Some(Ok(anew)) = host::within(patience, answering).await else { return false };
        let mut state = self.state();
        let is_unused = state.use_of_open() == before;
        if is_unused {
            state.opened(anew);
        }
        is_unused
    }

    /// The connection that is open, unless its reply is so late that none will come. It is about to be used.
    fn open(&self) -> Option<(MultiplexedConnection, u64)> {
        let (mut state, now) = (self.state(), host::mono());
        if state.open.as_ref().is_some_and(|open| open.late.is_hopeless(now)) {
            state.open = None;
        }
        let number = state.number;
        state.open.as_mut().map(|open| {
            open.late.note_use(now);
            (open.connection.clone(), number)
        })
    }

    /// What is known of the connection that is open, if it has been idle.
    fn idle(&self, patience: Duration) -> Option<LateReplies> {
        let late = self.state().open.as_ref()?.late;
        late.is_to_be_asked(patience, host::mono()).then_some(late)
    }

    fn note_use(&self, now: MonoTime) {
        self.state().open.iter_mut().for_each(|open| open.late.note_use(now));
    }

    fn state(&self) -> MutexGuard<'_, MasterState> {
        // It is changed in single steps.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A master that accepts connections and never answers, asked by three tasks one after the other.
#[tokio::test]
async fn no_task_waits_longer_for_a_master_than_its_own_patience() {
    let deaf = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = Client::open(format!("redis://{}/", deaf.local_addr().unwrap())).unwrap();
    let masters = Masters::new([client], Duration::from_secs(1));
    let mut asking = JoinSet::new();
    for number in 0..3 {
        let mut masters = masters.clone();
        asking.spawn(async move {
            let replies = masters.round(&[Command::new("PING")]).await;
            (number, replies)
        });
        host::sleep_async(Duration::from_millis(300)).await;
    }
    let mut order = Vec::new();
    while let Some(asked) = asking.join_next().await {
        let (number, replies) = asked.unwrap();
        assert_eq!(replies, [NodeReply::NoReply(NoReply::TooSlow)]);
        order.push(number);
    }
    assert_eq!(order, [0, 1, 2], "each ends when its own patience does");
}

#[tokio::test]
async fn each_connection_to_a_master_has_another_number() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = Client::open(format!("redis://{}/", listener.local_addr().unwrap())).unwrap();
    tokio::spawn(async move {
        let mut accepted = Vec::new();
        loop {
            let (mut connection, _) = listener.accept().await.unwrap();
            // The client says its name and its version.
            let _ = connection.read(&mut [0; 1024]).await.unwrap();
            connection.write_all(b"+OK\r\n+OK\r\n").await.unwrap();
            accepted.push(connection);
        }
    });
    let masters = Masters::new([client], Duration::from_secs(10));
    let master = &masters.masters[0];
    let first = master.connection().await.unwrap().1;
    assert_eq!(master.connection().await.unwrap().1, first, "it is open");
    master.state().open = None;
    assert_ne!(master.connection().await.unwrap().1, first);
}
