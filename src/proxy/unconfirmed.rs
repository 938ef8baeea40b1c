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
    awaited: VecDeque<(u64, Effect)>,
    /// What the commands of the transaction change that the server has opened.
    queued: Option<Vec<ConnectionChange>>,
}

/// What one command does unless the server refuses it.
#[derive(Debug)]
enum Effect {
    /// It changes this: at once, or when its transaction runs.
    Changes(ConnectionChange),
    /// It begins a transaction.
    Begins,
    /// It runs the transaction. A command that fails in it is taken to succeed.
    Executes,
    /// It discards the transaction.
    Discards,
    /// It discards the transaction, and the connection is as when it was new.
    Resets,
}

impl Unconfirmed {
    /// A command passes that changes this; its reply is the last of those `owed`.
    pub(super) fn passed(&mut self, change: ConnectionChange, owed: u64) {
        self.awaits(Effect::Changes(change), owed);
    }

    /// MULTI passes; its reply is the last of those `owed`.
    pub(super) fn transaction_begins(&mut self, owed: u64) {
        self.awaits(Effect::Begins, owed);
    }

    /// EXEC passes; its reply is the last of those `owed`.
    pub(super) fn executed(&mut self, owed: u64) {
        self.awaits(Effect::Executes, owed);
    }

    /// DISCARD passes; its reply is the last of those `owed`.
    pub(super) fn discarded(&mut self, owed: u64) {
        self.awaits(Effect::Discards, owed);
    }

    /// RESET passes; its reply is the last of those `owed`.
    pub(super) fn reset(&mut self, owed: u64) {
        self.awaits(Effect::Resets, owed);
    }

    fn awaits(&mut self, effect: Effect, owed: u64) {
        self.awaited.push_back((self.replies + owed, effect));
    }

    /// The next reply has arrived. Returns what has changed by that.
    pub(super) fn replied(&mut self, is_refusal: bool) -> Vec<ConnectionChange> {
        self.replies += 1;
        if self.awaited.front().is_none_or(|(reply, _)| *reply != self.replies) {
            return Vec::new();
        }
        let Some((_, effect)) = self.awaited.pop_front() else { return Vec::new() };
        match effect {
            // One inside another is refused, and the other goes on.
            Effect::Begins if is_refusal && self.queued.is_none() => return vec![ConnectionChange::NoTransaction],
            Effect::Executes => return self.queued.take().filter(|_| !is_refusal).unwrap_or_default(),
            _ if is_refusal => {}
            Effect::Begins => self.queued = Some(Vec::new()),
            Effect::Changes(change) => match &mut self.queued {
                Some(queued) => queued.push(change),
                None => return vec![change],
            },
            Effect::Discards => self.queued = None,
            Effect::Resets => {
                self.queued = None;
                return vec![ConnectionChange::Database(0), ConnectionChange::Resp3(false)];
            }
        }
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What has changed by each of these replies.
    fn replied<const N: usize>(unconfirmed: &mut Unconfirmed, are_refusals: [bool; N]) -> [Vec<ConnectionChange>; N] {
        are_refusals.map(|is_refusal| unconfirmed.replied(is_refusal))
    }

    #[test]
    fn each_change_is_confirmed_by_its_own_reply() {
        let mut unconfirmed = Unconfirmed::default();
        unconfirmed.passed(ConnectionChange::Database(3), 2);
        unconfirmed.passed(ConnectionChange::Database(99), 3);
        unconfirmed.passed(ConnectionChange::Resp3(true), 4);
        let expected = [vec![], vec![ConnectionChange::Database(3)], vec![], vec![ConnectionChange::Resp3(true)]];
        assert_eq!(replied(&mut unconfirmed, [false, false, true, false]), expected);
        unconfirmed.reset(1);
        let reset = vec![ConnectionChange::Database(0), ConnectionChange::Resp3(false)];
        assert_eq!(replied(&mut unconfirmed, [false]), [reset]);
    }

    #[test]
    fn a_transaction_that_was_refused_is_none() {
        let mut unconfirmed = Unconfirmed::default();
        unconfirmed.transaction_begins(1);
        assert_eq!(replied(&mut unconfirmed, [true]), [[ConnectionChange::NoTransaction]]);
        unconfirmed.transaction_begins(1);
        unconfirmed.transaction_begins(2);
        unconfirmed.passed(ConnectionChange::Database(1), 3);
        unconfirmed.executed(4);
        let expected = [vec![], vec![], vec![], vec![ConnectionChange::Database(1)]];
        assert_eq!(replied(&mut unconfirmed, [false, true, false, false]), expected, "one inside another");
    }

    /// A database that is selected behind MULTI, and the end of the transaction.
    fn transaction(ends: impl Fn(&mut Unconfirmed, u64)) -> Unconfirmed {
        let mut unconfirmed = Unconfirmed::default();
        unconfirmed.transaction_begins(1);
        unconfirmed.passed(ConnectionChange::Database(1), 2);
        ends(&mut unconfirmed, 3);
        unconfirmed
    }

    #[test]
    fn a_transaction_changes_what_it_has_queued_if_it_runs() {
        let nothing = || vec![];
        let selected = || vec![ConnectionChange::Database(1)];
        let mut runs = transaction(Unconfirmed::executed);
        assert_eq!(replied(&mut runs, [false, false, false]), [nothing(), nothing(), selected()]);
        for mut ends in [transaction(Unconfirmed::executed), transaction(Unconfirmed::discarded)] {
            let is_discarded = matches!(ends.awaited.back(), Some((_, Effect::Discards)));
            assert_eq!(replied(&mut ends, [false, false, !is_discarded]), [nothing(), nothing(), nothing()]);
            ends.executed(1);
            assert_eq!(replied(&mut ends, [true]), [nothing()]);
        }
    }

    #[test]
    fn what_was_sent_behind_a_refused_multi_changes_the_connection_at_once() {
        let expected = [vec![ConnectionChange::NoTransaction], vec![ConnectionChange::Database(1)], vec![]];
        for mut ends in [transaction(Unconfirmed::executed), transaction(Unconfirmed::discarded)] {
            assert_eq!(replied(&mut ends, [true, false, true]), expected);
        }
    }

    #[test]
    fn a_refused_discard_or_reset_ends_no_transaction() {
        for mut goes_on in [transaction(Unconfirmed::discarded), transaction(Unconfirmed::reset)] {
            assert_eq!(replied(&mut goes_on, [false, false, true]), [vec![], vec![], vec![]]);
            goes_on.executed(1);
            assert_eq!(replied(&mut goes_on, [false]), [[ConnectionChange::Database(1)]]);
        }
    }
}
