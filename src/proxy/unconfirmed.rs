//! Changes of a connection that its server has not confirmed: it may refuse them, or discard the transaction that they are in.

use std::collections::VecDeque;

use super::guarded_keys::is_deletion;
use crate::wire::{Command, Key};

/// A change of the connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ConnectionChange {
    /// This database is selected.
    Database(u32),
    /// Replies are of version 3 of the protocol, or of version 2.
    Resp3(bool),
    /// No transaction is open.
    NoTransaction,
    /// No key is watched.
    NoWatch,
    /// A transaction has run, with this command at this place.
    Ran { command: QueuedCommand, place: u64 },
}

/// A command that concerns locks and waits for EXEC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum QueuedCommand {
    /// It releases these locks.
    Releases(Vec<Key>),
    /// It is reported.
    Observed(Command),
}

/// What the commands on their way will change, in their order.
#[derive(Debug, Default)]
pub(super) struct Unconfirmed {
    /// Replies that were received.
    replies: u64,
    awaited: VecDeque<(u64, Effect)>,
    /// The transaction that the server has opened.
    queued: Option<QueuedCommands>,
}

/// The commands of a transaction that runs later.
#[derive(Debug, Default)]
struct QueuedCommands {
    count: u64,
    /// What they change, each with its place among them.
    changes: Vec<(u64, ConnectionChange)>,
}

/// What one command does unless the server refuses it.
#[derive(Debug)]
enum Effect {
    /// It changes this: at once, or when its transaction runs.
    Changes(ConnectionChange),
    /// It waits for EXEC.
    Queues(QueuedCommand),
    /// It begins a transaction.
    Begins,
    /// It watches a key; none is watched yet.
    Watches,
    /// It runs the transaction.
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

    /// This command of a transaction passes; its reply is the last of those `owed`.
    pub(super) fn queues(&mut self, command: QueuedCommand, owed: u64) {
        self.awaits(Effect::Queues(command), owed);
    }

    /// The first WATCH passes; its reply is the last of those `owed`.
    pub(super) fn watches(&mut self, owed: u64) {
        self.awaits(Effect::Watches, owed);
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

    /// The database that the transaction has selected. Each of its commands was answered.
    pub(super) fn selected_in_transaction(&self) -> Option<u32> {
        let mut changes = self.queued.iter().flat_map(|queued| queued.changes.iter().rev());
        changes.find_map(|(_, change)| match change {
            ConnectionChange::Database(database) => Some(*database),
            _ => None,
        })
    }

    /// The keys of the locks that the transaction concerns.
    pub(super) fn keys_in_transaction(&self) -> impl Iterator<Item = Key> {
        let queued = self.queued.iter().flat_map(|queued| &queued.changes).filter_map(|(_, change)| match change {
            ConnectionChange::Ran { command, .. } => Some(command),
            _ => None,
        });
        let awaited = self.awaited.iter().filter_map(|(_, effect)| match effect {
            Effect::Queues(command) => Some(command),
            _ => None,
        });
        queued.chain(awaited).flat_map(QueuedCommand::keys)
    }

    /// Whether a MULTI is on its way.
    fn may_begin(&self) -> bool {
        self.awaited.iter().any(|(_, effect)| matches!(effect, Effect::Begins))
    }

    fn awaits(&mut self, effect: Effect, owed: u64) {
        self.awaited.push_back((self.replies + owed, effect));
    }

    /// The next reply has arrived; if it is that of EXEC, the commands at these places have failed. Returns what has changed
    /// by that.
    pub(super) fn replied(&mut self, is_refusal: bool, failed: &[u64]) -> Vec<ConnectionChange> {
        self.replies += 1;
        let is_awaited = self.awaited.front().is_some_and(|(reply, _)| *reply == self.replies);
        let effect = if is_awaited { self.awaited.pop_front().map(|(_, effect)| effect) } else { None };
        match effect {
            // One inside another is refused, and the other goes on. Another one that was sent behind it may still begin.
            Some(Effect::Begins) if is_refusal && self.queued.is_none() && !self.may_begin() => {
                return vec![ConnectionChange::NoTransaction];
            }
            Some(Effect::Executes) => {
                let queued = self.queued.take().filter(|_| !is_refusal).unwrap_or_default();
                return queued.changes_without(failed);
            }
            Some(Effect::Watches) if is_refusal => return vec![ConnectionChange::NoWatch],
            _ if is_refusal => {}
            Some(Effect::Begins) => self.queued = Some(QueuedCommands::default()),
            Some(Effect::Discards) => self.queued = None,
            Some(Effect::Resets) => {
                self.queued = None;
                return vec![ConnectionChange::Database(0), ConnectionChange::Resp3(false)];
            }
            Some(Effect::Changes(change)) => match &mut self.queued {
                Some(queued) => queued.push(Some(change)),
                None => return vec![change],
            },
            Some(Effect::Queues(command)) => {
                if let Some(queued) = &mut self.queued {
                    queued.push(Some(ConnectionChange::Ran { command, place: queued.count }));
                }
            }
            Some(Effect::Watches) | None => self.queued.iter_mut().for_each(|queued| queued.push(None)),
        }
        Vec::new()
    }
}

impl QueuedCommand {
    /// The keys that it names.
    fn keys(&self) -> Vec<Key> {
        match self {
            Self::Releases(keys) => keys.clone(),
            Self::Observed(command) if is_deletion(command.name()) => {
                command.args().iter().cloned().map(Key::new).collect()
            }
            Self::Observed(command) => command.args().first().cloned().map(Key::new).into_iter().collect(),
        }
    }

