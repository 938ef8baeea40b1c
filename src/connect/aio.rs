//! The connection of a program with tasks.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lockshift_wire::{Command, MonoTime, NodeReply, Reply};
use redis::aio::{ConnectionLike, MultiplexedConnection};
use redis::{Arg, Cmd, Pipeline, RedisError, RedisFuture, RedisResult, Value, cmd};
use tokio::runtime::Id;
use tokio::sync::watch;

use super::batch::{BatchingConnection, Sending};
use super::delivery::{Delivery, Next, is_to_be_asked};
use super::node::Node;
use super::routing;
use super::server::{Place, Server};
use super::slots::SlotTable;
use super::topology::{Topology, is_master, master_command, named_master, slots_command};
use super::transaction::Transaction;
use crate::driver::aio::{Carrier, answered, cmd as cmd_of};
use crate::driver::{Unanswered, host, unsent};

/// A connection to one server, to a cluster, or to the master that sentinels name, which opens anew after it broke.
///
/// See [the module above](super) for what it does between commands, and never within one. Clones share it, and may send
/// at the same time, also from several runtimes: one other than that on which it was opened asks PING once a second before it
/// uses it, as no reply is read once that runtime has ended. For a protocol that uses WATCH and MULTI make one of its own, to
/// one server, and hand it to [`Lock::on_own_connection`](crate::driver::aio::Lock::on_own_connection).
#[derive(Clone)]
pub struct Connection(Arc<SharedParts>);

struct SharedParts {
    server: Server,
    state: Mutex<OpenState>,
}

#[derive(Default)]
struct OpenState {
    topology: Option<Topology>,
    /// The search for the topology, if one is under way.
    discovering: Option<Joint<()>>,
    nodes: BTreeMap<Arc<str>, Slot>,
    transaction: Transaction,
}

/// The connection to one server.
#[derive(Default)]
struct Slot {
    open: Option<Open>,
    /// The opening, or the PING before it, if one is under way.
    opening: Option<Joint<Open>>,
}

/// What one task does for all that need it meanwhile, so that many do not wait for a server that hangs one behind the other. It is
/// no caller's future: a caller that does not poll would keep all others from the server.
struct Joint<T> {
    /// The runtime that runs the task. Others do not wait for it, because this one may stand still.
    runtime: Option<Id>,
    outcome: watch::Receiver<Option<RedisResult<T>>>,
}

impl<T> Joint<T> {
    /// How it will end, for a task of this runtime; `None` if it has ended, or is not to be waited for.
    fn under_way(&self, runtime: Option<Id>) -> Option<watch::Receiver<Option<RedisResult<T>>>> {
        let is_under_way = self.outcome.has_changed().is_ok() && self.outcome.borrow().is_none();
        (self.runtime == runtime && is_under_way).then(|| self.outcome.clone())
    }
}

/// An open connection to one server. Clones are the same: each command of each task makes one, at the cost of one counter.
#[derive(Clone)]
struct Open(Arc<OpenConnection>);

struct OpenConnection {
    connection: Arc<BatchingConnection>,
    /// The server at the other end.
    node: Node,
    answered: LastAnswer,
    answered_elsewhere: AnswersElsewhere,
}

/// When the tasks of other runtimes than that on which the connection was opened had their last answer over it. One of them cannot
/// tell whether that runtime still runs: without it no reply is read.
#[derive(Default)]
struct AnswersElsewhere(Mutex<Vec<(Id, MonoTime)>>);

impl AnswersElsewhere {
    /// Notes the answer to what was sent then.
    fn note(&self, sent: Sending) {
        let Some(here) = sent.runtime else { return };
        let mut answers = self.answers();
        answers.retain(|(runtime, answered)| *runtime != here && !is_to_be_asked(Some(*answered), sent.at));
        answers.push((here, sent.at));
    }

    /// Whether a task of the same runtime had an answer just before this is sent.
    fn is_fresh(&self, now: Sending) -> bool {
        let is_here = |runtime| now.runtime == Some(runtime);
        self.answers().iter().any(|(runtime, answered)| is_here(*runtime) && !is_to_be_asked(Some(*answered), now.at))
    }

    fn answers(&self) -> MutexGuard<'_, Vec<(Id, MonoTime)>> {
        // Each change leaves it sound.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// When that was sent which a server has answered last, in nanoseconds since the origin of the clock; 0 if it owes a reply. Every
/// command of every task notes it.
struct LastAnswer(AtomicU64);

impl LastAnswer {
    fn note(&self, answered: Option<MonoTime>) {
        let nanos = answered.map_or(0, |at| at.saturating_since(ORIGIN).as_nanos().try_into().unwrap_or(u64::MAX));
        self.0.store(nanos, Ordering::Relaxed);
    }

