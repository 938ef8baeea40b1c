//! The server: what it is from outside, and which commands are let in.

use super::call::{Answer, Call, Row, Table};
use super::database::Entry;
use super::flavour::Flavour;
use super::refusal::Refusal;
#[cfg(feature = "sim")]
use super::scripts;
use super::session::{Connection, Message, Session};
use super::state::State;
use super::value::Value;
use super::{
    channels, compare, connection, counters, expiry, hashes, introspection, keys, lists, ranges, rankings, set, sets,
    strings, transactions,
};
use crate::wire::{Command, CommandWord, Key, Reply, UnixTime};

const TABLE: Table = Table::new(&[
    strings::ROWS,
    set::ROWS,
    counters::ROWS,
    compare::ROWS,
    keys::ROWS,
    expiry::ROWS,
    hashes::ROWS,
    sets::ROWS,
    rankings::ROWS,
    ranges::ROWS,
    lists::ROWS,
    transactions::ROWS,
    #[cfg(feature = "sim")]
    scripts::ROWS,
    channels::ROWS,
    connection::ROWS,
    introspection::ROWS,
]);

/// A whole Redis server as a value.
///
/// Two servers that will answer every future command alike are equal wherever that can be had cheaply: expired keys are
/// removed on every call, connections without state are forgotten, and hashes and sets have one order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Server {
    pub(super) state: State,
}

/// What [`Server::peek`] shows of a key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Stored {
    /// What the key holds.
    pub value: Value,
    /// The last millisecond in which the key exists; the end of the representable range if it lies beyond. `None`: for
    /// ever.
    pub expires_at: Option<UnixTime>,
}

/// The same, where it stands: what [`Server::see`] shows of a key.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// What the key holds.
    pub value: &'a Value,
    /// As in [`Stored`].
    pub expires_at: Option<UnixTime>,
}

impl Seen<'_> {
    /// A copy of it.
    pub fn to_stored(self) -> Stored {
        Stored { value: self.value.clone(), expires_at: self.expires_at }
    }
}

impl PartialEq<Stored> for Seen<'_> {
    fn eq(&self, stored: &Stored) -> bool {
        *self.value == stored.value && self.expires_at == stored.expires_at
    }
}

impl Server {
    /// An empty server.
    pub fn new(flavour: Flavour) -> Self {
        Self { state: State { flavour, ..State::default() } }
    }

    /// From now on it is a server of another kind, with the same keys.
    pub fn become_a(&mut self, flavour: Flavour) {
        self.state.flavour = flavour;
    }

    /// Runs one command on a connection at this moment of the server's clock.
    ///
    /// Only whole milliseconds count for expiry. TIME answers in microseconds. A SUBSCRIBE to several channels, which a
    /// real server confirms one by one, answers the last of the confirmations.
    pub fn call(&mut self, session: Session, command: &Command, now: UnixTime) -> Reply {
        self.state.purge(now.as_millis());
        let reply = self.dispatch(session, command.words(), now).unwrap_or_else(Reply::from);
        self.state.tidy();
        reply
    }

    /// Whether this command is simulated. One that is not is answered as a server answers that has no such command; where
    /// that matters, as it does where foreign traffic is replayed, ask first.
    pub fn knows(&self, command: &Command) -> bool {
        TABLE.find(command.words(), self.state.flavour).is_ok()
    }

    /// Whether a simulated server of any flavour knows this command.
    #[cfg(feature = "sim")]
    pub(crate) fn is_simulated(command: &Command) -> bool {
        Flavour::ALL.into_iter().any(|flavour| TABLE.find(command.words(), flavour).is_ok())
    }

    /// It restarts: all connections and loaded scripts are gone, and the keys too unless they were kept on disk.
    pub fn restart(&mut self, keeps_keys: bool) {
        let databases = if keeps_keys { std::mem::take(&mut self.state.databases) } else { Default::default() };
        self.state = State { flavour: self.state.flavour, databases, ..State::default() };
    }

