//! When a connection was last used, and since when it has owed a reply. One whose replies are late is not replaced while it is
//! in use: what is sent on it cannot run before what was sent earlier, so that a release never overtakes the attempt that it
//! takes back.

use std::time::Duration;

use lockshift_wire::{MonoTime, NoReply, NodeReply};

/// How long a connection may have been idle without being asked PING first.
pub(crate) const FRESH: Duration = Duration::from_secs(1);

/// When a connection was last used, and since when it has had a reply outstanding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LateReplies {
    used: MonoTime,
    since: Option<MonoTime>,
}

impl LateReplies {
    /// After this long no reply will come: the network path is cut, and neither side has noticed.
    const HOPELESS_AFTER: Duration = Duration::from_secs(30);

    /// Those of a connection that has just been made.
    pub(super) const fn begin(now: MonoTime) -> Self {
        Self { used: now, since: None }
    }

    /// Notes that a command is sent, or that the round has ended to which one belonged: the next round may take it back.
    pub(super) fn note_use(&mut self, now: MonoTime) {
        self.used = now;
    }

    /// Notes what came back for a command.
    pub(super) fn note(&mut self, reply: &NodeReply, now: MonoTime) {
        self.used = now;
        match reply {
            // All replies before it have come too.
            NodeReply::Reply(_) => self.since = None,
            NodeReply::NoReply(NoReply::TooSlow) => drop(self.since.get_or_insert(now)),
            NodeReply::NoReply(NoReply::Unreachable) => {}
        }
    }

    /// Whether the connection is to be asked PING before it is used: it has been idle for so long that the other side may have
    /// closed it, and no command is under way for which a caller waits with this patience.
    pub(super) fn is_to_be_asked(self, patience: Duration, now: MonoTime) -> bool {
        now.saturating_since(self.used) >= FRESH.max(patience)
    }

    /// Whether it owes a reply.
    pub(super) fn owes_reply(self) -> bool {
        self.since.is_some()
    }

    /// Whether no reply will come any more.
    pub(super) fn is_hopeless(self, now: MonoTime) -> bool {
        self.since.is_some_and(|since| now.saturating_since(since) > Self::HOPELESS_AFTER)
    }
}

#[test]
fn only_a_connection_that_was_idle_is_asked_before_it_is_used() {
    let at = |millis| MonoTime::since_origin(Duration::from_millis(millis));
    let patience = Duration::from_millis(100);
    let mut late = LateReplies::begin(at(0));
    assert!(!late.is_to_be_asked(patience, at(999)));
    assert!(late.is_to_be_asked(patience, at(1000)));
    assert!(!late.is_to_be_asked(Duration::from_millis(1001), at(1000)), "a command may be under way");
    late.note(&NodeReply::NoReply(NoReply::TooSlow), at(1000));
    assert!(late.owes_reply());
    assert!(!late.is_to_be_asked(patience, at(1999)), "what was sent may be taken back now");
    late.note_use(at(1500));
    assert!(!late.is_to_be_asked(patience, at(2499)));
    assert!(late.is_to_be_asked(patience, at(2500)));
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
