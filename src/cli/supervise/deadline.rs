//! When a command has to end so that none of its processes outlives the lease. A value without a clock: the time is an
//! argument.

use std::time::Duration;

use super::channel::Grace;
use crate::wire::MonoTime;

/// The shortest pause between two questions.
const SHORTEST_PAUSE: Duration = Duration::from_millis(2);

/// When to ask for how long the lock is held, when to terminate, and when to kill.
#[derive(Clone, Debug)]
pub(super) struct Deadline {
    grace: Grace,
    /// When the question was sent whose answer is known.
    since: MonoTime,
    /// For how long the lock was held then.
    left: Duration,
    /// When the question was sent whose answer is still to come.
    asked: Option<MonoTime>,
    terminated: Option<MonoTime>,
    /// The end of the lease does not matter.
    is_unbounded: bool,
}

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// Nothing within this time; `None`: nothing until an answer comes.
    Later(Option<Duration>),
    /// Ask for how long the lock is held.
    Ask,
    /// Ask the command to end.
    Terminate,
    /// Kill it.
    Kill,
}

impl Deadline {
    pub(super) fn new(grace: Grace) -> Self {
        Self {
            grace,
            since: MonoTime::since_origin(Duration::ZERO),
            left: Duration::ZERO,
            asked: None,
            terminated: None,
            is_unbounded: false,
        }
    }

    /// No deadline, until the command is asked to end.
    pub(super) fn unbounded(grace: Grace) -> Self {
        Self { is_unbounded: true, ..Self::new(grace) }
    }

    /// The question was sent.
    pub(super) fn note_asked(&mut self, now: MonoTime) {
        self.asked = Some(now);
    }

    /// The answer came: zero if the lock is lost. It counts from when the question was sent, so that no delay on the way makes
    /// a lease longer. Nor does a delay make it shorter: until the lock is lost, an earlier answer stays true.
    pub(super) fn note_left(&mut self, left: Duration) {
        if let Some(asked) = self.asked.take() {
            let known = self.since.saturating_add(self.left).saturating_since(asked);
            (self.since, self.left) = (asked, if left.is_zero() { left } else { left.max(known) });
        }
    }

    /// The command was asked to end.
    pub(super) fn note_terminated(&mut self, now: MonoTime) {
        self.terminated.get_or_insert(now);
    }

