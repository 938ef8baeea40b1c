//! Locks of several keys: which keys they are, the commands say that a try begins with.

use super::Auditor;
use super::name::{Name, NameRef};
use super::told::Told;
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
        let won = Said::new(command.clone(), Reply::Int(1), line.at, number, None, false);
        if !self.grammar.begins(&Key::new(*first), &won) {
            for key in keys {
                if self.is_lock(line.database, key) {
                    self.tell(line.database, key, address, Told::new(number, line.at, command.clone()));
                }
            }
            return;
        }
        let name = Name { database: line.database, key: (*first).into() };
        self.join(&name, others, Joined::AsPart, line.at);
        self.tell(line.database, first, address, Told::new(number, line.at, command.clone()));
    }

    /// From now on these keys are of one lock.
    pub(super) fn join(
        &mut self,
        name: &Name,
        others: impl IntoIterator<Item = impl AsRef<[u8]>>,
        how: Joined,
        at: UnixTime,
    ) {
        self.open(name.database, &name.key, at);
        for other in others {
            let joined = Name { database: name.database, key: other.as_ref().into() };
            if joined != *name && !self.homes.contains_key(&joined) {
                self.join_one(name, joined, how);
            }
        }
    }

    fn join_one(&mut self, name: &Name, joined: Name, how: Joined) {
        let taken = self.locks.remove(&joined);
        let home = self.homes.get(name).unwrap_or(name).clone();
        let Some(lock) = self.locks.get_mut(&home) else { return };
        let count = lock.spots().count() + taken.as_ref().map_or(1, |taken| taken.spots().count());
        if count > usize::from(Spots::MOST) {
            self.locks.extend(taken.map(|taken| (joined, taken)));
            return;
        }
        lock.turn_to_home_of(&name.key);
        let is_known = self.summaries.knows(joined.database, &joined.key);
        lock.join(Key::new(joined.key.clone()), how == Joined::AsPart, taken, is_known);
        self.homes.values_mut().filter(|home| **home == joined).for_each(|it| it.clone_from(&home));
        self.homes.insert(joined, home);
    }
}
