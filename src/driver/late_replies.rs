//! A connection whose replies are late. It is not closed at once: what was sent after them on the same connection cannot
//! run before them, so that a release never overtakes the attempt that it takes back.

use std::time::Duration;

use lockshift_wire::{MonoTime, NoReply, NodeReply};

/// Since when a connection has had a reply outstanding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LateReplies {
    since: Option<MonoTime>,
}

impl LateReplies {
    /// After this long no reply will come: the network path is cut, and neither side has noticed.
    const HOPELESS_AFTER: Duration = Duration::from_secs(30);

    /// Notes what came back for a command.
    pub(super) fn note(&mut self, reply: &NodeReply, now: MonoTime) {
        match reply {
            // All replies before it have come too.
            NodeReply::Reply(_) => self.since = None,
            NodeReply::NoReply(NoReply::TooSlow) => drop(self.since.get_or_insert(now)),
            NodeReply::NoReply(NoReply::Unreachable) => {}
        }
    }

    /// Whether no reply will come any more.
    pub(super) fn is_hopeless(self, now: MonoTime) -> bool {
        self.since.is_some_and(|since| now.saturating_since(since) > Self::HOPELESS_AFTER)
    }
}

#[test]
fn a_connection_is_hopeless_so_long_after_the_first_late_reply() {
    use lockshift_wire::Reply;

    let at = |secs| MonoTime::since_origin(Duration::from_secs(secs));
    let mut late = LateReplies::default();
    assert!(!late.is_hopeless(at(1000)));
    late.note(&NodeReply::NoReply(NoReply::TooSlow), at(10));
    late.note(&NodeReply::NoReply(NoReply::TooSlow), at(30));
    assert!(!late.is_hopeless(at(40)));
    assert!(late.is_hopeless(at(41)));
    late.note(&NodeReply::Reply(Reply::Nil), at(41));
    assert!(!late.is_hopeless(at(41)));
}
