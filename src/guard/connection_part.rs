//! What the guard knows of one client connection that a command on one key needs.

use std::time::Duration;

use super::answer::{Answer, Note};
use super::key_session::{Grant, GuardedKey, KeySession, ReceivedCommand};
use super::rule::Rule;
use crate::lock::Owner;
use crate::wire::{Command, Key, Transcript, Turn};

/// What the guard knows of one client connection that a command on one key needs: where its client is in its protocol on that
/// key, and whether it is inside MULTI.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ConnectionPart {
    session: KeySession,
    transaction: GuardedTransaction,
}

/// The transaction of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct GuardedTransaction {
    pub(super) in_multi: bool,
    /// Whether it watches the key: whatever changes that ends the transaction.
    pub(super) is_watching: bool,
}

/// A command of a client on a guarded key, before the server is asked about it.
#[derive(Debug)]
pub struct CommandToServe<'a> {
    rule: &'a Rule,
    key: &'a Key,
    command: &'a Command,
    received: ReceivedCommand,
    transaction: GuardedTransaction,
}

impl GuardedTransaction {
    /// The client sends a command that names no key.
    pub(super) fn observe(&mut self, command: &Command) {
        if command.is("MULTI") {
            self.in_multi = true;
        } else if ["EXEC", "DISCARD", "RESET"].iter().any(|name| command.is(name)) {
            *self = Self::default();
        } else if command.is("UNWATCH") {
            self.is_watching = false;
        }
    }
}

impl ConnectionPart {
    pub(super) fn new(session: KeySession, transaction: GuardedTransaction) -> Self {
        Self { session, transaction }
    }

    pub(super) fn into_parts(self) -> (KeySession, GuardedTransaction) {
        (self.session, self.transaction)
    }

    /// A connection whose client holds the lock.
    pub(super) fn holding(grant: Grant) -> Self {
        Self { session: KeySession::holding(grant), ..Self::default() }
    }

    /// The same where the client has acquired the lock by writing this value itself, while the guard only observed.
    #[must_use]
    pub fn having_acquired_by(self, value: Vec<u8>) -> Self {
        Self { session: KeySession::holding(Grant::by_client(value)), ..self }
    }

    /// Whether the client holds the lock, as far as the guard knows.
    pub fn holds_lock(&self) -> bool {
        self.grant().is_some()
    }

    /// What the client was granted by its latest acquisition.
    pub(super) fn grant(&self) -> Option<&Grant> {
        self.session.grant()
    }

    /// The client sends a command that names no key: what it does to the connection.
    pub(super) fn observe(&mut self, command: &Command) {
        self.transaction.observe(command);
    }

    /// The client sends a command on the key.
    pub fn receive<'a>(self, rule: &'a Rule, key: &'a Key, command: &'a Command) -> CommandToServe<'a> {
        let Self { session, transaction } = self;
        CommandToServe { rule, key, command, received: session.receive(rule, key, command), transaction }
    }

    /// Whether it is inside MULTI, where commands are [queued](Self::queue).
    pub fn is_in_multi(&self) -> bool {
        self.transaction.in_multi
    }

    /// The client sends a command on the key inside MULTI: what becomes of it, and what there is to report. `owner` is fresh.
    /// What the client holds changes when the transaction runs ([`GuardedConnection::released`](super::GuardedConnection::released)).
    pub fn queue(&self, rule: &Rule, key: &Key, command: &Command, owner: &Owner) -> (Answer, Option<Note>) {
        let guard = GuardedKey { rule, key, members: rule.members(), owner, may_acquire: false };
        self.session.queue(&guard, command, self.transaction.is_watching)
    }

    /// Extends the client's lock by this length from now; `owner` is fresh. Returns the connection after it, and what there
    /// is to report.
    ///
    /// # Errors
    /// As for [`CommandToServe::serve`].
    pub fn renew(
        &self,
        rule: &Rule,
        key: &Key,
        length: Duration,
        owner: &Owner,
        redis: &mut Transcript,
    ) -> Turn<(Self, Option<Note>)> {
        let guard = GuardedKey { rule, key, members: rule.members(), owner, may_acquire: false };
        let (session, note) = self.session.clone().renew(&guard, length, redis)?;
        Ok((Self { session, ..*self }, note))
    }

    /// Deletes what the guard wrote with the client's latest acquisition, if it is still there: the client has left before it
    /// was answered. Returns the connection after it.
    ///
    /// # Errors
    /// As for [`CommandToServe::serve`].
    pub fn withdraw(&self, rule: &Rule, key: &Key, owner: &Owner, redis: &mut Transcript) -> Turn<Self> {
        let guard = GuardedKey { rule, key, members: rule.members(), owner, may_acquire: false };
        Ok(Self { session: self.session.clone().withdraw(&guard, redis)?, ..*self })
    }
}

impl CommandToServe<'_> {
    /// Serves it. `redis` takes what the guard sends and reads; `owner` is fresh. A client that has ended its side of the
    /// connection may not acquire, as it could not release. Returns the connection after it, what becomes of the command, and
    /// what there is to report.
    ///
    /// # Errors
    /// [`Pending`](crate::wire::Pending): a reply or the host's clock is still to come, or the server refused.
    pub fn serve(
        &self,
        owner: &Owner,
        may_acquire: bool,
        redis: &mut Transcript,
    ) -> Turn<(ConnectionPart, Answer, Vec<Note>)> {
        let Self { rule, key, command, received, transaction } = self;
        let guard = GuardedKey { rule, key, members: rule.members(), owner, may_acquire };
        let (session, answer, notes) = received.serve(&guard, command, redis)?;
        let is_watching = transaction.is_watching || command.is("WATCH");
        let transaction = GuardedTransaction { is_watching, ..*transaction };
        Ok((ConnectionPart { session, transaction }, answer, notes))
    }
}
