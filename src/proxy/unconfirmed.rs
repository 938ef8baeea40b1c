//! Changes of a connection that its server has not confirmed: it may refuse them, or discard the transaction that they are in.

use std::collections::VecDeque;

/// A change of the connection that a command makes unless the server refuses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ConnectionChange {
    /// This database is selected.
    Database(u32),
    /// Replies are of version 3 of the protocol, or of version 2.
    Resp3(bool),
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

/// The changes that one reply confirms.
#[derive(Debug)]
struct Awaited {
    /// How many replies were received by then.
    replies: u64,
    changes: Vec<ConnectionChange>,
}

impl Unconfirmed {
    /// A command that makes these changes passes; its reply is the last of those `owed`.
    pub(super) fn passed(&mut self, changes: &[ConnectionChange], owed: u64) {
        self.awaited.push_back(Awaited { replies: self.replies + owed, changes: changes.to_vec() });
    }

    /// The same inside a transaction.
    pub(super) fn queued(&mut self, change: ConnectionChange) {
        self.queued.push(change);
    }

    /// EXEC passes; its reply is the last of those `owed`. A command that fails in a transaction that runs is taken to succeed.
    pub(super) fn executed(&mut self, owed: u64) {
        let changes = std::mem::take(&mut self.queued);
        if !changes.is_empty() {
            self.passed(&changes, owed);
        }
    }

    /// The transaction is discarded.
    pub(super) fn discarded(&mut self) {
        self.queued.clear();
    }

    /// The next reply has arrived. Returns what has changed by that.
    pub(super) fn replied(&mut self, is_refusal: bool) -> Vec<ConnectionChange> {
        self.replies += 1;
        let replies = self.replies;
        let confirmed = self.awaited.pop_front_if(|awaited| awaited.replies == replies);
        confirmed.filter(|_| !is_refusal).map_or_else(Vec::new, |confirmed| confirmed.changes)
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