    /// What is to be done now.
    pub(super) fn due(&self, now: MonoTime) -> Due {
        let kill_at = self.since.saturating_add(self.left.saturating_sub(self.grace.margin));
        if let Some(terminated) = self.terminated {
            let grace_ends = terminated.saturating_add(self.grace.kill_after);
            let kill_at = if self.is_unbounded { grace_ends } else { kill_at.min(grace_ends) };
            return if now >= kill_at { Due::Kill } else { Due::Later(Some(kill_at.saturating_since(now))) };
        }
        if self.is_unbounded {
            return Due::Later(None);
        }
        let until_end = self.left.saturating_sub(self.grace.margin).saturating_sub(self.grace.kill_after);
        let end_at = self.since.saturating_add(until_end);
        if now >= end_at {
            return Due::Terminate;
        }
        let to_end = end_at.saturating_since(now);
        // Half-way, and again half-way: a lock that is renewed is known to be long before the end.
        let ask_at = self.since.saturating_add((until_end / 2).max(SHORTEST_PAUSE));
        match self.asked {
            Some(_) => Due::Later(Some(to_end)),
            None if now >= ask_at => Due::Ask,
            None => Due::Later(Some(ask_at.min(end_at).saturating_since(now))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    const fn at(millis: u64) -> MonoTime {
        MonoTime::since_origin(ms(millis))
    }

    /// A lease of 12 s that was asked for at 100 ms: SIGTERM at 10 s, SIGKILL at 12 s.
    fn deadline() -> Deadline {
        let mut deadline = Deadline::new(Grace { kill_after: ms(2000), margin: ms(100) });
        deadline.note_asked(at(100));
        deadline.note_left(ms(12_000));
        deadline
    }

    #[test]
    fn a_command_is_terminated_before_the_lease_ends_and_killed_before_it_ends() {
        let mut deadline = deadline();
        deadline.note_asked(at(5050));
        assert_eq!(deadline.due(at(9_999)), Due::Later(Some(ms(1))), "no answer comes");
        assert_eq!(deadline.due(at(10_000)), Due::Terminate);
        deadline.note_terminated(at(10_000));
        assert_eq!(deadline.due(at(11_000)), Due::Later(Some(ms(1000))));
        assert_eq!(deadline.due(at(12_000)), Due::Kill);
    }

    #[test]
    fn a_renewed_lease_moves_the_deadline() {
        let mut deadline = deadline();
        assert_eq!(deadline.due(at(101)), Due::Later(Some(ms(4949))));
        assert_eq!(deadline.due(at(5050)), Due::Ask);
        deadline.note_asked(at(5050));
        deadline.note_left(ms(11_000));
        assert_eq!(deadline.due(at(10_000)), Due::Ask);
        deadline.note_asked(at(10_000));
        assert_eq!(deadline.due(at(13_949)), Due::Later(Some(ms(1))));
        assert_eq!(deadline.due(at(13_950)), Due::Terminate);
    }

    #[test]
    fn an_answer_counts_from_its_question() {
        let mut deadline = deadline();
        deadline.note_asked(at(6000));
        // It comes at 9 s: a lock held for 8 s more at 6 s or later is held until 14 s.
        deadline.note_left(ms(8000));
        assert_eq!(deadline.due(at(11_899)), Due::Ask);
        assert_eq!(deadline.due(at(11_900)), Due::Terminate);
    }

    /// `run` was stopped from 6 s to 9 s, and has not renewed the lock since.
    #[test]
    fn a_late_answer_does_not_shorten_the_lease_and_is_followed_by_a_question() {
        let mut deadline = deadline();
        deadline.note_asked(at(5050));
        deadline.note_left(ms(3100));
        assert_eq!(deadline.due(at(9000)), Due::Ask);
        deadline.note_asked(at(9000));
        deadline.note_left(ms(3100));
        assert_eq!(deadline.due(at(9001)), Due::Later(Some(ms(499))), "half-way to the end");
        assert_eq!(deadline.due(at(10_000)), Due::Terminate, "the lease ends when it did before");
    }

    #[test]
    fn a_loss_leaves_the_grace_and_never_more_than_the_lease() {
        let mut early = deadline();
        early.note_terminated(at(1000));
        assert_eq!(early.due(at(2999)), Due::Later(Some(ms(1))));
        assert_eq!(early.due(at(3000)), Due::Kill);
        let mut late = deadline();
        late.note_terminated(at(11_500));
        assert_eq!(late.due(at(12_000)), Due::Kill);
    }

    #[test]
    fn a_supervisor_that_wakes_too_late_kills_at_once() {
        let mut deadline = deadline();
        deadline.note_terminated(at(20_000));
        assert_eq!(deadline.due(at(20_000)), Due::Kill);
    }

    #[test]
    fn a_command_that_may_outlive_the_lock_is_only_ended_on_request() {
        let mut deadline = Deadline::unbounded(Grace { kill_after: ms(2000), margin: ms(100) });
        assert_eq!(deadline.due(at(1_000_000)), Due::Later(None));
        deadline.note_terminated(at(1_000_000));
        assert_eq!(deadline.due(at(1_001_999)), Due::Later(Some(ms(1))));
        assert_eq!(deadline.due(at(1_002_000)), Due::Kill);
    }

    #[test]
    fn a_lease_that_is_lost_is_no_time_to_work() {
        let mut deadline = deadline();
        deadline.note_asked(at(5050));
        deadline.note_left(ms(0));
        assert_eq!(deadline.due(at(5051)), Due::Terminate);
    }
}