    fn get(&self) -> Option<MonoTime> {
        match self.0.load(Ordering::Relaxed) {
            0 => None,
            nanos => Some(MonoTime::since_origin(Duration::from_nanos(nanos))),
        }
    }
}

const ORIGIN: MonoTime = MonoTime::since_origin(Duration::ZERO);

impl Open {
    fn to(node: &Node, connection: MultiplexedConnection) -> Self {
        let (answered, answered_elsewhere) = (LastAnswer(AtomicU64::new(0)), AnswersElsewhere::default());
        answered.note(Some(host::mono()));
        let connection = Arc::new(BatchingConnection::new(connection));
        Self(Arc::new(OpenConnection { connection, node: node.clone(), answered, answered_elsewhere }))
    }

    fn node(&self) -> &Node {
        &self.0.node
    }

    /// The connection itself, for what is sent alone.
    fn alone(&self) -> MultiplexedConnection {
        self.0.connection.alone()
    }

    /// Whether a task of the runtime on which it was opened sends this.
    fn is_at_home(&self, sending: Sending) -> bool {
        self.0.connection.is_at_home(sending)
    }

    /// Whether it was in use just before, so that it is open on both sides as far as a client can find out without asking.
    fn is_fresh(&self, sending: Sending) -> bool {
        let is_read = self.is_at_home(sending) || self.0.answered_elsewhere.is_fresh(sending);
        !is_to_be_asked(self.0.answered.get(), sending.at) && is_read
    }

    /// Whether it answers PING. An error that the server replies is `Ok` here.
    async fn answers(&self) -> RedisResult<()> {
        let sending = Sending::now();
        let answer = self.alone().send_packed_command(&cmd("PING")).await;
        self.note(&answer, sending);
        answer.map(drop)
    }

    fn note<T>(&self, answer: &RedisResult<T>, sending: Sending) {
        let owes_reply = answer.as_ref().is_err_and(RedisError::is_io_error);
        self.0.answered.note((!owes_reply).then_some(sending.at));
        if !owes_reply && !self.is_at_home(sending) {
            self.0.answered_elsewhere.note(sending);
        }
    }

    fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Server {
    /// A connection to it for tasks, open.
    ///
    /// # Errors
    /// As [`connect`](Self::connect).
    pub async fn connect_async(&self) -> RedisResult<Connection> {
        let connection = Connection::to(self);
        connection.open().await?;
        Ok(connection)
    }
}

impl Connection {
    /// A connection to this server, which opens with its first command.
    pub fn to(server: &Server) -> Self {
        Self(Arc::new(SharedParts { server: server.clone(), state: Mutex::default() }))
    }

    /// The same connection for locks, which sends together what many tasks send at the same time.
    #[must_use]
    pub fn batching(self) -> Batching {
        Batching(self)
    }

    /// A client of the `redis` crate for a server that sees all messages published: the one server, the present
    /// master, or any node of the cluster that replies.
    ///
    /// # Errors
    /// The sentinels or the cluster cannot be asked.
    pub async fn client(&self) -> RedisResult<redis::Client> {
        self.0.target(None).await?.client()
    }

    /// Opens it: to one server of several.
    ///
    /// # Errors
    /// It cannot be reached, or refuses the login.
    pub(super) async fn open(&self) -> RedisResult<()> {
        let node = self.0.target(None).await?;
        self.0.opened(&node).await.map(drop)
    }
}

impl OpenState {
    fn open_to(&self, node: &Node) -> Option<&Open> {
        self.nodes.get(node.name())?.open.as_ref()
    }

    fn slot(&mut self, node: &Node) -> &mut Slot {
        self.nodes.entry(Arc::clone(node.name())).or_default()
    }

    /// The connection to this node, if it is in use just now, or in a transaction: another connection would not know what this
    /// one watches.
    fn usable(&self, node: &Node, sending: Sending) -> Option<Open> {
        self.open_to(node).filter(|open| self.transaction.is_open() || open.is_fresh(sending)).cloned()
    }
}

impl SharedParts {
    fn state(&self) -> MutexGuard<'_, OpenState> {
        // Each change is one step.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The connection for this slot, if it is known and open. Otherwise [`reached`](Self::reached) finds and opens it.
    fn at_hand(&self, slot: Option<u16>, sending: Sending) -> Option<Open> {
        let state = self.state();
        state.usable(state.topology.as_ref()?.target(slot), sending)
    }

