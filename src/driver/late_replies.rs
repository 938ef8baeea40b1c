//! When a connection last answered, and since when it has owed a reply. One whose replies are late is not closed at once: what
//! is sent on it cannot run before what was sent earlier, so that a release never overtakes the attempt that it takes back.

use std::time::Duration;

use lockshift_wire::{MonoTime, NoReply, NodeReply};

/// How long a connection may have been idle without being asked PING first.
pub(crate) const FRESH: Duration = Duration::from_secs(1);

/// When a connection last answered, and since when it has had a reply outstanding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LateReplies {
    answered: MonoTime,
    since: Option<MonoTime>,
}

impl LateReplies {
    /// After this long no reply will come: the network path is cut, and neither side has noticed.
    const HOPELESS_AFTER: Duration = Duration::from_secs(30);

    /// Those of a connection that has just been made.
    pub(super) const fn begin(now: MonoTime) -> Self {
        Self { answered: now, since: None }
    }

    /// Notes what came back for a command.
    pub(super) fn note(&mut self, reply: &NodeReply, now: MonoTime) {
        match reply {
            // All replies before it have come too.
            NodeReply::Reply(_) => *self = Self::begin(now),
            NodeReply::NoReply(NoReply::TooSlow) => drop(self.since.get_or_insert(now)),
            NodeReply::NoReply(NoReply::Unreachable) => {}
        }
    }

    /// Whether the connection is to be asked PING before it is used: it has been idle for so long that the other side may have
    /// closed it. One that owes a reply has not been idle.
    pub(super) fn is_to_be_asked(self, now: MonoTime) -> bool {
        self.since.is_none() && now.saturating_since(self.answered) >= FRESH
    }

    /// Whether no reply will come any more.
    pub(super) fn is_hopeless(self, now: MonoTime) -> bool {
        self.since.is_some_and(|since| now.saturating_since(since) > Self::HOPELESS_AFTER)
    }
}

#[test]
fn only_a_connection_that_was_idle_for_a_second_is_asked_before_it_is_used() {
    let at = |millis| MonoTime::since_origin(Duration::from_millis(millis));
    let mut late = LateReplies::begin(at(0));
    assert!(!late.is_to_be_asked(at(999)));
    assert!(late.is_to_be_asked(at(1000)));
    late.note(&NodeReply::NoReply(NoReply::TooSlow), at(1000));
    assert!(!late.is_to_be_asked(at(2000)), "it owes a reply");
}

#[test]
fn a_connection_is_hopeless_so_long_after_the_first_late_reply() {
    use lockshift_wire::Reply;

    let at = |secs| MonoTime::since_origin(Duration::from_secs(secs));
    let mut late = LateReplies::begin(at(0));
    assert!(!late.is_hopeless(at(1000)));
    late.note(&NodeReply::NoReply(NoReply::TooSlow), at(10));
    late.note(&NodeReply::NoReply(NoReply::TooSlow), at(30));
    assert!(!late.is_hopeless(at(40)));
    assert!(late.is_hopeless(at(41)));
    late.note(&NodeReply::Reply(Reply::Nil), at(41));
    assert!(!late.is_hopeless(at(41)));
}