    /// Whether it matters though the server has refused it.
    fn is_reported(&self) -> bool {
        matches!(self, Self::Observed(_))
    }
}

impl QueuedCommands {
    fn push(&mut self, change: Option<ConnectionChange>) {
        self.changes.extend(change.map(|change| (self.count, change)));
        self.count += 1;
    }

    /// What they have changed, where those at these places have failed.
    fn changes_without(self, failed: &[u64]) -> Vec<ConnectionChange> {
        let remains = |(place, change): &(u64, ConnectionChange)| {
            let is_reported = matches!(change, ConnectionChange::Ran { command, .. } if command.is_reported());
            is_reported || failed.binary_search(place).is_err()
        };
        self.changes.into_iter().filter(remains).map(|(_, change)| change).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What has changed by each of these replies.
    fn replied<const N: usize>(unconfirmed: &mut Unconfirmed, are_refusals: [bool; N]) -> [Vec<ConnectionChange>; N] {
        are_refusals.map(|is_refusal| unconfirmed.replied(is_refusal, &[]))
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

    #[test]
    fn a_transaction_that_was_sent_behind_a_refused_one_begins() {
        let mut unconfirmed = Unconfirmed::default();
        // As MULTI, AUTH, MULTI, SELECT before any of them is answered.
        unconfirmed.transaction_begins(1);
        unconfirmed.transaction_begins(3);
        unconfirmed.passed(ConnectionChange::Database(1), 4);
        assert_eq!(replied(&mut unconfirmed, [true, false, false, false]), [const { Vec::new() }; 4]);
        assert_eq!(unconfirmed.selected_in_transaction(), Some(1));
        let mut unconfirmed = Unconfirmed::default();
        unconfirmed.transaction_begins(1);
        unconfirmed.transaction_begins(2);
        assert_eq!(replied(&mut unconfirmed, [true, true]), [vec![], vec![ConnectionChange::NoTransaction]]);
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
    fn a_command_that_fails_in_a_transaction_changes_nothing() {
        let mut unconfirmed = Unconfirmed::default();
        unconfirmed.transaction_begins(1);
        // Behind MULTI: a command that changes nothing, the database 99, another such command, the database 1.
        unconfirmed.passed(ConnectionChange::Database(99), 3);
        unconfirmed.passed(ConnectionChange::Database(1), 5);
        unconfirmed.executed(6);
        assert_eq!(replied(&mut unconfirmed, [false; 5]), [const { Vec::new() }; 5]);
        assert_eq!(unconfirmed.replied(false, &[0, 1]), [ConnectionChange::Database(1)]);
    }

    #[test]
    fn a_lock_is_released_when_its_transaction_has_run() {
        let releases = || QueuedCommand::Releases(vec![Key::new("lock")]);
        let mut unconfirmed = transaction(|unconfirmed, owed| unconfirmed.queues(releases(), owed));
        assert_eq!(unconfirmed.keys_in_transaction().collect::<Vec<_>>(), [Key::new("lock")], "before it is queued");
        assert_eq!(replied(&mut unconfirmed, [false; 3]), [const { Vec::new() }; 3]);
        assert_eq!(unconfirmed.keys_in_transaction().collect::<Vec<_>>(), [Key::new("lock")]);
        assert_eq!(unconfirmed.selected_in_transaction(), Some(1));
        unconfirmed.executed(1);
        let released = ConnectionChange::Ran { command: releases(), place: 1 };
        assert_eq!(replied(&mut unconfirmed, [false]), [[ConnectionChange::Database(1), released]]);
        assert_eq!((unconfirmed.keys_in_transaction().next(), unconfirmed.selected_in_transaction()), (None, None));
    }

    #[test]
    fn a_command_is_reported_if_it_fails_and_not_if_it_was_never_queued() {
        let observed = || QueuedCommand::Observed(Command::new("GET").arg("lock"));
        let mut unconfirmed = transaction(|unconfirmed, owed| unconfirmed.queues(observed(), owed));
        unconfirmed.queues(observed(), 4);
        assert_eq!(replied(&mut unconfirmed, [false, false, false, true]), [const { Vec::new() }; 4]);
        unconfirmed.executed(1);
        let ran = ConnectionChange::Ran { command: observed(), place: 1 };
        assert_eq!(unconfirmed.replied(false, &[0, 1]), [ran]);
    }

    #[test]
    fn a_watch_that_was_refused_is_none() {
        let mut unconfirmed = Unconfirmed::default();
        unconfirmed.watches(1);
        assert_eq!(replied(&mut unconfirmed, [true]), [[ConnectionChange::NoWatch]]);
        unconfirmed.watches(1);
        assert_eq!(replied(&mut unconfirmed, [false]), [[]]);
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
