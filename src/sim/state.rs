//! All that a server remembers.

use std::collections::BTreeMap;

use super::database::Database;
use super::flavour::Flavour;
#[cfg(feature = "sim")]
use super::library::Library;
use super::session::{Connection, Session};
use crate::wire::Key;

/// How many databases SELECT can choose from, as in a server with its defaults.
pub(super) const DATABASES: usize = 16;

/// All that a server remembers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct State {
    pub(super) flavour: Flavour,
    pub(super) databases: [Database; DATABASES],
    #[cfg(feature = "sim")]
    pub(super) library: Library,
    pub(super) connections: BTreeMap<Session, Connection>,
}

impl State {
    /// Removes every expired key; the EXEC of a connection that watched one will fail.
    pub(super) fn purge(&mut self, now_ms: i64) {
        for db in 0..DATABASES {
            if !self.databases[db].has_expired_keys(now_ms) {
                continue;
            }
            for key in self.databases[db].purge(now_ms) {
                self.touch(db, &key);
            }
        }
    }

    /// Marks every connection that watches the key: it changed.
    pub(super) fn touch(&mut self, db: usize, key: &Key) {
        for connection in self.connections.values_mut() {
            if connection.watched.iter().any(|(watched_db, watched)| *watched_db == db && watched == key) {
                connection.touched = true;
                connection.watched.clear();
            }
        }
    }

    /// Forgets connections of which there is nothing to remember.
    pub(super) fn tidy(&mut self) {
        self.connections.retain(|_, connection| *connection != Connection::default());
    }
}
