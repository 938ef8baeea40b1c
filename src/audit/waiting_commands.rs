//! Commands whose replies are known, put into the order in which the server may have run them.
//!
//! A server runs a command at some moment between its request and its reply. Two commands that were under way at once may have
//! run in either order. Their replies often decide it: a command runs next if the lock, as it is known, would give this reply.

use std::collections::VecDeque;
use std::time::Duration;

use super::script_args::script_keys;
use crate::monitor::{Line, Source};
use crate::wire::{Command, CommandWord, Reply, UnixTime};

/// A command without a reply may have run until so long after its request, or never.
const UNANSWERED: Duration = Duration::from_secs(1);
/// Maximum number of commands that wait for others; beyond that, the first one is taken as it stands.
const MOST: usize = 1 << 12;

/// A command whose order among others is not decided yet.
#[derive(Debug)]
pub(super) struct WaitingCommand {
    pub(super) number: u64,
    pub(super) command: Command,
    pub(super) at: UnixTime,
    /// The latest moment at which the server may have run it.
    pub(super) until: UnixTime,
    pub(super) reply: Option<Reply>,
    pub(super) database: u32,
    /// Whether it may have run before or after another command, and the replies do not tell.
    pub(super) is_order_unknown: bool,
    pub(super) client: Vec<u8>,
    pub(super) keys: Vec<CommandWord>,
}

/// Commands that wait for those that may have run before them, by the time of their request.
#[derive(Debug, Default)]
pub(super) struct WaitingCommands(VecDeque<WaitingCommand>);

/// The locks as they are known before the commands that wait.
pub(super) trait KnownLocks {
    /// Whether the command would get its reply if it ran next.
    fn would_answer(&mut self, command: &WaitingCommand) -> bool;
    /// What two commands do to the lock of this key if one runs next, and then the other one.
    fn order(&mut self, key: &[u8], first: &WaitingCommand, second: &WaitingCommand) -> RunningOrder;
}

/// What two commands do to a lock in both orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RunningOrder {
    /// Only the first one first gives these replies.
    AsGiven,
    /// Only the other one first gives these replies.
    Reversed,
    /// Both orders give these replies, and the lock is the same in the end.
    Irrelevant,
    /// Both orders are possible, as far as is known.
    Unknown,
}

impl WaitingCommand {
    pub(super) fn new(number: u64, line: &Line<'_>, reply: Option<(Reply, UnixTime)>) -> Self {
        let (reply, answered_at) = reply.unzip();
        let (at, command) = (line.at, line.command());
        let client = match line.source {
            Source::Client(address) => address.to_vec(),
            Source::Script => Vec::new(),
        };
        Self {
            number,
            at,
            until: answered_at.unwrap_or_else(|| at.saturating_add(UNANSWERED)),
            reply,
            database: line.database,
            is_order_unknown: false,
            client,
            keys: keys_of(line, &command),
            command,
        }
    }

    /// As MONITOR would list it.
    pub(super) fn line(&self) -> Line<'_> {
        Line::new(self.at, self.database, Source::Client(&self.client), &self.command)
    }

    /// The first key that it shares with another command, if both concern one.
    pub(super) fn shared_key(&self, other: &Self) -> Option<&[u8]> {
        let is_shared = |key: &&CommandWord| self.database == other.database && other.keys.contains(key);
        self.keys.iter().find(is_shared).map(CommandWord::as_slice)
    }
}

impl WaitingCommands {
    pub(super) fn push(&mut self, command: WaitingCommand) {
        self.0.push_back(command);
    }

    /// Whether the first command can be taken: no request from `now` on can come before it.
    pub(super) fn is_decidable(&self, now: Option<UnixTime>) -> bool {
        let Some(first) = self.0.front() else { return false };
        now.is_none_or(|now| first.until < now) || self.0.len() > MOST
    }

    /// Takes the command that the server ran next.
    pub(super) fn take_next(&mut self, known: &mut impl KnownLocks) -> Option<WaitingCommand> {
        let rivals = self.rivals();
        if rivals.len() < 2 {
            return self.0.pop_front();
        }
        let is_possible: Vec<bool> = rivals.iter().map(|index| known.would_answer(&self.0[*index])).collect();
        let mut choice: Option<(usize, Vec<usize>)> = None;
        for (one, _) in is_possible.iter().enumerate().filter(|(_, is_possible)| **is_possible) {
            let mut unknown = Vec::new();
            let mut comes_later = false;
            for other in (0..rivals.len()).filter(|other| *other != one) {
                let (first, second) = (&self.0[rivals[one]], &self.0[rivals[other]]);
                let Some(key) = first.shared_key(second) else { continue };
                match known.order(key, first, second) {
                    RunningOrder::AsGiven | RunningOrder::Irrelevant => {}
                    RunningOrder::Reversed => comes_later = true,
                    RunningOrder::Unknown => unknown.extend([rivals[one], rivals[other]]),
                }
            }
            if !comes_later {
                choice = Some((rivals[one], unknown));
                break;
            }
        }
        // If no order explains the replies, something else has changed the lock.
        let (index, unknown) = choice.unwrap_or_else(|| (rivals[0], rivals.clone()));
        for index in unknown {
            self.0[index].is_order_unknown = true;
        }
        self.0.remove(index)
    }

    /// The first command, and all that may have run before it: they share a key with it, no command of their connection is
    /// before them, and each was under way before any of the others had its reply.
    fn rivals(&self) -> Vec<usize> {
        let Some(first) = self.0.front() else { return Vec::new() };
        let mut rivals = vec![0];
        let mut until = first.until;
        let mut clients = vec![&first.client];
        for (index, command) in self.0.iter().enumerate().skip(1) {
            if command.at > until {
                break;
            }
            if clients.contains(&&command.client) {
                continue;
            }
            clients.push(&command.client);
            if first.shared_key(command).is_some() {
                until = until.min(command.until);
                rivals.push(index);
            }
        }
        rivals
    }
}

/// The keys that a command may concern.
fn keys_of(line: &Line<'_>, command: &Command) -> Vec<CommandWord> {
    let args = command.args();
    if command.is("EVAL") || command.is("EVALSHA") || command.is("FCALL") {
        return script_keys(command).to_vec();
    }
    if command.is("EXISTS") || command.is("WATCH") {
        return args.to_vec();
    }
    let others = line.written_keys().into_iter().filter(|place| *place > 1);
    args.first().into_iter().chain(others.filter_map(|place| args.get(place - 1))).cloned().collect()
}
