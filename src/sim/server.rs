//! The server: its whole state, and one command run on it.

use std::collections::BTreeMap;

use super::call::{Answer, Call};
use super::database::Database;
use super::flavour::Flavour;
use super::refusal::Refusal;
use super::scripts::Scripts;
use super::session::{Connection, Message, Session};
use super::table::{self, Row};
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
    pub(super) scripts: Scripts,
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
    /// Only whole milliseconds count for expiry. TIME answers in microseconds. A SUBSCRIBE to several channels, which a
    /// real server confirms one by one, answers the last of the confirmations.
    pub fn call(&mut self, session: Session, command: &Command, now: UnixTime) -> Reply {
        self.purge(now.as_millis());
        let reply = self.dispatch(session, command.words(), now).unwrap_or_else(Reply::from);
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

    fn dispatch(&mut self, session: Session, words: &[Vec<u8>], now: UnixTime) -> Answer {
        let found = table::find(words, self.flavour);
        let was_exec = found.as_ref().is_ok_and(|row| row.name == "exec");
        let row = found.and_then(|row| self.admit(session, row, words.len()));
        let row = row.map_err(|refusal| self.spoil_transaction(session, was_exec, refusal))?;
        let connection = self.connections.entry(session).or_default();
        if let Some(transaction) = connection.transaction.as_mut().filter(|_| row.waits_for_exec) {
            // What EXEC will not run anyway need not be kept.
            if !transaction.spoilt && !connection.touched {
                transaction.queue.push(words.to_vec());
            }
            return Ok(Reply::Status("QUEUED".to_owned()));
        }
        let mut db = connection.db;
        let answer = self.run(session, &mut db, row, words, now);
        if let Some(connection) = self.connections.get_mut(&session) {
            connection.db = db;
        } else if db != 0 {
            self.connections.entry(session).or_default().db = db;
        }
        answer
    }

    /// Whether the command may be sent at all, here and now.
    fn admit(&self, session: Session, row: &'static Row, words: usize) -> Result<&'static Row, Refusal> {
        row.check_arity(words)?;
        let listening = self.connections.get(&session).is_some_and(|connection| !connection.subscriptions.is_empty());
        if listening && !row.while_listening {
            return Err(Refusal::err(format_args!(
                "Can't execute '{}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this \
                 context",
                row.name
            )));
        }
        Ok(row)
    }

    /// Runs one command, sent, queued or called by a script. Nothing that is over exists for it.
    pub(super) fn run(
        &mut self,
        session: Session,
        db: &mut usize,
        row: &'static Row,
        words: &[Vec<u8>],
        now: UnixTime,
    ) -> Answer {
        self.purge(now.as_millis());
        let mut call = Call { server: self, session, row, words, now, db: *db };
        let answer = (row.run)(&mut call);
        *db = call.db;
        answer
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
