//! What has arrived on a client connection and its upstream connection and was not delivered, and where commands and
//! replies end.

use std::collections::BTreeMap;

use super::encode::encode_reply;
use super::frame::{Malformed, Scanned, Scanner};
use super::guarded_keys::{GuardedKeys, is_deletion, is_watch, steers_transaction};
use super::request::{Head, command, head};
use super::unconfirmed::{ConnectionChange, QueuedCommand, Unconfirmed};
use crate::guard::{ConnectionPart, GuardedConnection};
use crate::wire::{Command, Key, Reply};

/// A guarded command is not longer.
pub(super) const LONGEST: usize = 64 * 1024;

/// What has arrived and was not delivered, and where in it commands and replies end.
#[derive(Default)]
pub(super) struct Traffic {
    /// What the client has sent and was not looked at.
    pub(super) from_client: Vec<u8>,
    /// Commands on their way to the server.
    pub(super) to_server: Vec<u8>,
    /// Replies on their way to the client.
    pub(super) to_client: Vec<u8>,
    pub(super) commands: Scanner,
    pub(super) replies: Scanner,
    /// How many replies the server owes.
    pub(super) owed: u64,
    unconfirmed: Unconfirmed,
    pub(super) counting: ReplyCounting,
    /// A command waits until all before it is sent: then the connection is asked whether it still subscribes to channels.
    pub(super) asks_next: bool,
    /// The next command passes uncounted: the server will refuse it, as the connection listens to messages.
    pub(super) passes_next: bool,
    is_resp3: bool,
    /// The database that the client has selected.
    pub(super) database: u32,
    /// The observed key that the connection watches.
    pub(super) watched: Option<Key>,
    /// What the guard knows of the connection in this database, and in those that were selected before.
    connection: GuardedConnection,
    elsewhere: BTreeMap<u32, GuardedConnection>,
    /// What the last transaction has run that concerns locks.
    pub(super) ran: Vec<RanCommand>,
}

/// A command that a transaction has run.
#[derive(Debug)]
pub(super) struct RanCommand {
    pub(super) command: QueuedCommand,
    pub(super) database: u32,
    /// Its place in the transaction.
    pub(super) place: u64,
}

/// Whether each command has one reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum ReplyCounting {
    #[default]
    Counted,
    /// The connection has subscribed to channels, and messages look like replies in version 2 of the protocol. Before the next
    /// command that is not about channels it is asked whether it answers commands again. What is `owed` was sent before that.
    Subscribed,
    /// The replies cannot be counted any more: the connection shows what others send, or the client wants no replies.
    Never,
}

/// What is at the head of what the client has sent.
pub(super) enum ReadyCommand {
    Guarded(GuardedCommand),
    /// One before which a [subscriber](ReplyCounting::Subscribed) is asked.
    AfterSubscription,
    /// One on a guarded key whose reply cannot be [found](ReplyCounting::Never).
    Unguardable,
}

/// A guarded command on a guarded key, at the head of what the client has sent.
pub(super) struct GuardedCommand {
    pub(super) key: Key,
    pub(super) command: Command,
    /// Its bytes.
    pub(super) frame: Vec<u8>,
}

impl Traffic {
    /// What the guard knows of this connection in its database.
    pub(super) fn connection(&mut self) -> &mut GuardedConnection {
        &mut self.connection
    }

    /// The same in each database, with that.
    pub(super) fn connections(&mut self) -> impl Iterator<Item = (u32, &mut GuardedConnection)> {
        let elsewhere = self.elsewhere.iter_mut().map(|(database, connection)| (*database, connection));
        std::iter::once((self.database, &mut self.connection)).chain(elsewhere)
    }

    /// The same in this database.
    pub(super) fn connection_in(&mut self, database: u32) -> Option<&mut GuardedConnection> {
        self.connections().find(|(of, _)| *of == database).map(|(_, connection)| connection)
    }

    /// The database in which the next command of the transaction will run. No reply is owed.
    pub(super) fn database_in_transaction(&self) -> u32 {
        self.unconfirmed.selected_in_transaction().unwrap_or(self.database)
    }

    /// What it knows of one key of that database.
    pub(super) fn part_in_transaction(&self, key: &Key) -> ConnectionPart {
        match self.database_in_transaction() {
            here if here == self.database => self.connection.part(key),
            other => self.connection.part_elsewhere(self.elsewhere.get(&other), key),
        }
    }

