//! The holds of one lock: those of now, and those that have ended in a way that a later command may explain.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use super::hold::{Hold, NextHold};
use crate::wire::UnixTime;

/// Maximum number of holds that are remembered of each way to end.
const MOST: usize = 16;

/// The holds of one lock. It derefs to those of now: a client holds, or may still believe that it does.
#[derive(Debug, Default)]
pub(super) struct Holds {
    now: Vec<Hold>,
    /// Expired holds that were not released when the same connection acquired again.
    unreleased: Vec<Hold>,
    /// Holds that ended when another connection deleted the key.
    deleted: Vec<DeletedHold>,
}

/// A hold that ended when another connection deleted the key: its client has reconnected, or another client did it.
#[derive(Debug)]
pub(super) struct DeletedHold {
    pub(super) hold: Hold,
    /// That connection.
    pub(super) by: Arc<str>,
    pub(super) at: UnixTime,
    pub(super) line: u64,
    /// Whether that connection never tried to acquire the lock.
    pub(super) by_outsider: bool,
}

impl Holds {
    /// What this client holds of the key.
    pub(super) fn of(&self, client: &str, key: usize) -> Option<usize> {
        self.now.iter().position(|hold| *hold.client == *client && hold.keys.has(key))
    }

    /// What another client than this one holds of the key.
    pub(super) fn of_another(&self, client: &str, key: usize, at: UnixTime) -> Option<usize> {
        self.now.iter().position(|hold| *hold.client != *client && hold.is_live(at) && hold.keys.has(key))
    }

    /// Whether this client holds the lock with this home.
    pub(super) fn has(&self, client: &str, home: usize) -> bool {
        self.now.iter().any(|hold| *hold.client == *client && hold.home == home)
    }

    /// The holds that ran at the same time as this one, which is not among them.
    pub(super) fn beside(&self, hold: &Hold) -> Vec<usize> {
        let is_beside = |other: &Hold| {
            let (earlier, later) = if other.line < hold.line { (other, hold) } else { (hold, other) };
            earlier.is_live(later.until) && earlier.keys.meets(later.keys)
        };
        (0..self.now.len()).filter(|index| is_beside(&self.now[*index])).collect()
    }

    /// Adds a hold, which follows those of its keys.
    pub(super) fn add(&mut self, hold: Hold) {
        for other in self.now.iter_mut().filter(|other| other.keys.meets(hold.keys)) {
            other.followed_by.get_or_insert_with(|| NextHold {
                client: hold.client.clone(),
                line: hold.line,
                certainty: hold.certainty,
            });
        }
        self.now.push(hold);
    }

    /// Adds those of another lock, whose keys have indexes from here on now.
    pub(super) fn absorb(&mut self, other: Self, indexes: usize) {
        self.now.extend(other.now.into_iter().map(|hold| hold.moved_by(indexes)));
        self.unreleased.extend(other.unreleased.into_iter().map(|hold| hold.moved_by(indexes)));
        let moved = |it: DeletedHold| DeletedHold { hold: it.hold.moved_by(indexes), ..it };
        self.deleted.extend(other.deleted.into_iter().map(moved));
    }

    /// Removes the first expired hold if too many are remembered: they may still come back.
    pub(super) fn forget_expired(&mut self) -> Option<Hold> {
        let oldest = self.now.iter().position(|hold| hold.is_expired).filter(|_| self.now.len() > MOST)?;
        Some(self.now.remove(oldest))
    }

    /// Remembers an expired hold whose connection has acquired again.
    pub(super) fn remember_unreleased(&mut self, hold: Hold) {
        push_bounded(&mut self.unreleased, hold);
    }

    /// The first such hold for which this is true.
    pub(super) fn take_unreleased(&mut self, is_it: impl Fn(&Hold) -> bool) -> Option<Hold> {
        let index = self.unreleased.iter().position(is_it)?;
        Some(self.unreleased.remove(index))
    }

    /// Remembers a hold that another connection has ended.
    pub(super) fn remember_deleted(&mut self, deleted: DeletedHold) {
        push_bounded(&mut self.deleted, deleted);
    }

    /// The hold of this client that a connection has ended which never tried to acquire.
    pub(super) fn take_deleted_by_outsider(&mut self, client: &str, home: usize) -> Option<DeletedHold> {
        let is_it = |it: &DeletedHold| it.by_outsider && it.hold.home == home && *it.hold.client == *client;
        let index = self.deleted.iter().position(is_it)?;
        Some(self.deleted.remove(index))
    }
}

impl Deref for Holds {
    type Target = Vec<Hold>;

    fn deref(&self) -> &Vec<Hold> {
        &self.now
    }
}

impl DerefMut for Holds {
    fn deref_mut(&mut self) -> &mut Vec<Hold> {
        &mut self.now
    }
}

/// Adds an element, and drops the oldest one if there are too many.
fn push_bounded<T>(all: &mut Vec<T>, one: T) {
    if all.len() >= MOST {
        all.remove(0);
    }
    all.push(one);
}
