//! A connection that owes a reply. It is not closed at once: what was sent after it on the same connection cannot run
//! before it, so that a release is never overtaken by the try that it takes back.

use std::time::Duration;

use lockshift_wire::MonoTime;

/// Since when a connection has owed a reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LateReplies {
    since: Option<MonoTime>,
}

impl LateReplies {
    /// After this long no reply will come: the way there is cut, and nobody has told us.
    const HOPELESS_AFTER: Duration = Duration::from_secs(30);

    /// One more reply has not come in time.
    pub(super) fn owe(&mut self, now: MonoTime) {
        self.since.get_or_insert(now);
    }

    /// All replies have come.
    pub(super) fn pay(&mut self) {
        self.since = None;
    }

    /// Whether no reply will come any more.
    pub(super) fn is_hopeless(self, now: MonoTime) -> bool {
        self.since.is_some_and(|since| now.saturating_since(since) > Self::HOPELESS_AFTER)
    }
}

#[test]
fn a_debt_is_as_old_as_the_first_reply_that_did_not_come() {
    let at = |secs| MonoTime::since_origin(Duration::from_secs(secs));
    let mut debt = LateReplies::default();
    assert!(!debt.is_hopeless(at(1000)));
    debt.owe(at(10));
    debt.owe(at(30));
    assert!(!debt.is_hopeless(at(40)));
    assert!(debt.is_hopeless(at(41)));
    debt.pay();
    assert!(!debt.is_hopeless(at(41)));
}