    fn select(&mut self, database: u32) {
        if database == self.database {
            return;
        }
        let there = self.elsewhere.remove(&database).unwrap_or_default();
        let here = self.connection.select(there);
        if !here.is_idle() {
            self.elsewhere.insert(self.database, here);
        }
        self.database = database;
    }

    /// Whether the server owes no reply that can be counted.
    pub(super) fn owes_none(&self) -> bool {
        self.owed == 0 || self.counting == ReplyCounting::Never
    }

    /// Whether nothing is under way: the connection can end without loss.
    pub(super) fn is_at_rest(&mut self) -> bool {
        let is_idle = self.owes_none() && !self.commands.is_inside() && !self.replies.is_inside();
        is_idle && self.from_client.is_empty() && self.to_server.is_empty() && !self.connection().is_in_multi()
    }

    /// Whether locks may be extended now: not inside a transaction, and not while one is watched.
    pub(super) fn is_renewable(&mut self) -> bool {
        self.connections().all(|(_, connection)| connection.is_renewable())
    }

    /// The client sends a command that names no key: what it does to the connection, in all databases.
    fn observe_everywhere(&mut self, command: &Command) {
        self.connections().for_each(|(_, connection)| connection.observe(command));
    }

    /// Whether the client holds no lock, has no attempt under way and is outside of a transaction.
    pub(super) fn is_between_locks(&mut self) -> bool {
        let is_idle = self.connections().all(|(_, connection)| connection.is_idle());
        is_idle && self.watched.is_none()
    }

    /// The key that a command steers without naming it: one that is observed or that the transaction releases.
    fn steered(&self, name: &[u8]) -> Option<Key> {
        let key = || self.watched.clone().or_else(|| self.unconfirmed.keys_in_transaction().next());
        steers_transaction(name).then(key).flatten()
    }

    /// The keys of the locks that a command of this name concerns if it runs the transaction.
    pub(super) fn keys_in_transaction(&self, name: &[u8]) -> Vec<Key> {
        if name.eq_ignore_ascii_case(b"EXEC") { self.unconfirmed.keys_in_transaction().collect() } else { Vec::new() }
    }

    /// Passes on what the client has sent, up to a command that does not simply pass and can be served now.
    pub(super) fn advance(&mut self, keys: &GuardedKeys) -> Result<Option<ReadyCommand>, Malformed> {
        if self.from_client.is_empty() {
            return Ok(None);
        }
        let mut arrived = std::mem::take(&mut self.from_client);
        let (passed, ready) = self.examine(&arrived, keys)?;
        if ready.is_none() && passed == arrived.len() && self.to_server.is_empty() {
            std::mem::swap(&mut self.to_server, &mut arrived);
        } else {
            if ready.is_none() {
                self.to_server.extend_from_slice(&arrived[..passed]);
            }
            drop(arrived.drain(..passed));
        }
        self.from_client = arrived;
        Ok(ready)
    }

