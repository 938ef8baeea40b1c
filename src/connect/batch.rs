//! What tasks send over one connection at the same time, sent together.
//!
//! Each command that is sent alone has a timer, an entry in the connection's queue, a wake-up and often a system call of its own.
//! Commands that are sent together share them. A command waits only for those of tasks that are ready to run at the same moment.

use std::future::poll_fn;
use std::io;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::Duration;

use lockshift_wire::{Command, MonoTime};
use redis::aio::{ConnectionLike, MultiplexedConnection};
use redis::{Cmd, Pipeline, RedisResult, Value};
use tokio::runtime::{Handle, Id};
use tokio::sync::oneshot;

use crate::driver::aio::cmd;
use crate::driver::host;

/// While fewer than this are under way a command is sent alone: the task that sends a batch would cost more than it saves.
const FEW: usize = 4;

/// After a batch as large as this, whatever finds another command under way is sent together.
const CROWD: usize = 8;

/// The most commands in a batch: the replies are handed out when the last of them has arrived.
const LARGEST: usize = 64;

/// A command that finds a batch as old as this sends it along at once: the thread that was to send it is busy.
const LATE: Duration = Duration::from_millis(20);

/// When something is sent, and the runtime whose task sends it. Asking for that runtime costs two changes of a counter which all
/// its threads share, so it is asked for once for each command.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sending {
    pub(super) at: MonoTime,
    /// `None` outside of a runtime.
    pub(super) runtime: Option<Id>,
}

impl Sending {
    /// Now, by the task that runs this.
    pub(super) fn now() -> Self {
        Self { at: host::mono(), runtime: Handle::try_current().ok().map(|runtime| runtime.id()) }
    }
}

/// An open connection, whose tasks send together.
pub(super) struct BatchingConnection {
    connection: MultiplexedConnection,
    /// The runtime on which it was opened. Only its tasks send together: a batch is sent by a task of it, which does not run if
    /// the runtime does not.
    runtime: Id,
    state: Mutex<BatchState>,
}

#[derive(Default)]
struct BatchState {
    /// How many commands that are sent alone, and batches, have no reply yet.
    under_way: usize,
    /// Whether the last batch was a large one.
    is_crowded: bool,
    /// What is sent next. A task that will send it was begun with its first command.
    next: Batch,
}

/// Commands that are sent together.
#[derive(Default)]
struct Batch {
    commands: Vec<BatchedCommand>,
    /// When the first of them was added.
    begun: Option<MonoTime>,
}

/// A command, and to whom the reply is given.
struct BatchedCommand {
    cmd: Cmd,
    answer: oneshot::Sender<RedisResult<Value>>,
}

/// How one command is sent.
enum Way<'a> {
    Alone(UnderWay<'a>),
    Together {
        answer: oneshot::Receiver<RedisResult<Value>>,
        /// Whether a batch begins with it, which nobody is going to send yet.
        is_first: bool,
        /// The batch that it has completed, or that is late: it is to be sent now.
        due: Option<Batch>,
    },
}

/// Counts as under way until it is dropped.
struct UnderWay<'a>(&'a BatchingConnection);

/// Sends what is next. If its runtime is shut down before that, the commands are dropped, and each sender gets an error.
struct NextSender {
    connection: Arc<BatchingConnection>,
    is_done: bool,
}

impl BatchingConnection {
    /// The same connection, opened on the runtime that runs this.
    pub(super) fn new(connection: MultiplexedConnection) -> Self {
        Self { connection, runtime: Handle::current().id(), state: Mutex::default() }
    }

    /// The connection itself, for what is sent alone.
    pub(super) fn alone(&self) -> MultiplexedConnection {
        self.connection.clone()
    }

    /// Sends a command, together with those of other tasks where several are under way. A command is not sent if this future is
    /// dropped before.
    pub(super) async fn send(self: &Arc<Self>, command: &Command, sending: Sending) -> RedisResult<Value> {
        match self.way(command, sending) {
            // In a box: what is sent together has no use for that much room.
            Way::Alone(_under_way) => self.alone().req_packed_command(&cmd(command)).await,
            Way::Together { answer, is_first, due } => {
                if is_first {
                    tokio::spawn(NextSender { connection: Arc::clone(self), is_done: false }.send());
                }
                if let Some(batch) = due {
                    tokio::spawn(Arc::clone(self).send_batch(batch));
                }
                answer.await.unwrap_or_else(|_| {
                    Err(io::Error::other("what was to be sent together was not sent to its end").into())
                })
            }
        }
    }