    /// Does this in a task, or waits for the one that does it already; `joint` says where that is noted.
    async fn jointly<T: Clone + Send + Sync + 'static>(
        self: &Arc<Self>,
        joint: impl Fn(&mut OpenState) -> &mut Option<Joint<T>> + Send + 'static,
        work: impl Future<Output = RedisResult<T>> + Send + 'static,
    ) -> RedisResult<T> {
        let runtime = Sending::now().runtime;
        let mut outcome = {
            let mut state = self.state();
            let under_way = joint(&mut state).as_ref().and_then(|joint| joint.under_way(runtime));
            under_way.unwrap_or_else(|| {
                let (sender, outcome) = watch::channel(None);
                *joint(&mut state) = Some(Joint { runtime, outcome: outcome.clone() });
                let (shared, own) = (Arc::clone(self), outcome.clone());
                tokio::spawn(async move {
                    let ended = work.await;
                    // What it has found is kept by those alone that need it.
                    joint(&mut shared.state()).take_if(|joint| joint.outcome.same_channel(&own));
                    sender.send_replace(Some(ended));
                });
                outcome
            })
        };
        match outcome.wait_for(Option::is_some).await.as_deref() {
            Ok(Some(ended)) => ended.clone(),
            Ok(None) | Err(_) => Err(io::Error::other("the runtime is shut down").into()),
        }
    }

    /// Where a command for this slot goes.
    async fn target(self: &Arc<Self>, slot: Option<u16>) -> RedisResult<Node> {
        loop {
            if let Some(topology) = &self.state().topology {
                return Ok(topology.target(slot).clone());
            }
            if let Place::Single(node) = &*self.server.place {
                return Ok(self.state().topology.insert(Topology::One(node.clone())).target(slot).clone());
            }
            let shared = Arc::clone(self);
            let discover = async move {
                let topology = shared.discover().await?;
                shared.state().topology = Some(topology);
                Ok(())
            };
            self.jointly(|state| &mut state.discovering, discover).await?;
        }
    }

    async fn discover(self: &Arc<Self>) -> RedisResult<Topology> {
        let mut refusal: Option<RedisError> = None;
        match &*self.server.place {
            Place::Single(node) => return Ok(Topology::One(node.clone())),
            Place::Cluster(named) => {
                for node in self.open_nodes().iter().chain(named) {
                    match self.slots(node).await {
                        Ok(table) => return Ok(Topology::Slots(table)),
                        Err(error) => refusal = Some(passed_over(node, error)),
                    }
                }
            }
            Place::Sentinel { sentinels, service, template } => {
                for sentinel in sentinels {
                    match self.named_master(sentinel, service, template).await {
                        Ok(node) => return Ok(Topology::One(node)),
                        Err(error) => refusal = Some(passed_over(sentinel, error)),
                    }
                }
            }
        }
        Err(refusal.unwrap_or_else(|| (redis::ErrorKind::InvalidClientConfig, "there is no address").into()))
    }

    async fn slots(self: &Arc<Self>, node: &Node) -> RedisResult<SlotTable> {
        let open = self.opened(node).await?;
        SlotTable::from_reply(node, open.alone().req_packed_command(&slots_command()).await?)
    }

    async fn named_master(&self, sentinel: &Node, service: &str, template: &Node) -> RedisResult<Node> {
        let mut connection = sentinel.open_async(self.server.timeouts).await?;
        named_master(template, connection.req_packed_command(&master_command(service)).await?)
    }

    /// The nodes to which a connection is open.
    fn open_nodes(&self) -> Vec<Node> {
        self.state().nodes.values().filter_map(|slot| Some(slot.open.as_ref()?.node().clone())).collect()
    }

    /// The connection to this node, which is open.
    async fn opened(self: &Arc<Self>, node: &Node) -> RedisResult<Open> {
        if let Some(open) = self.state().usable(node, Sending::now()) {
            return Ok(open);
        }
        let (shared, of, node) = (Arc::clone(self), node.clone(), node.clone());
        self.jointly(move |state| &mut state.slot(&of).opening, async move { shared.reopened(&node).await }).await
    }