    /// How much of this passes; or the command at its beginning, and how much of that is taken out.
    fn examine(&mut self, arrived: &[u8], keys: &GuardedKeys) -> Result<(usize, Option<ReadyCommand>), Malformed> {
        let mut passed = 0;
        while passed < arrived.len() {
            let rest = &arrived[passed..];
            if self.commands.is_inside() {
                passed += self.commands.scan(rest)?.used;
                continue;
            }
            let is_first = passed == 0 && self.to_server.is_empty() && self.owes_none();
            let head = match head(rest) {
                // What came before it is still served.
                Err(_) if !is_first => break,
                head => head?,
            };
            let (words, count, whole) = match &head {
                Head::Incomplete => break,
                Head::Inline { words, length } => (&words[..], words.len(), Some(*length)),
                Head::Array { words, count, length } => (&words[..], *count, *length),
            };
            if count == 0 {
                // An empty line or an empty array: Redis answers nothing.
                passed += whole.map_or_else(|| Ok(Scanner::default().scan(rest)?.used), Ok)?;
                continue;
            }
            // No command that matters has a name which is too long to wait for, but the server answers it.
            let name = words.first().copied().unwrap_or_default();
            if self.counting == ReplyCounting::Subscribed && !is_allowed_to_subscribers(name) && !self.passes_next {
                self.asks_next = passed > 0 || !self.to_server.is_empty();
                // A client may leave while an earlier command blocks it, so the replies to those are waited for elsewhere.
                if self.asks_next || self.owed > 0 {
                    break;
                }
                return Ok((0, Some(ReadyCommand::AfterSubscription)));
            }
            let key = match keys.key_of(words) {
                // Of several keys any may be guarded, and the first stands for all.
                None if count > 2 && (is_deletion(name) || is_watch(name)) && !keys.is_empty() => {
                    let scanned = match whole {
                        Some(length) => Scanned { ended: Some(b'*'), used: length },
                        None => Scanner::default().scan(rest)?,
                    };
                    match scanned {
                        Scanned { ended: Some(_), used } => command(&rest[..used]).and_then(|all| keys.any_of(&all)),
                        Scanned { ended: None, .. } if rest.len() <= LONGEST => break,
                        Scanned { ended: None, .. } => None,
                    }
                }
                None => self.steered(name),
                key => key,
            };
            if let Some(key) = key.filter(|_| self.counting == ReplyCounting::Counted || !keys.observes())
                && !self.passes_next
            {
                if self.counting != ReplyCounting::Counted {
                    if passed > 0 || !self.to_server.is_empty() {
                        break;
                    }
                    return Ok((0, Some(ReadyCommand::Unguardable)));
                }
                let length = match whole {
                    Some(length) => Some(length),
                    None => Scanner::default().scan(rest).map(|scanned| scanned.ended.map(|_| scanned.used))?,
                };
                match length {
                    // A value of that size is not a lock's.
                    None if rest.len() > LONGEST => {}
                    None => break,
                    Some(_) if self.owed > 0 || !self.to_server.is_empty() || passed > 0 => break,
                    Some(length) => {
                        let frame = rest[..length].to_vec();
                        let command = head.command().or_else(|| command(&frame)).ok_or(Malformed)?;
                        return Ok((length, Some(ReadyCommand::Guarded(GuardedCommand { key, command, frame }))));
                    }
                }
            }
            let first = words.get(1).copied().unwrap_or_default();
            self.owed += u64::from(self.counting == ReplyCounting::Counted);
            self.passes_next = false;
            match whole {
                Some(length) => passed += length,
                None => passed += self.commands.scan(rest)?.used,
            }
            self.note_state(name, first);
        }
        Ok((passed, None))
    }

    /// A command of this name and first argument passes, which changes the state of the connection, or does not. Its reply is
    /// counted.
    pub(super) fn note_state(&mut self, name: &[u8], first: &[u8]) {
        let is = |other: &str| name.eq_ignore_ascii_case(other.as_bytes());
        if self.counting != ReplyCounting::Counted {
            if is("RESET") {
                (self.is_resp3, self.watched) = (false, None);
                self.observe_everywhere(&Command::new("RESET"));
                self.select(0);
            }
            return;
        }
        if ["MONITOR", "SYNC", "PSYNC"].iter().any(|name| is(name))
            || is("CLIENT") && first.eq_ignore_ascii_case(b"REPLY")
            || is_subscription(name) && self.connection().is_in_multi()
        {
            self.counting = ReplyCounting::Never;
        } else if is_subscription(name) {
            // It has a reply for each channel, or none.
            self.counting = ReplyCounting::Subscribed;
            self.owed = self.owed.saturating_sub(1);
        } else if let Some(database) = selected(name, first) {
            self.unconfirmed.passed(ConnectionChange::Database(database), self.owed);
        } else if is("HELLO") {
            if !first.is_empty() {
                self.unconfirmed.passed(ConnectionChange::Resp3(first == b"3"), self.owed);
            }
        } else if ["MULTI", "EXEC", "DISCARD", "RESET", "UNWATCH"].iter().any(|name| is(name)) {
            if let Some(command) = Command::from_words(vec![name.to_vec()]) {
                self.observe_everywhere(&command);
            }
            if is("MULTI") {
                self.unconfirmed.transaction_begins(self.owed);
            } else {
                self.watched = None;
            }
            if is("EXEC") {
                self.unconfirmed.executed(self.owed);
            } else if is("DISCARD") {
                self.unconfirmed.discarded(self.owed);
            } else if is("RESET") {
                self.unconfirmed.reset(self.owed);
            }
        }
    }

    /// A command of a transaction passes that releases these locks; its reply is counted.
    pub(super) fn releases(&mut self, keys: Vec<Key>) {
        self.unconfirmed.queues(QueuedCommand::Releases(keys), self.owed);
    }

    /// This observed command passes next. No reply is owed by the server now.
    pub(super) fn observes(&mut self, command: &Command) {
        let ends = ["MULTI", "EXEC", "DISCARD"].iter().any(|name| command.is(name));
        if self.connection().is_in_multi() && !ends {
            self.unconfirmed.queues(QueuedCommand::Observed(command.clone()), 1);
        }
    }

