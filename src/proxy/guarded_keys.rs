//! Which keys are guarded, and how.

use std::sync::Arc;

use crate::guard::Rule;
use crate::sim::matches_glob;
use crate::wire::{Command, Key};

/// What the proxy does with commands on a key.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Treatment {
    /// They pass unchanged, and the proxy reports them with their replies.
    Observe,
    /// A guard answers them by this rule.
    Decide(Arc<Rule>),
}

impl Treatment {
    /// The name of the guard's mode: `observe`, `protect` or `bridge`.
    pub fn mode(&self) -> &'static str {
        match self {
            Self::Observe => "observe",
            Self::Decide(rule) if rule.is_bridged() => "bridge",
            Self::Decide(_) => "protect",
        }
    }
}

/// Which keys are guarded: patterns as KEYS takes them, the first that matches counts.
#[derive(Clone, Debug, Default)]
pub struct GuardedKeys(Vec<(Vec<u8>, Treatment)>);

impl GuardedKeys {
    /// What is done with a key, if it is guarded.
    pub(super) fn treatment(&self, key: &[u8]) -> Option<&Treatment> {
        self.0.iter().find(|(pattern, _)| matches_glob(pattern, key)).map(|(_, treatment)| treatment)
    }

    /// The rule of a key, if a guard decides about it.
    pub(super) fn rule(&self, key: &[u8]) -> Option<&Arc<Rule>> {
        match self.treatment(key)? {
            Treatment::Observe => None,
            Treatment::Decide(rule) => Some(rule),
        }
    }

    /// The key on which a command with these first words could be a lock's.
    pub(super) fn key_of(&self, words: &[&[u8]]) -> Option<Key> {
        let (name, args) = words.split_first()?;
        let key = args.get(key_place(name).or_else(|| observed_key_place(name))?)?;
        let is_used = match self.treatment(key)? {
            Treatment::Observe => true,
            Treatment::Decide(_) => key_place(name).is_some(),
        };
        is_used.then(|| Key::new(*key))
    }

    /// The patterns, in their order, with what is done.
    pub(super) fn patterns(&self) -> impl Iterator<Item = (&[u8], &Treatment)> {
        self.0.iter().map(|(pattern, treatment)| (pattern.as_slice(), treatment))
    }

    /// Whether any key is only observed.
    pub(super) fn observes(&self) -> bool {
        self.0.iter().any(|(_, treatment)| matches!(treatment, Treatment::Observe))
    }

    /// Whether no key is guarded.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The first guarded key among the arguments.
    pub(super) fn any_of(&self, command: &Command) -> Option<Key> {
        command.args().iter().find(|key| self.treatment(key).is_some()).map(|key| Key::new(key.clone()))
    }
}

impl FromIterator<(Vec<u8>, Treatment)> for GuardedKeys {
    fn from_iter<I: IntoIterator<Item = (Vec<u8>, Treatment)>>(patterns: I) -> Self {
        Self(patterns.into_iter().collect())
    }
}

/// Which argument of a command that locks use is its key.
fn key_place(name: &[u8]) -> Option<usize> {
    const FIRST: [&str; 14] = [
        "SETNX",
        "GET",
        "GETSET",
        "DEL",
        "SET",
        "EXPIRE",
        "PEXPIRE",
        "EXISTS",
        "WATCH",
        "UNLINK",
        "SETEX",
        "PSETEX",
        "EXPIREAT",
        "PEXPIREAT",
    ];
    const THIRD: [&str; 2] = ["EVALSHA", "EVAL"];
    if is_one_of(name, &FIRST) {
        Some(0)
    } else if is_one_of(name, &THIRD) {
        Some(2)
    } else {
        None
    }
}

/// The same for commands of which a guard passes the reply on, and which an audit reads.
fn observed_key_place(name: &[u8]) -> Option<usize> {
    const FIRST: [&str; 8] = ["TTL", "PTTL", "PERSIST", "MSETNX", "GETDEL", "HGET", "HSET", "DELEX"];
    is_one_of(name, &FIRST).then_some(0)
}

/// Whether it concerns the keys that a transaction watches or changes, without naming them.
pub(super) fn steers_transaction(name: &[u8]) -> bool {
    is_one_of(name, &["MULTI", "EXEC", "DISCARD", "UNWATCH"])
}

pub(super) fn is_deletion(name: &[u8]) -> bool {
    is_one_of(name, &["DEL", "UNLINK"])
}

pub(super) fn is_watch(name: &[u8]) -> bool {
    is_one_of(name, &["WATCH"])
}

fn is_one_of(name: &[u8], names: &[&str]) -> bool {
    names.iter().any(|other| name.eq_ignore_ascii_case(other.as_bytes()))
}
