//! Which keys are guarded, by which rule.

use std::sync::Arc;

use crate::guard::Rule;
use crate::sim::matches_glob;
use crate::wire::{Command, Key};

/// Which keys are guarded: patterns as KEYS takes them, the first that matches counts.
#[derive(Clone, Debug, Default)]
pub struct GuardedKeys(Vec<(Vec<u8>, Arc<Rule>)>);

impl GuardedKeys {
    /// The rule of a key, if it is guarded.
    pub(super) fn rule(&self, key: &[u8]) -> Option<&Arc<Rule>> {
        self.0.iter().find(|(pattern, _)| matches_glob(pattern, key)).map(|(_, rule)| rule)
    }

    /// The key on which a command with these first words could be a lock's.
    pub(super) fn key_of(&self, words: &[&[u8]]) -> Option<Key> {
        let (name, args) = words.split_first()?;
        let key = args.get(key_place(name)?)?;
        self.rule(key).map(|_| Key::new(*key))
    }
}

impl GuardedKeys {
    /// Whether no key is guarded.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The first guarded key among the arguments.
    pub(super) fn any_of(&self, command: &Command) -> Option<Key> {
        command.args().iter().find(|key| self.rule(key).is_some()).map(|key| Key::new(key.clone()))
    }
}

impl FromIterator<(Vec<u8>, Arc<Rule>)> for GuardedKeys {
    fn from_iter<I: IntoIterator<Item = (Vec<u8>, Arc<Rule>)>>(rules: I) -> Self {
        Self(rules.into_iter().collect())
    }
}

/// Which argument of a command that locks use is its key.
fn key_place(name: &[u8]) -> Option<usize> {
    const FIRST: [&[u8]; 14] = [
        b"SETNX",
        b"GET",
        b"GETSET",
        b"DEL",
        b"SET",
        b"EXPIRE",
        b"PEXPIRE",
        b"EXISTS",
        b"WATCH",
        b"UNLINK",
        b"SETEX",
        b"PSETEX",
        b"EXPIREAT",
        b"PEXPIREAT",
    ];
    const FOURTH: [&[u8]; 2] = [b"EVALSHA", b"EVAL"];
    let is = |other: &&[u8]| name.eq_ignore_ascii_case(other);
    if FIRST.iter().any(is) {
        Some(0)
    } else if FOURTH.iter().any(is) {
        Some(2)
    } else {
        None
    }
}