    /// The connection to this node if it answers, otherwise a new one.
    async fn reopened(&self, node: &Node) -> RedisResult<Open> {
        let open = self.state().open_to(node).cloned();
        if let Some(open) = open {
            // Another task may have asked, or opened it, meanwhile.
            if self.state().transaction.is_open() || open.is_fresh(Sending::now()) {
                return Ok(open);
            }
            match open.answers().await {
                Ok(()) => return Ok(open),
                // Another node may be the master by now, or own the slot: that is asked before this one is waited for again.
                Err(error) if error.is_timeout() && !self.server.is_single() => {
                    self.close(&open);
                    return Err(error);
                }
                Err(_) => self.close(&open),
            }
        }
        self.state().transaction = Transaction::default();
        let mut connection = node.open_async(self.server.timeouts).await?;
        if matches!(*self.server.place, Place::Sentinel { .. }) {
            is_master(node, connection.req_packed_command(&cmd("ROLE")).await)?;
        }
        Ok(self.state().slot(node).open.insert(Open::to(node, connection)).clone())
    }

    /// Where a command for this slot goes, with an open connection. Nothing has been sent if there is none.
    async fn reached(self: &Arc<Self>, slot: Option<u16>, delivery: &mut Delivery) -> RedisResult<Open> {
        loop {
            let reached = match self.target(slot).await {
                Ok(node) => self.opened(&node).await,
                Err(error) => Err(error),
            };
            match reached {
                Ok(open) => return Ok(open),
                Err(error) => {
                    // Another node may be the master by now, or own the slot.
                    self.state().topology = None;
                    if self.server.is_single() || !delivery.may_look_again() {
                        return Err(unsent(error));
                    }
                }
            }
        }
    }

    /// Notes what became of a command that was sent then.
    fn note<T>(&self, open: &Open, answer: &RedisResult<T>, sending: Sending) {
        open.note(answer, sending);
        if let Err(error) = answer
            && (error.is_io_error() || error.is_unrecoverable_error())
        {
            self.state().transaction = Transaction::default();
            // One that only was too slow is kept: what is sent on it next runs after what is under way. If it stays
            // silent, the PING before the next command shows that.
            if error.is_timeout() {
                if matches!(*self.server.place, Place::Sentinel { .. }) {
                    // Another server may be the master by now.
                    self.state().topology = None;
                }
            } else {
                log::debug!(target: "lockshift::connect", "{}: connection closed: {error}", open.node());
                self.close(open);
            }
        }
    }

    /// Closes this connection, if no newer one has taken its place.
    fn close(&self, open: &Open) {
        let mut state = self.state();
        if state.open_to(open.node()).is_some_and(|present| present.is(open)) {
            state.slot(open.node()).open = None;
        }
    }

    /// Sends a command on the connection that is open, and on no other.
    async fn request_here(self: &Arc<Self>, command: &Cmd) -> RedisResult<Value> {
        let node = self.target(None).await?;
        let open = self.state().open_to(&node).cloned();
        let open = open.ok_or_else(|| unsent(io::Error::from(io::ErrorKind::NotConnected).into()))?;
        let sending = Sending::now();
        let answer = open.alone().send_packed_command(command).await;
        self.note(&open, &answer, sending);
        answer
    }

    async fn request(self: &Arc<Self>, command: Outgoing<'_>) -> RedisResult<Value> {
        let name = command.name();
        if routing::is_named_about_its_connection(name) && !self.server.is_cluster() {
            return Box::pin(self.request_here(&command.cmd())).await;
        }
        let slot = if self.server.is_cluster() { routing::slot(&command.cmd().get_packed_command()) } else { None };
        let mut sending = Sending::now();
        let mut delivery = Delivery::begin(sending.at, self.server.timeouts.response);
        let mut asked: Option<Node> = None;
        loop {
            let (open, answer);
            match asked.take() {
                None => {
                    open = match self.at_hand(slot, sending) {
                        Some(open) => open,
                        // In a box: every command would have room for it otherwise.
                        None => Box::pin(self.reached(slot, &mut delivery)).await?,
                    };
                    answer = command.over(&open, sending).await;
                }
                Some(node) => {
                    open = Box::pin(self.opened(&node)).await.map_err(unsent)?;
                    answer = Box::pin(command.over_asking(&open)).await;
                }
            }
            self.note(&open, &answer, sending);
            match delivery.after(&answer, host::mono) {
                Next::Answer => {
                    if Transaction::is_changed_by(name, answer.is_ok()) {
                        self.state().transaction.note(name, answer.is_ok());
                    }
                    return answer;
                }
                Next::AnswerAndForget => {
                    // Also behind one address: the name may lead to another server by now.
                    self.state().topology = None;
                    self.close(&open);
                    return answer;
                }
                Next::Moved { .. } | Next::Ask { .. } if !self.server.is_cluster() => return answer,
                Next::Moved { slot, host, port } => {
                    let owner = open.node().moved_to(&host, port);
                    log::debug!(target: "lockshift::connect", "slot {slot} has moved to {owner}");
                    self.state().topology.iter_mut().for_each(|topology| topology.learn(slot, owner.clone()));
                }
                Next::Ask { host, port } => asked = Some(open.node().moved_to(&host, port)),
                Next::Pause(pause) => Box::pin(host::sleep_async(pause)).await,
            }
            sending = Sending::now();
        }
    }
}

/// A command on its way.
#[derive(Clone, Copy, Debug)]
enum Outgoing<'a> {
    /// Of the program: it is sent alone, because it may be one that blocks the connection.
    Program(&'a Cmd),
    /// Of a lock: it is sent together with those of other tasks where several are under way.
    Lock(&'a Command),
}

impl Outgoing<'_> {
    fn name(&self) -> &[u8] {
        match self {
            Self::Program(command) => name_of(command),
            Self::Lock(command) => command.name(),
        }
    }

    fn cmd(&self) -> Cow<'_, Cmd> {
        match self {
            Self::Program(command) => Cow::Borrowed(command),
            Self::Lock(command) => Cow::Owned(cmd_of(command)),
        }
    }