    /// WATCH passes; its reply is counted.
    pub(super) fn watches(&mut self) {
        self.unconfirmed.watches(self.owed);
    }

    /// The server has answered a command that has passed; if that was EXEC, the commands at these places have failed.
    pub(super) fn replied(&mut self, is_refusal: bool, failed: &[u64]) {
        self.owed = self.owed.saturating_sub(1);
        for change in self.unconfirmed.replied(is_refusal, failed) {
            match change {
                ConnectionChange::Database(database) => self.select(database),
                ConnectionChange::Resp3(is_resp3) => self.is_resp3 = is_resp3,
                ConnectionChange::NoTransaction => self.observe_everywhere(&Command::new("DISCARD")),
                ConnectionChange::NoWatch => self.observe_everywhere(&Command::new("UNWATCH")),
                ConnectionChange::Ran { command, place } => {
                    self.ran.push(RanCommand { command, database: self.database, place });
                }
            }
        }
    }

    /// Counts the replies in what the server has sent to the client, from this byte on.
    pub(super) fn count_replies(&mut self, from: usize) -> Result<(), Malformed> {
        if self.counting == ReplyCounting::Never {
            return Ok(());
        }
        let mut at = from;
        while at < self.to_client.len() {
            let Scanned { used, ended } = self.replies.scan(&self.to_client[at..])?;
            at += used;
            if ended.is_some_and(|kind| kind != b'>') && (self.owed > 0 || self.counting == ReplyCounting::Counted) {
                let failed = self.replies.take_failed();
                self.replied(self.replies.is_refusal(), &failed);
            }
        }
        Ok(())
    }

    /// The guard's own answer.
    pub(super) fn answer(&mut self, reply: &Reply) {
        encode_reply(reply, self.is_resp3, &mut self.to_client);
    }
}

/// The database that a command of this name and first argument selects, if it does.
fn selected(name: &[u8], first: &[u8]) -> Option<u32> {
    let database = || std::str::from_utf8(first).ok()?.parse().ok();
    name.eq_ignore_ascii_case(b"SELECT").then(database).flatten()
}

/// Whether a command of this name changes what a connection subscribes to.
fn is_subscription(name: &[u8]) -> bool {
    ["SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE", "UNSUBSCRIBE", "PUNSUBSCRIBE", "SUNSUBSCRIBE"]
        .iter()
        .any(|other| name.eq_ignore_ascii_case(other.as_bytes()))
}

/// Whether a connection that subscribes to channels may send this and go on with that.
fn is_allowed_to_subscribers(name: &[u8]) -> bool {
    is_subscription(name) || [b"PING", b"QUIT"].iter().any(|other| name.eq_ignore_ascii_case(*other))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A client that is refused version 3 goes on reading version 2.
    #[test]
    fn a_version_that_was_refused_is_not_answered_in() {
        for (reply, nil) in
            [("-WRONGPASS invalid username-password pair\r\n", "$-1\r\n"), ("%1\r\n+proto\r\n:3\r\n", "_\r\n")]
        {
            let mut traffic = Traffic { from_client: b"HELLO 3 AUTH default no\r\n".to_vec(), ..Traffic::default() };
            assert!(traffic.advance(&GuardedKeys::default()).unwrap().is_none());
            traffic.to_client.extend_from_slice(reply.as_bytes());
            traffic.count_replies(0).unwrap();
            assert_eq!(traffic.owed, 0);
            traffic.to_client.clear();
            traffic.answer(&Reply::Nil);
            assert_eq!(traffic.to_client, nil.as_bytes());
        }
    }

    /// The server answers it, and what is in the name is no command.
    #[test]
    fn a_command_of_which_the_name_is_too_long_to_wait_for_passes() {
        let inner = b"*2\r\n$3\r\nDEL\r\n$6\r\nlock:a\r\n".to_vec();
        let name = [vec![b'x'; LONGEST], inner].concat();
        let command = [format!("*1\r\n${}\r\n", name.len()).as_bytes(), &name, b"\r\n"].concat();
        for cut in [20, LONGEST, LONGEST + 16, command.len() - 2] {
            let mut traffic = Traffic::default();
            for piece in [&command[..cut], &command[cut..], b"*1\r\n$4\r\nPING\r\n"] {
                traffic.from_client.extend_from_slice(piece);
                assert!(traffic.advance(&GuardedKeys::default()).unwrap().is_none());
                assert_eq!(traffic.from_client, b"", "cut at {cut}");
            }
            assert_eq!(traffic.owed, 2, "cut at {cut}");
        }
    }
}