    fn way(&self, command: &Command, sending: Sending) -> Way<'_> {
        let mut state = self.state();
        let few = if state.is_crowded { 1 } else { FEW };
        if state.under_way < few || !self.is_at_home(sending) {
            state.under_way += 1;
            return Way::Alone(UnderWay(self));
        }
        let (sender, answer) = oneshot::channel();
        state.next.commands.push(BatchedCommand { cmd: cmd(command), answer: sender });
        let begun = *state.next.begun.get_or_insert(sending.at);
        let is_first = state.next.commands.len() == 1;
        let is_due = state.next.commands.len() == LARGEST || sending.at.saturating_since(begun) >= LATE;
        Way::Together { answer, is_first, due: is_due.then(|| mem::take(&mut state.next)) }
    }

    async fn send_batch(self: Arc<Self>, batch: Batch) {
        // What was given up meanwhile is not sent: its task may have gone on.
        let wanted = batch.commands.into_iter().filter(|command| !command.answer.is_closed());
        let mut commands = Pipeline::new();
        let mut answers = Vec::with_capacity(LARGEST);
        for BatchedCommand { cmd, answer } in wanted {
            commands.add_command(cmd);
            answers.push(answer);
        }
        if answers.is_empty() {
            return;
        }
        let replies = {
            let _under_way = self.begin_batch(answers.len());
            self.alone().send_packed_commands(&commands, 0, answers.len()).await
        };
        match replies {
            Ok(replies) => answers.into_iter().zip(replies).for_each(|(answer, reply)| drop(answer.send(Ok(reply)))),
            Err(error) => answers.into_iter().for_each(|answer| drop(answer.send(Err(error.clone())))),
        }
    }

    /// Whether a task of the runtime on which it was opened sends this.
    pub(super) fn is_at_home(&self, sending: Sending) -> bool {
        sending.runtime == Some(self.runtime)
    }

    fn begin_batch(&self, commands: usize) -> UnderWay<'_> {
        let mut state = self.state();
        state.under_way += 1;
        state.is_crowded = commands >= CROWD;
        UnderWay(self)
    }

    fn state(&self) -> MutexGuard<'_, BatchState> {
        // Each change is one step.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.state().under_way -= 1;
    }
}

impl NextSender {
    async fn send(mut self) {
        behind_those_ready().await;
        self.is_done = true;
        // Nothing, if it was due before.
        let batch = mem::take(&mut self.connection.state().next);
        Arc::clone(&self.connection).send_batch(batch).await;
    }
}

impl Drop for NextSender {
    fn drop(&mut self) {
        if !self.is_done {
            drop(mem::take(&mut self.connection.state().next));
        }
    }
}