    /// The keys of database 0, those that have expired included until the next call.
    pub fn keys(&self) -> impl Iterator<Item = &Key> {
        self.state.databases[0].entries.keys()
    }

    /// Forgets all that belongs to a connection: selected database, MULTI, WATCH, subscriptions, messages not taken.
    pub fn disconnect(&mut self, session: Session) {
        self.state.connections.remove(&session);
    }

    /// The messages published to a subscriber since it was last asked, oldest first.
    pub fn take_messages(&mut self, session: Session) -> Vec<Message> {
        let connection = self.state.connections.get_mut(&session);
        connection.map(|connection| std::mem::take(&mut connection.inbox)).unwrap_or_default()
    }

    /// Takes over what another server has in its database 0, each key that is not here already.
    pub fn absorb(&mut self, other: Self) {
        let [theirs, ..] = other.state.databases;
        for (key, entry) in theirs.entries {
            self.state.databases[0].entries.entry(key).or_insert(entry);
        }
    }

    /// What a key of database 0 holds at this moment, without any effect.
    pub fn peek(&self, key: &Key, now: UnixTime) -> Option<Stored> {
        self.see(key, now).map(Seen::to_stored)
    }

    /// The same without a copy.
    pub fn see(&self, key: &Key, now: UnixTime) -> Option<Seen<'_>> {
        let entry = self.entry(key, now)?;
        let latest = UnixTime::from_nanos(i64::MAX);
        let expires_at = entry.deadline_ms.map(|millis| UnixTime::from_millis(millis).unwrap_or(latest));
        Some(Seen { value: &entry.value, expires_at })
    }

    /// Whether there is such a key in database 0 at this moment.
    pub fn holds(&self, key: &Key, now: UnixTime) -> bool {
        self.entry(key, now).is_some()
    }

    fn entry(&self, key: &Key, now: UnixTime) -> Option<&Entry> {
        self.state.databases[0].entries.get(key).filter(|entry| !entry.has_expired(now.as_millis()))
    }

    fn dispatch(&mut self, session: Session, words: &[CommandWord], now: UnixTime) -> Answer {
        let found = TABLE.find(words, self.state.flavour);
        let was_exec = found.as_ref().is_ok_and(|row| row.name == "exec");
        let row = found.and_then(|row| self.admit(session, row, words.len()));
        let row = row.map_err(|refusal| self.state.spoil_transaction(session, was_exec, refusal))?;
        // A connection of which there is nothing to remember is not put on the books for the length of one command.
        let connection = self.state.connections.get_mut(&session);
        let db = connection.as_ref().map_or(0, |connection| connection.db);
        if let Some(Connection { transaction: Some(transaction), touched, .. }) = connection
            && row.waits_for_exec
        {
            // What EXEC will not run anyway need not be kept.
            if !transaction.spoilt && !*touched {
                transaction.queue.push(words.to_vec());
            }
            return Ok(Reply::Status("QUEUED".to_owned()));
        }
        let mut call = Call { state: &mut self.state, table: TABLE, session, name: row.name, words, now, db };
        let answer = (row.run)(&mut call);
        let selected = call.db;
        if selected != db {
            self.state.connections.entry(session).or_default().db = selected;
        }
        answer
    }

    /// Whether the command may be sent at all, here and now.
    fn admit(&self, session: Session, row: &'static Row, words: usize) -> Result<&'static Row, Refusal> {
        row.check_arity(words)?;
        let Some(connection) = self.state.connections.get(&session) else { return Ok(row) };
        if !connection.subscriptions.is_empty() && !row.while_listening {
            return Err(Refusal::err(format_args!(
                "Can't execute '{}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this \
                 context",
                row.name
            )));
        }
        let is_nested = connection.transaction.is_some() && matches!(row.name, "multi" | "watch");
        if is_nested && self.state.flavour.nesting_spoils() {
            return Err(Refusal::err(format_args!("Command '{}' not allowed inside a transaction", row.name)));
        }
        Ok(row)
    }
}
