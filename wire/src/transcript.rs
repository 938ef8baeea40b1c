//! The replies that a protocol has received so far, beside its commands: its whole state.

use alloc::vec::Vec;

use crate::ask::Ask;
use crate::{Command, Fault, Node, NodeReply, Pending, Reading, Reply, Turn, UnixTime};

/// One question of a protocol and its answer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Entry {
    /// A command and Redis' reply.
    Exchange(Command, Reply),
    /// A command to each of several servers, and the answers so far.
    Round(Vec<(Command, Option<NodeReply>)>),
    /// The clocks, when asked.
    Clock(Reading),
}

impl Entry {
    /// Whether this may have changed the servers.
    pub fn may_have_acted(&self) -> bool {
        match self {
            Self::Exchange(command, reply) => !command.changed_nothing(reply),
            Self::Round(asked) => asked.iter().any(|(command, reply)| match reply {
                Some(reply) => !reply.changed_nothing(command),
                None => !command.only_reads(),
            }),
            Self::Clock(_) => false,
        }
    }
}

/// The questions of a protocol so far, and their answers.
///
/// Run the protocol over [`rewind`](Self::rewind); if it leaves with [`Pending::Send`], [`Pending::Round`] or
/// [`Pending::Clock`], answer with [`record_reply`](Self::record_reply), [`record_node_reply`](Self::record_node_reply) or
/// [`record_clock`](Self::record_clock) and run it again. A transcript is
/// `Clone + Eq + Hash`: it *is* the state of the protocol.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Transcript {
    entries: Vec<Entry>,
    next: usize,
    asked: Option<Command>,
}

impl Transcript {
    /// No question asked yet.
    pub const fn new() -> Self {
        Self { entries: Vec::new(), next: 0, asked: None }
    }

    /// This transcript, to be read again from its start.
    pub fn rewind(&mut self) -> &mut Self {
        self.next = 0;
        self
    }

    /// All questions and answers so far, oldest first.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The reply to a command: recorded, or still to come.
    ///
    /// Error replies are handed back like any other; the typed commands (`get`, `set`, ...) turn them into faults.
    ///
    /// # Errors
    /// [`Pending::Send`] if the command has not been answered yet.
    ///
    /// # Panics
    /// If an earlier run asked something else here: the protocol is not a function of its transcript.
    pub fn send(&mut self, command: Command) -> Turn<Reply> {
        self.reply_to(&command).map(|(_, reply)| reply.clone())
    }

    /// As [`send`](Self::send), for callers that only look at the command and its reply.
    pub(crate) fn reply_to(&mut self, ask: &impl Ask) -> Turn<(&Command, &Reply)> {
        match self.entries.get(self.next) {
            None => {
                let command = ask.command();
                self.asked = Some(command.clone());
                Err(Pending::Send(command))
            }
            Some(Entry::Exchange(asked, reply)) if ask.matches(asked) => {
                self.next += 1;
                Ok((asked, reply))
            }
            Some(other) => panic!("the protocol asked {other:?} before and {:?} now", ask.command()),
        }
    }

    /// The answers to these commands, each for another server: in their order, once all have come that will come.
    ///
    /// # Errors
    /// [`Pending::Round`], with the commands of which nothing is known yet.
    ///
    /// # Panics
    /// If an earlier run asked something else here, or two of the commands are for the same server.
    pub fn round(&mut self, commands: &[Command]) -> Turn<Vec<NodeReply>> {
        if commands.is_empty() {
            return Ok(Vec::new());
        }
        if self.next == self.entries.len() {
            assert!(are_for_different_servers(commands), "a round asks each server once: {commands:?}");
            self.entries.push(Entry::Round(commands.iter().map(|command| (command.clone(), None)).collect()));
        }
        match &self.entries[self.next] {
            Entry::Round(asked) if asked.iter().map(|(command, _)| command).eq(commands) => {
                let replies: Option<Vec<NodeReply>> = asked.iter().map(|(_, reply)| reply.clone()).collect();
                let Some(replies) = replies else { return Err(Pending::Round(unanswered(asked))) };
                self.next += 1;
                Ok(replies)
            }
            other => panic!("the protocol asked {other:?} before and {commands:?} now"),
        }
    }

    /// Both clocks: as recorded, or still to be read.
    ///
    /// # Errors
    /// [`Pending::Clock`] if the clocks have not been read yet.
    ///
    /// # Panics
    /// If an earlier run asked something else here.
    pub fn clock(&mut self) -> Turn<Reading> {
        match self.entries.get(self.next) {
            None => Err(Pending::Clock),
            Some(Entry::Clock(reading)) => {
                self.next += 1;
                Ok(*reading)
            }
            Some(other) => panic!("the protocol asked {other:?} before and the time now"),
        }
    }

    /// The wall clock: as recorded, or still to be read.
    ///
    /// # Errors
    /// [`Pending::Clock`] if the clocks have not been read yet.
    pub fn now(&mut self) -> Turn<UnixTime> {
        Ok(self.clock()?.wall)
    }

    /// The command with which the last run left, if it is not answered yet.
    pub fn asked(&self) -> Option<&Command> {
        self.asked.as_ref()
    }

    /// Answers the command with which the last run left.
    ///
    /// # Panics
    /// If the last run did not leave with a command.
    pub fn record_reply(&mut self, reply: Reply) {
        let command = self.asked.take().expect("a reply is recorded only after the protocol left with a command");
        self.entries.push(Entry::Exchange(command, reply));
    }

    /// Answers that command of the round under way which is for this server.
    ///
    /// # Panics
    /// If no round is under way, or no reply from this server is awaited.
    pub fn record_node_reply(&mut self, from: Node, reply: NodeReply) {
        let open = match self.entries.last_mut() {
            Some(Entry::Round(asked)) => asked.iter_mut().find(|(command, _)| command.node() == from),
            _ => None,
        };
        match open {
            Some((_, open @ None)) => *open = Some(reply),
            _ => panic!("no reply is awaited from {from:?}"),
        }
    }

    /// Answers a question for the time.
    pub fn record_clock(&mut self, reading: Reading) {
        self.asked = None;
        self.entries.push(Entry::Clock(reading));
    }

    /// Ends the protocol: `reply` is not one that `command` can have.
    ///
    /// # Errors
    /// Always: [`Pending::Fault`].
    pub fn fault<T>(command: Command, reply: Reply) -> Turn<T> {
        Err(Pending::Fault(Fault::new(command, reply)))
    }
}

fn are_for_different_servers(commands: &[Command]) -> bool {
    let mut rest = commands.iter();
    core::iter::from_fn(|| rest.next().map(|command| (command, rest.clone())))
        .all(|(command, mut later)| later.all(|other| other.node() != command.node()))
}

fn unanswered(asked: &[(Command, Option<NodeReply>)]) -> Vec<Command> {
    asked.iter().filter(|(_, reply)| reply.is_none()).map(|(command, _)| command.clone()).collect()
}

/// A transcript of these questions and answers, at its start.
impl FromIterator<Entry> for Transcript {
    fn from_iter<I: IntoIterator<Item = Entry>>(entries: I) -> Self {
        Self { entries: entries.into_iter().collect(), next: 0, asked: None }
    }
}
