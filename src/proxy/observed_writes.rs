//! What a connection has written to keys that were only observed. If the guard decides about such a key later, the lock that is
//! still as the client has written it is the client's.

use std::collections::VecDeque;

use super::guarded_keys::is_deletion;
use crate::guard::Rule;
use crate::wire::{Command, CommandWord, Key, Reply, UnixTime};

/// The latest values that a connection has written to observed keys and has not deleted.
#[derive(Debug, Default)]
pub(super) struct ObservedWrites(VecDeque<ObservedWrite>);

#[derive(Debug)]
struct ObservedWrite {
    database: u32,
    key: Key,
    value: Vec<u8>,
    /// What GETSET has replaced, and when. If that had not expired, the client has lost.
    replaced: Option<(Vec<u8>, UnixTime)>,
}

/// So many keys are remembered.
const REMEMBERED: usize = 256;

impl ObservedWrites {
    /// The server has answered this observed command at this moment.
    pub(super) fn note(&mut self, database: u32, command: &Command, reply: &Reply, at: UnixTime) {
        if is_deletion(command.name()) {
            command.args().iter().for_each(|key| self.forget(database, key));
            return;
        }
        let Some((value, replaced)) = written(command, reply) else { return };
        let key = &command.args()[0];
        // A holder may extend its own lock so.
        let replaced = replaced.filter(|old| self.find(database, key).is_none_or(|own| own.value != *old));
        let replaced = replaced.map(|old| (old.to_vec(), at));
        self.forget(database, key);
        if self.0.len() == REMEMBERED {
            self.0.pop_front();
        }
        self.0.push_back(ObservedWrite { database, key: Key::new(key.clone()), value: value.to_vec(), replaced });
    }

    /// The value by which the client has acquired this key, if it has by this rule.
    pub(super) fn acquired_by(&self, database: u32, key: &Key, rule: &Rule) -> Option<Vec<u8>> {
        let write = self.find(database, key.as_bytes())?;
        let has_won = write.replaced.as_ref().is_none_or(|(old, at)| rule.takes_over(old, *at));
        has_won.then(|| write.value.clone())
    }

    /// The key is not as it was written any more.
    pub(super) fn forget(&mut self, database: u32, key: &[u8]) {
        self.0.retain(|write| !write.is_of(database, key));
    }

    fn find(&self, database: u32, key: &[u8]) -> Option<&ObservedWrite> {
        self.0.iter().find(|write| write.is_of(database, key))
    }
}

impl ObservedWrite {
    fn is_of(&self, database: u32, key: &[u8]) -> bool {
        self.database == database && self.key.as_bytes() == key
    }
}

/// The value that a command has written to its first argument, and what GETSET has replaced by that.
fn written<'a>(command: &'a Command, reply: &'a Reply) -> Option<(&'a [u8], Option<&'a [u8]>)> {
    let value = |place: usize| command.args().get(place).map(CommandWord::as_slice);
    match reply {
        Reply::Int(1) if command.is("SETNX") => Some((value(1)?, None)),
        Reply::Status(_) if command.is("SET") => Some((value(1)?, None)),
        Reply::Status(_) if command.is("SETEX") || command.is("PSETEX") => Some((value(2)?, None)),
        Reply::Nil if command.is("GETSET") => Some((value(1)?, None)),
        Reply::Bulk(old) if command.is("GETSET") => Some((value(1)?, Some(old))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::Lifetime;
    use crate::legacy;

    const AT: UnixTime = UnixTime::from_nanos(1_700_000_000_000_000_000);

    fn command(words: &[&str]) -> Command {
        Command::from_words(words.iter().map(|word| word.as_bytes().to_vec())).unwrap()
    }

    /// Of two clients that found the same expired stamp, the second one to write gets the stamp of the first.
    #[test]
    fn a_client_has_acquired_what_it_wrote_unless_it_replaced_a_live_stamp() {
        let dialect = legacy::find("php-getset").unwrap();
        let rule = Rule::new(&[dialect], Lifetime::BeyondStamp).unwrap();
        let bulk = |text: &str| Reply::bulk(text.as_bytes());
        let rows = [
            (&["SETNX", "k", "1700000030"][..], Reply::Int(1), true),
            (&["SETNX", "k", "1700000030"], Reply::Int(0), false),
            (&["SET", "k", "1700000030", "NX"], Reply::Nil, false),
            (&["set", "k", "1700000030", "nx"], Reply::ok(), true),
            (&["SETEX", "k", "30", "1700000030"], Reply::ok(), true),
            (&["GETSET", "k", "1700000030"], Reply::Nil, true),
            (&["GETSET", "k", "1700000030"], bulk("1699999990"), true),
            (&["GETSET", "k", "1700000030"], bulk("1700000029"), false),
            (&["GET", "k"], bulk("1700000030"), false),
        ];
        for (words, reply, has_acquired) in rows {
            let mut writes = ObservedWrites::default();
            writes.note(0, &command(words), &reply, AT);
            let value = writes.acquired_by(0, &Key::from("k"), &rule);
            assert_eq!(value, has_acquired.then(|| b"1700000030".to_vec()), "{words:?} {reply:?}");
        }
        let mut writes = ObservedWrites::default();
        writes.note(1, &command(&["SETNX", "k", "1700000020"]), &Reply::Int(1), AT);
        writes.note(1, &command(&["GETSET", "k", "1700000030"]), &bulk("1700000020"), AT);
        assert!(writes.acquired_by(1, &Key::from("k"), &rule).is_some(), "it has extended its own lock");
        assert!(writes.acquired_by(0, &Key::from("k"), &rule).is_none(), "in another database");
        writes.note(1, &command(&["DEL", "other", "k"]), &Reply::Int(1), AT);
        assert!(writes.acquired_by(1, &Key::from("k"), &rule).is_none());
    }

    #[test]
    fn only_the_latest_writes_are_remembered() {
        let mut writes = ObservedWrites::default();
        for number in 0..=REMEMBERED {
            writes.note(0, &command(&["SETNX", &number.to_string(), "1700000030"]), &Reply::Int(1), AT);
        }
        assert!(writes.0.len() == REMEMBERED && writes.find(0, b"0").is_none());
    }
}
