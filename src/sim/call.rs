//! One command being run: its arguments, and what it may do to the keys of the selected database.

use std::ops::Range;

use super::database::{Database, Entry};
use super::number;
use super::refusal::Refusal;
use super::row;
use super::session::{Connection, Session};
use super::state::State;
use super::value::{Shape, Value};
use crate::wire::{CommandWord, Key, Reply, UnixTime};

/// What a command answers, or why it is refused.
pub(super) type Answer = Result<Reply, Refusal>;

/// A command that can be called.
pub(super) type Row = row::Row<fn(&mut Call<'_>) -> Answer>;

/// All commands that can be called.
pub(super) type Table = row::Table<fn(&mut Call<'_>) -> Answer>;

/// One command being run.
pub(super) struct Call<'a> {
    pub(super) state: &'a mut State,
    /// What else can be called: by EXEC, by a script.
    pub(super) table: Table,
    pub(super) session: Session,
    /// The name of the command, as error texts show it.
    pub(super) name: &'static str,
    pub(super) words: &'a [CommandWord],
    pub(super) now: UnixTime,
    /// The selected database; SELECT changes it for the commands that follow.
    pub(super) db: usize,
}

impl<'a> Call<'a> {
    /// Runs another command in its place: one that was queued, one that a script calls.
    pub(super) fn run(&mut self, row: &'static Row, words: &[CommandWord]) -> Answer {
        self.state.purge(self.now.as_millis());
        let Self { state, table, session, now, db, .. } = self;
        let (table, session, now) = (*table, *session, *now);
        let mut call = Call { state, table, session, name: row.name, words, now, db: *db };
        let answer = (row.run)(&mut call);
        *db = call.db;
        answer
    }

    /// The arguments, without the name.
    pub(super) fn args(&self) -> &'a [CommandWord] {
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

    /// The connection on which the command came.
    pub(super) fn connection(&mut self) -> &mut Connection {
        self.state.connections.entry(self.session).or_default()
    }

    /// The selected database.
    pub(super) fn database(&self) -> &Database {
        &self.state.databases[self.db]
    }

    /// What is stored under a key.
    pub(super) fn entry(&self, key: &Key) -> Option<&Entry> {
        self.database().entries.get(key)
    }

    /// What is stored under a key, if it has the shape that this command works on.
    pub(super) fn read<T: Shape>(&self, key: &Key) -> Result<Option<&T>, Refusal> {
        self.entry(key).map(|entry| T::of(&entry.value).ok_or(Refusal::WrongType)).transpose()
    }

    /// Writes a key anew.
    pub(super) fn write(&mut self, key: Key, value: Value, deadline_ms: Option<i64>) {
        self.touch(&key);
        self.state.databases[self.db].entries.insert(key, Entry { value, deadline_ms });
    }

    /// Changes what is stored under a key, which keeps its expiry. A missing key is an empty value, and an empty value
    /// is a missing key. It is the caller who knows whether anything changed, and then says [`touch`](Self::touch).
    pub(super) fn edit<T: Shape, R>(&mut self, key: &Key, change: impl FnOnce(&mut T) -> R) -> Result<R, Refusal> {
        let entries = &mut self.state.databases[self.db].entries;
        let Some(entry) = entries.get_mut(key) else {
            let mut value = T::default();
            let result = change(&mut value);
            if !value.is_nothing() {
                entries.insert(key.clone(), Entry { value: value.into_value(), deadline_ms: None });
            }
            return Ok(result);
        };
        let value = T::of_mut(&mut entry.value).ok_or(Refusal::WrongType)?;
        let result = change(value);
        if value.is_nothing() {
            entries.remove(key);
        }
        Ok(result)
    }

    /// Removes a key: whether there was one.
    pub(super) fn remove(&mut self, key: &Key) -> bool {
        let existed = self.state.databases[self.db].entries.remove(key).is_some();
        if existed {
            self.touch(key);
        }
        existed
    }

    /// Sets when an existing key expires: at once, if that moment is not in the future; never, with `None`.
    pub(super) fn expire(&mut self, key: &Key, deadline_ms: Option<i64>) {
        if deadline_ms.is_some_and(|deadline_ms| deadline_ms <= self.now.as_millis()) {
            self.remove(key);
        } else if let Some(entry) = self.state.databases[self.db].entries.get_mut(key) {
            entry.deadline_ms = deadline_ms;
            self.touch(key);
        }
    }

    /// Marks every connection that watches the key: it changed.
    pub(super) fn touch(&mut self, key: &Key) {
        self.state.touch(self.db, key);
    }
}

/// Runs a command that has subcommands only, and so is never run itself: one word less is a wrong number of words.
pub(super) fn never(call: &mut Call<'_>) -> Answer {
    Err(Refusal::Arity(call.name))
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

/// The indices from `first` to `last`, both included, of something that long; negative ones count from its end.
pub(super) fn range(first: i64, last: i64, length: usize) -> Range<usize> {
    let from_start = |index: i64| {
        let index = if index < 0 { index.saturating_add_unsigned(length as u64) } else { index };
        usize::try_from(index)
    };
    let start = from_start(first).unwrap_or(0).min(length);
    let end = from_start(last).map_or(0, |last| last.saturating_add(1)).min(length);
    start..end.max(start)
}

#[cfg(test)]
mod tests {
    use super::range;

    #[test]
    fn ranges_include_both_ends_and_count_from_the_end() {
        for (first, last, expected) in [
            (0, -1, 0..3),
            (0, 0, 0..1),
            (1, 100, 1..3),
            (-2, -1, 1..3),
            (-100, 1, 0..2),
            (2, 1, 2..2),
            (5, 9, 3..3),
            (0, -100, 0..0),
            (i64::MIN, i64::MAX, 0..3),
        ] {
            assert_eq!(range(first, last, 3), expected, "{first} {last}");
        }
    }
}
