//! What the guard knows of one client connection.

use std::collections::BTreeMap;
use std::time::Duration;

use super::answer::{Answer, Note};
use super::key_session::{Grant, GuardedKey, KeySession};
use super::rule::Rule;
use super::scripts;
use crate::lock::Owner;
use crate::wire::{Command, Key, Transcript, Turn};

/// What the guard knows of one client connection: where its client is in its protocol on each guarded key, and whether it is
/// inside MULTI.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct GuardedConnection {
    sessions: BTreeMap<Key, KeySession>,
    in_multi: bool,
    /// Whether it watches a guarded key: whatever changes that ends its transaction.
    is_watching: bool,
}

impl GuardedConnection {
    /// A connection whose client holds the lock on `key`.
    pub(super) fn holding(key: Key, grant: Grant) -> Self {
        Self { sessions: BTreeMap::from([(key, KeySession::holding(grant))]), ..Self::default() }
    }

    /// What the client was granted by its latest acquisition of this key.
    pub(super) fn grant(&self, key: &Key) -> Option<&Grant> {
        self.sessions.get(key)?.grant()
    }

    /// The keys on which its client holds a lock that it has not released.
    pub fn held(&self) -> impl Iterator<Item = &Key> {
        self.sessions.iter().filter(|(_, session)| session.grant().is_some()).map(|(key, _)| key)
    }

    /// What it knows of one key: all that a command on this key needs, however many locks its client holds.
    pub fn part(&self, key: &Key) -> Self {
        let sessions = self.sessions.get_key_value(key).map(|(key, session)| (key.clone(), session.clone()));
        Self { sessions: sessions.into_iter().collect(), in_multi: self.in_multi, is_watching: self.is_watching }
    }

    /// A command on this key has made this of the [`part`](Self::part).
    pub fn update(&mut self, key: &Key, mut after: Self) {
        (self.in_multi, self.is_watching) = (after.in_multi, after.is_watching);
        match after.sessions.remove(key) {
            Some(session) => drop(self.sessions.insert(key.clone(), session)),
            None => drop(self.sessions.remove(key)),
        }
    }

    /// Whether the guard may extend its locks now: not inside a transaction, and not while it watches a lock.
    pub fn is_renewable(&self) -> bool {
        !self.in_multi && !self.is_watching
    }

    /// Whether its client holds no lock, has no attempt under way, and neither watches a lock nor is inside MULTI.
    pub fn is_idle(&self) -> bool {
        *self == Self::default()
    }

    /// Extends the client's lock on this key by this length from now; `owner` is fresh. Returns the connection after it,
    /// and what there is to report.
    ///
    /// # Errors
    /// As for [`serve`](Self::serve).
    pub fn renew(
        &self,
        rule: &Rule,
        key: &Key,
        length: Duration,
        owner: &Owner,
        redis: &mut Transcript,
    ) -> Turn<(Self, Option<Note>)> {
        let mut after = self.clone();
        let session = after.sessions.remove(key).unwrap_or_default();
        let guard = GuardedKey { rule, key, members: rule.members(), owner, may_acquire: false };
        let (session, note) = session.renew(&guard, length, redis)?;
        after.keep(key, session);
        Ok((after, note))
    }

    /// Whether it is inside MULTI, where commands are queued.
    pub fn is_in_multi(&self) -> bool {
        self.in_multi
    }

    /// The client sends a command that names no key: what it does to the connection.
    pub fn observe(&mut self, command: &Command) {
        if command.is("MULTI") {
            self.in_multi = true;
        } else if ["EXEC", "DISCARD", "RESET"].iter().any(|name| command.is(name)) {
            (self.in_multi, self.is_watching) = (false, false);
        } else if command.is("UNWATCH") {
            self.is_watching = false;
        }
    }

    /// The client sends a command on a guarded key. `redis` takes what the guard sends and reads; `owner` is fresh.
    /// Returns the connection after it, what becomes of the command, and what there is to report.
    ///
    /// # Errors
    /// [`Pending`](crate::wire::Pending): a reply or the host's clock is still to come, or the server refused.
    pub fn serve(
        &self,
        rule: &Rule,
        key: &Key,
        command: &Command,
        owner: &Owner,
        redis: &mut Transcript,
    ) -> Turn<(Self, Answer, Vec<Note>)> {
        self.serve_on(&GuardedKey { rule, key, members: rule.members(), owner, may_acquire: true }, command, redis)
    }

    /// The same for a client that has ended its side of the connection: it does not acquire, as it could not release.
    ///
    /// # Errors
    /// As for [`serve`](Self::serve).
    pub fn refuse(
        &self,
        rule: &Rule,
        key: &Key,
        command: &Command,
        owner: &Owner,
        redis: &mut Transcript,
    ) -> Turn<(Self, Answer, Vec<Note>)> {
        self.serve_on(&GuardedKey { rule, key, members: rule.members(), owner, may_acquire: false }, command, redis)
    }

    /// Whether this command, which the guard sends, may write a lock.
    pub fn may_write_lock(command: &Command) -> bool {
        scripts::is_take(command)
    }

    /// Deletes what the guard wrote with the client's latest acquisition of this key, if it is still there: the client has
    /// left before it was answered. Returns the connection after it.
    ///
    /// # Errors
    /// As for [`serve`](Self::serve).
    pub fn withdraw(&self, rule: &Rule, key: &Key, owner: &Owner, redis: &mut Transcript) -> Turn<Self> {
        let guard = GuardedKey { rule, key, members: rule.members(), owner, may_acquire: false };
        let mut after = self.clone();
        let session = after.sessions.remove(key).unwrap_or_default();
        after.keep(key, session.withdraw(&guard, redis)?);
        Ok(after)
    }

    fn serve_on(
        &self,
        guard: &GuardedKey<'_>,
        command: &Command,
        redis: &mut Transcript,
    ) -> Turn<(Self, Answer, Vec<Note>)> {
        let mut session = self.sessions.get(guard.key).cloned().unwrap_or_default();
        let (session, answer, notes) = if self.in_multi {
            let answer = session.in_multi(guard, command);
            (session, answer, Vec::new())
        } else {
            session.serve(guard, command, redis)?
        };
        let others = self.sessions.iter().filter(|(key, _)| *key != guard.key);
        let mut after = Self {
            sessions: others.map(|(key, session)| (key.clone(), session.clone())).collect(),
            in_multi: self.in_multi,
            is_watching: self.is_watching || command.is("WATCH"),
        };
        after.keep(guard.key, session);
        Ok((after, answer, notes))
    }

    fn keep(&mut self, key: &Key, session: KeySession) {
        if !session.is_empty() {
            self.sessions.insert(key.clone(), session);
        }
    }
}
