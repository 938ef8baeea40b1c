//! One command being run: its arguments, and what it may do to the keys of the selected database.

use super::database::Entry;
use super::number;
use super::refusal::Refusal;
use super::server::Server;
use super::session::Session;
use super::table::Row;
use super::value::{Shape, Value};
use crate::wire::{Key, Reply, UnixTime};

/// What a command answers, or why it is refused.
pub(super) type Answer = Result<Reply, Refusal>;

/// One command being run.
pub(super) struct Call<'a> {
    pub(super) server: &'a mut Server,
    pub(super) session: Session,
    pub(super) row: &'static Row,
    pub(super) words: &'a [Vec<u8>],
    pub(super) now: UnixTime,
    pub(super) db: usize,
}

impl Call<'_> {
    /// The arguments, without the name.
    pub(super) fn args(&self) -> &[Vec<u8>] {
        &self.words[1..]
    }

    /// The key that is argument `index`; the first is 0.
    pub(super) fn key(&self, index: usize) -> Key {
        Key::new(self.args()[index].as_slice())
    }

    /// The integer that is argument `index`.
    pub(super) fn integer(&self, index: usize) -> Result<i64, Refusal> {
        number::integer(&self.args()[index]).ok_or(Refusal::NotAnInteger)
    }

    /// What is stored under a key.
    pub(super) fn entry(&self, key: &Key) -> Option<&Entry> {
        self.server.databases[self.db].entries.get(key)
    }

    /// What is stored under a key, if it has the shape that this command works on.
    pub(super) fn read<T: Shape>(&self, key: &Key) -> Result<Option<&T>, Refusal> {
        self.entry(key).map(|entry| T::of(&entry.value).ok_or(Refusal::WrongType)).transpose()
    }

    /// Writes a key anew.
    pub(super) fn write(&mut self, key: Key, value: Value, deadline_ms: Option<i64>) {
        self.server.touch(self.db, &key);
        self.server.databases[self.db].entries.insert(key, Entry { value, deadline_ms });
    }

    /// Removes a key: whether there was one.
    pub(super) fn remove(&mut self, key: &Key) -> bool {
        let existed = self.server.databases[self.db].entries.remove(key).is_some();
        if existed {
            self.server.touch(self.db, key);
        }
        existed
    }

    /// Sets when an existing key is gone; at once, if that moment is not in the future.
    pub(super) fn expire(&mut self, key: &Key, deadline_ms: i64) {
        if deadline_ms <= self.now.as_millis() {
            self.remove(key);
        } else if let Some(entry) = self.server.databases[self.db].entries.get_mut(key) {
            entry.deadline_ms = Some(deadline_ms);
            self.server.touch(self.db, key);
        }
    }
}

/// 1 for yes, 0 for no.
pub(super) fn flag(yes: bool) -> Reply {
    Reply::Int(i64::from(yes))
}

/// A number of things.
pub(super) fn count(number: usize) -> Reply {
    Reply::Int(i64::try_from(number).unwrap_or(i64::MAX))
}

/// A string, or nil.
pub(super) fn bulk_or_nil(bytes: Option<impl AsRef<[u8]>>) -> Reply {
    bytes.map_or(Reply::Nil, Reply::bulk)
}