/// Lets the tasks that are ready now go first.
async fn behind_those_ready() {
    let mut has_let_them = false;
    poll_fn(|context| {
        if mem::replace(&mut has_let_them, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc::{Receiver, channel};
    use std::thread;

    use redis::{Client, IntoConnectionInfo};
    use tokio::runtime::Builder;
    use tokio::time::{sleep, timeout};

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(20);

    /// A server that answers `ECHO n` with n as an integer, and only as many commands as the test allows.
    fn answering(allowed: Receiver<usize>) -> Client {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let info = format!("redis://{}/", listener.local_addr().unwrap()).into_connection_info().unwrap();
        let silent = info.redis_settings().clone().set_skip_set_lib_name();
        thread::spawn(move || {
            let (mut client, _) = listener.accept().unwrap();
            let mut received = String::new();
            while let Ok(commands) = allowed.recv() {
                for _ in 0..commands {
                    let (number, rest) = loop {
                        let mut lines = received.splitn(6, "\r\n").skip(4);
                        if let (Some(number), Some(rest)) = (lines.next(), lines.next()) {
                            break (number.to_owned(), rest.to_owned());
                        }
                        let mut more = [0; 1024];
                        let length = client.read(&mut more).unwrap();
                        received.push_str(std::str::from_utf8(&more[..length]).unwrap());
                    };
                    received = rest;
                    write!(client, ":{number}\r\n").unwrap();
                }
            }
        });
        Client::open(info.set_redis_settings(silent)).unwrap()
    }

    async fn connected(client: &Client) -> Arc<BatchingConnection> {
        let patient = redis::AsyncConnectionConfig::new().set_response_timeout(Some(PATIENCE));
        let connection = client.get_multiplexed_async_connection_with_config(&patient).await.unwrap();
        Arc::new(BatchingConnection::new(connection))
    }

    fn echo(number: usize) -> Command {
        Command::new("ECHO").arg(number.to_string())
    }

    #[tokio::test]
    async fn each_gets_its_own_reply_and_what_is_sent_together_is_answered_together() {
        const TASKS: usize = 2 * LARGEST;
        let (allow, allowed) = channel();
        let connection = connected(&answering(allowed)).await;
        let answered = Arc::new(AtomicUsize::new(0));
        let tasks = (0..TASKS).map(|number| {
            let (connection, answered) = (Arc::clone(&connection), Arc::clone(&answered));
            tokio::spawn(async move {
                let reply = connection.send(&echo(number), Sending::now()).await;
                answered.fetch_add(1, Ordering::Relaxed);
                assert_eq!(reply, Ok(Value::Int(i64::try_from(number).unwrap())));
            })
        });
        let tasks: Vec<_> = tasks.collect();
        let mut sent = 0;
        for (commands, expected) in
            [(FEW, FEW), (LARGEST - 1, FEW), (1, FEW + LARGEST), (TASKS - LARGEST - FEW - 1, FEW + LARGEST), (1, TASKS)]
        {
            allow.send(commands).unwrap();
            sent += commands;
            timeout(PATIENCE, async {
                while answered.load(Ordering::Relaxed) < expected {
                    sleep(Duration::from_millis(1)).await;
                }
            })
            .await
            .unwrap();
            sleep(Duration::from_millis(30)).await;
            assert_eq!(answered.load(Ordering::Relaxed), expected, "after {sent} replies");
        }
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(connection.state().under_way, 0);
    }

    #[tokio::test]
    async fn what_no_task_will_send_any_more_ends_with_an_error() {
        let (_allow, allowed) = channel();
        let connection = connected(&answering(allowed)).await;
        let _under_way: [Way<'_>; FEW] = std::array::from_fn(|number| connection.way(&echo(number), Sending::now()));
        let Way::Together { answer, is_first: true, due: None } = connection.way(&echo(FEW), Sending::now()) else {
            panic!("several are under way")
        };
        drop(NextSender { connection: Arc::clone(&connection), is_done: false }.send());
        assert!(timeout(PATIENCE, answer).await.unwrap().is_err());
    }

    #[tokio::test]
    async fn what_was_given_up_before_it_was_sent_is_not_sent() {
        let (allow, allowed) = channel();
        let connection = connected(&answering(allowed)).await;
        let _under_way: [Way<'_>; FEW] = std::array::from_fn(|number| connection.way(&echo(number), Sending::now()));
        let (given_up, kept) = (echo(1), echo(2));
        let mut giving_up = Box::pin(connection.send(&given_up, Sending::now()));
        let mut keeping = Box::pin(connection.send(&kept, Sending::now()));
        poll_fn(|context| {
            assert!(giving_up.as_mut().poll(context).is_pending() && keeping.as_mut().poll(context).is_pending());
            Poll::Ready(())
        })
        .await;
        drop(giving_up);
        allow.send(1).unwrap();
        assert_eq!(timeout(PATIENCE, keeping).await.unwrap(), Ok(Value::Int(2)), "the first command to arrive");
    }

    /// The thread of the task that began the batch is busy for long.
    #[tokio::test]
    async fn a_batch_that_is_late_is_sent_with_the_next_command() {
        let (allow, allowed) = channel();
        let connection = connected(&answering(allowed)).await;
        let _under_way: [Way<'_>; FEW] = std::array::from_fn(|number| connection.way(&echo(number), Sending::now()));
        let Way::Together { answer, is_first: true, due: None } = connection.way(&echo(1), Sending::now()) else {
            panic!("several are under way")
        };
        sleep(LATE).await;
        allow.send(2).unwrap();
        assert_eq!(timeout(PATIENCE, connection.send(&echo(2), Sending::now())).await.unwrap(), Ok(Value::Int(2)));
        assert_eq!(answer.await, Ok(Ok(Value::Int(1))));
    }

    /// A batch of the runtime that is not run any more would never be sent.
    #[test]
    fn a_runtime_that_stands_still_keeps_no_command_of_another() {
        let (allow, allowed) = channel();
        let client = answering(allowed);
        let [runtime, other] =
            [1, 0].map(|_| Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap());
        let still = Builder::new_current_thread().enable_all().build().unwrap();
        let connection = runtime.block_on(connected(&client));
        let _under_way: [Way<'_>; FEW] =
            runtime.block_on(async { std::array::from_fn(|number| connection.way(&echo(number), Sending::now())) });
        let first = echo(5);
        let mut begun = Box::pin(async { connection.send(&first, Sending::now()).await });
        still.block_on(poll_fn(|context| {
            assert!(begun.as_mut().poll(context).is_pending());
            Poll::Ready(())
        }));
        allow.send(3).unwrap();
        for runtime in [&runtime, &other] {
            let reply = runtime.block_on(async { timeout(PATIENCE, connection.send(&echo(6), Sending::now())).await });
            assert_eq!(reply.expect("it is sent"), Ok(Value::Int(6)));
        }
        drop(allow);
    }
}