    async fn over(&self, open: &Open, sending: Sending) -> RedisResult<Value> {
        match self {
            Self::Lock(command) if !routing::is_named_about_its_connection(command.name()) => {
                open.0.connection.send(command, sending).await
            }
            // In a box: what is sent together has no use for that much room.
            Self::Lock(_) | Self::Program(_) => open.alone().req_packed_command(&self.cmd()).await,
        }
    }

    /// Sends it to a node that does not own its slot yet.
    async fn over_asking(&self, open: &Open) -> RedisResult<Value> {
        // In one piece: nothing that another task sends may come between the two.
        let mut both = Pipeline::new();
        both.cmd("ASKING").add_command(self.cmd().into_owned());
        let answers = open.alone().req_packed_commands(&both, 1, 1).await;
        answers.map(|mut answers| answers.pop().unwrap_or(Value::Nil))
    }
}

/// The name of a command, without packing the command.
fn name_of(command: &Cmd) -> &[u8] {
    match command.args_iter().next() {
        Some(Arg::Simple(name)) => name,
        _ => &[],
    }
}

/// Notes that this one cannot be asked; another one may.
fn passed_over(node: &Node, error: RedisError) -> RedisError {
    log::debug!(target: "lockshift::connect", "{node}: {error}");
    error
}

impl ConnectionLike for Connection {
    fn req_packed_command<'a>(&'a mut self, command: &'a Cmd) -> RedisFuture<'a, Value> {
        Box::pin(self.0.request(Outgoing::Program(command)))
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        commands: &'a Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        Box::pin(async move {
            let is_cluster = self.0.server.is_cluster();
            let slot = if is_cluster { routing::slot(&commands.get_packed_pipeline()) } else { None };
            let mut delivery = Delivery::begin(host::mono(), self.0.server.timeouts.response);
            let open = self.0.reached(slot, &mut delivery).await?;
            let sending = Sending::now();
            let answers = open.alone().req_packed_commands(commands, offset, count).await;
            self.0.note(&open, &answers, sending);
            answers
        })
    }

    fn get_db(&self) -> i64 {
        self.0.server.database()
    }
}

/// A [`Connection`] for locks: what many tasks send at the same time is sent together.
///
/// That saves a quarter of the processor time where 64 tasks use one connection, and next to nothing where few do. Up to 64
/// commands are sent together, and their replies are handed out when the last has arrived: if the connection breaks or the time is
/// up before that, none of them counts as answered. Only tasks of the runtime on which the connection was opened send together.
/// Send nothing over it that blocks the connection: a program's own commands go over the [`Connection`].
///
/// ```no_run
/// use lockshift::{connect::Server, driver::aio::Lock, lock::Lease, modern::TokenLock};
///
/// # async fn job(lease: Lease) -> Result<(), Box<dyn std::error::Error>> {
/// let server: Server = "redis://127.0.0.1/".parse()?;
/// let connection = server.connect_async().await?.batching();
/// let [invoices, orders] = ["invoices", "orders"].map(|key| Lock::new(connection.clone(), TokenLock::new(key.into(), lease)));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Batching(Connection);

impl Carrier for Batching {
    fn servers(&self) -> usize {
        1
    }

    async fn send(&mut self, command: &Command) -> Result<Reply, Unanswered> {
        answered(self.0.0.request(Outgoing::Lock(command)).await)
    }

    async fn round(&mut self, commands: &[Command]) -> Vec<NodeReply> {
        self.0.round(commands).await
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Connection({})", self.0.server)
    }
}
