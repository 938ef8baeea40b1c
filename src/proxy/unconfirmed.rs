//! Changes of a connection that its server has not confirmed: it may refuse them, or discard the transaction that they are in.

use std::collections::VecDeque;

/// A change of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ConnectionChange {
    /// This database is selected.
    Database(u32),
    /// Replies are of version 3 of the protocol, or of version 2.
    Resp3(bool),
    /// No transaction is open.
    NoTransaction,
}

/// What the commands on their way will change, in their order.
#[derive(Debug, Default)]
pub(super) struct Unconfirmed {
    /// Replies that were received.
    replies: u64,
    awaited: VecDeque<Awaited>,
    /// What the commands of the open transaction change.
    queued: Vec<ConnectionChange>,
}

/// What one reply will change.
#[derive(Debug)]
struct Awaited {
    /// How many replies were received by then.
    replies: u64,
    if_confirmed: Vec<ConnectionChange>,
    if_refused: Vec<ConnectionChange>,
}

impl Unconfirmed {
    /// A command passes that makes these changes unless the server refuses it; its reply is the last of those `owed`.
    pub(super) fn passed(&mut self, changes: &[ConnectionChange], owed: u64) {
        self.awaits(changes.to_vec(), Vec::new(), owed);
    }

    /// MULTI passes, and counts until the server refuses it; its reply is the last of those `owed`.
    pub(super) fn transaction_begins(&mut self, owed: u64) {
        self.awaits(Vec::new(), vec![ConnectionChange::NoTransaction], owed);
    }

    fn awaits(&mut self, if_confirmed: Vec<ConnectionChange>, if_refused: Vec<ConnectionChange>, owed: u64) {
        self.awaited.push_back(Awaited { replies: self.replies + owed, if_confirmed, if_refused });
    }

    /// The same inside a transaction.
    pub(super) fn queued(&mut self, change: ConnectionChange) {
        self.queued.push(change);
    }

    /// EXEC passes; its reply is the last of those `owed`. A command that fails in a transaction that runs is taken to succeed.
    pub(super) fn executed(&mut self, owed: u64) {
        let changes = std::mem::take(&mut self.queued);
        if !changes.is_empty() {
            self.awaits(changes, Vec::new(), owed);
        }
    }

    /// The transaction is discarded.
    pub(super) fn discarded(&mut self) {
        self.queued.clear();
    }

    /// The next reply has arrived. Returns what has changed by that.
    pub(super) fn replied(&mut self, is_refusal: bool) -> Vec<ConnectionChange> {
        self.replies += 1;
        if self.awaited.front().is_none_or(|awaited| awaited.replies != self.replies) {
            return Vec::new();
        }
        let awaited = self.awaited.pop_front();
        awaited.map(|it| if is_refusal { it.if_refused } else { it.if_confirmed }).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_change_is_confirmed_by_its_own_reply() {
        let mut unconfirmed = Unconfirmed::default();
        unconfirmed.passed(&[ConnectionChange::Database(3)], 2);
        unconfirmed.passed(&[ConnectionChange::Database(99)], 3);
        unconfirmed.passed(&[ConnectionChange::Resp3(true)], 4);
        let replied = [false, false, true, false].map(|is_refusal| unconfirmed.replied(is_refusal));
        let expected = [vec![], vec![ConnectionChange::Database(3)], vec![], vec![ConnectionChange::Resp3(true)]];
        assert_eq!(replied, expected);
    }

    #[test]
    fn a_transaction_that_was_refused_is_none() {
        let mut unconfirmed = Unconfirmed::default();
        unconfirmed.transaction_begins(1);
        assert_eq!(unconfirmed.replied(false), []);
        unconfirmed.transaction_begins(1);
        assert_eq!(unconfirmed.replied(true), [ConnectionChange::NoTransaction]);
    }

    #[test]
    fn a_transaction_changes_what_it_has_queued_if_it_runs() {
        let mut unconfirmed = Unconfirmed::default();
        let mut transaction = |is_refusal| {
            unconfirmed.queued(ConnectionChange::Database(1));
            assert_eq!(unconfirmed.replied(false), []);
            unconfirmed.executed(1);
            unconfirmed.replied(is_refusal)
        };
        assert_eq!(transaction(true), []);
        assert_eq!(transaction(false), [ConnectionChange::Database(1)]);
        unconfirmed.queued(ConnectionChange::Database(2));
        unconfirmed.discarded();
        unconfirmed.executed(1);
        assert_eq!(unconfirmed.replied(false), []);
    }
}
