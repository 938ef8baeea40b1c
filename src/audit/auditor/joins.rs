//! Locks of several keys: which keys they are, the commands say that a try begins with.

use super::name::{Name, NameRef};
use super::told::Told;
use super::{Auditor, lock_of};
use crate::audit::said::Said;
use crate::audit::spots::Spots;
use crate::monitor::Line;
use crate::wire::{Key, Reply, UnixTime};

/// Whether a key that is joined to a lock is one by itself, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Joined {
    /// It is a lock by itself.
    ByItself,
    /// It is nothing but a part of the other one.
    AsPart,
}

impl Auditor {
    /// Whether this key is one of a lock.
    pub(super) fn is_lock(&self, database: u32, key: &[u8]) -> bool {
        let name = NameRef { database, key };
        self.locks.contains_key(&name) || !self.homes.is_empty() && self.homes.contains_key(&name)
    }

    /// MSETNX: perhaps somebody's who takes several keys for one lock.
    pub(super) fn several(&mut self, number: u64, line: &Line<'_>, address: &[u8]) {
        let command = line.command();
        let keys: Vec<&[u8]> = command.args().iter().step_by(2).map(Vec::as_slice).collect();
        let Some((first, others)) = keys.split_first() else { return };
        let won = Said::new(command.clone(), Reply::Int(1), line.at, number, None);
        if !self.grammar.begins(&Key::new(*first), &won) {
            for key in keys {
                if self.is_lock(line.database, key) {
                    self.tell(line.database, key, address, Told::new(number, line.at, command.clone()));
                }
            }
            return;
        }
        self.join(line.database, first, others, Joined::AsPart, line.at);
        self.tell(line.database, first, address, Told::new(number, line.at, command.clone()));
    }

    /// From now on these keys are of one lock, whose name is the first.
    pub(super) fn join(&mut self, database: u32, key: &[u8], others: &[&[u8]], how: Joined, at: UnixTime) {
        self.open(database, key, at);
        let name = Name { database, key: key.into() };
        let name = self.homes.get(&name).cloned().unwrap_or(name);
        for other in others {
            let joined = Name { database, key: (*other).into() };
            if joined == name || self.homes.contains_key(&joined) {
                continue;
            }
            let taken = self.locks.remove(&joined);
            let Some(lock) = lock_of(&mut self.locks, &self.homes, NameRef { database, key }) else { return };
            let count = lock.spots().count() + taken.as_ref().map_or(1, |taken| taken.spots().count());
            if count > usize::from(Spots::MOST) {
                self.locks.extend(taken.map(|taken| (joined, taken)));
                continue;
            }
            lock.turn_to_home_of(key);
            let is_known = self.summaries.knows(database, other);
            lock.join(Key::new(*other), how == Joined::AsPart, taken, is_known);
            self.homes.values_mut().filter(|home| **home == joined).for_each(|home| home.clone_from(&name));
            self.homes.insert(joined, name.clone());
        }
    }
}
