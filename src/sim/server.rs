//! The server: its whole state, and one command run on it.

use std::collections::BTreeMap;

use super::call::Call;
use super::database::Database;
use super::flavour::Flavour;
use super::session::{Connection, Message, Session};
use super::table;
use super::value::Value;
use crate::wire::{Command, Key, Reply, UnixTime};

/// How many databases SELECT can choose from, as in a server that nobody configured.
pub(super) const DATABASES: usize = 16;

/// A whole Redis server as a value.
///
/// Two servers that will answer every future command alike are equal wherever that can be had cheaply: expired keys are
/// removed on every call, connections without state are forgotten, and hashes and sets have one order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Server {
    pub(super) flavour: Flavour,
    pub(super) databases: [Database; DATABASES],
    pub(super) connections: BTreeMap<Session, Connection>,
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

impl Server {
    /// An empty server.
    pub fn new(flavour: Flavour) -> Self {
        Self { flavour, ..Self::default() }
    }

    /// Runs one command on a connection at this moment of the server's clock.
    ///
    /// Only whole milliseconds count for expiry. TIME answers in microseconds.
    pub fn call(&mut self, session: Session, command: &Command, now: UnixTime) -> Reply {
        self.purge(now.as_millis());
        let db = self.connections.get(&session).map_or(0, |connection| connection.db);
        let reply = match table::find(command.words()) {
            Err(refusal) => refusal.into(),
            Ok(row) => {
                let mut call = Call { server: self, session, row, words: command.words(), now, db };
                (row.run)(&mut call).unwrap_or_else(Reply::from)
            }
        };
        self.connections.retain(|_, connection| *connection != Connection::default());
        reply
    }

    /// Forgets all that belongs to a connection: selected database, MULTI, WATCH, subscriptions, messages not taken.
    pub fn disconnect(&mut self, session: Session) {
        self.connections.remove(&session);
    }

    /// The messages published to a subscriber since it was last asked, oldest first.
    pub fn take_messages(&mut self, session: Session) -> Vec<Message> {
        self.connections.get_mut(&session).map(|connection| std::mem::take(&mut connection.inbox)).unwrap_or_default()
    }

    /// What a key of database 0 holds at this moment, without any effect.
    pub fn peek(&self, key: &Key, now: UnixTime) -> Option<Stored> {
        let entry = self.databases[0].entries.get(key).filter(|entry| !entry.is_over(now.as_millis()))?;
        let latest = UnixTime::from_nanos(i64::MAX);
        let expires_at = entry.deadline_ms.map(|millis| UnixTime::from_millis(millis).unwrap_or(latest));
        Some(Stored { value: entry.value.clone(), expires_at })
    }

    /// Removes every key whose time is over; whoever watched one will see its EXEC fail.
    fn purge(&mut self, now_ms: i64) {
        for db in 0..DATABASES {
            for key in self.databases[db].purge(now_ms) {
                self.touch(db, &key);
            }
        }
    }

    /// Tells everybody who watches the key that it changed.
    pub(super) fn touch(&mut self, db: usize, key: &Key) {
        for connection in self.connections.values_mut() {
            if connection.watched.iter().any(|(watched_db, watched)| *watched_db == db && watched == key) {
                connection.touched = true;
                connection.watched.clear();
            }
        }
    }
}
