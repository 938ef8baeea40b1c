//! A lock that is never released expires for both sides at the same moment, which our protocol predicts from the content
//! of the key. Every attempt is between two readings of the clock: it is refused before that moment and wins after it.

use std::time::Duration;

use lockshift::driver::host;
use lockshift::lock::Locker;
use lockshift::wire::UnixTime;

use super::Part;
use crate::clock::timed;
use crate::content::Contents;
use crate::foreign::Session;
use crate::ours::Ours;
use crate::patience::{pause, until};
use crate::prediction::ends;

/// A lease that every protocol can say.
const SHORT: Duration = Duration::from_secs(1);

pub(super) fn taken_when_expired(part: &Part<'_>) {
    let theirs = part.testbed.session(part.client);
    let (held_by_them, held_by_us) = (part.key("theirs"), part.key("ours"));
    assert!(theirs.acquires(part.spoken.protocol, &held_by_them, SHORT), "the lock is free");
    Ours::new(part.testbed, part.spoken, &held_by_us, SHORT).hold().abandon();
    let they_end = end_for(part, &held_by_them, &*part.spoken.opponent(&held_by_them, SHORT));
    let we_end = end_for(part, &held_by_us, &*part.spoken.locker(&held_by_us, SHORT));

    we_take_over(part, &held_by_them, they_end, SHORT);
    they_take_over(part, &theirs, &held_by_us, we_end, SHORT);
}

/// When a newcomer that speaks this can have the lock that is there now; `None`: never.
pub(super) fn end_for(part: &Part<'_>, key: &str, newcomer: &dyn Locker) -> Option<UnixTime> {
    let contents = Contents::of(&mut part.testbed.connect(), key);
    ends(newcomer, &contents, host::wall())
}

/// We acquire what they have left, when it expires, for a lease of the same length: some protocols judge by their own.
pub(super) fn we_take_over(part: &Part<'_>, key: &str, end: Option<UnixTime>, lease: Duration) {
    let ours = Ours::new(part.testbed, part.spoken, key, lease);
    taken_at(end, || ours.acquire().is_some_and(|guard| guard.release().is_ok()));
}

/// They acquire what we have left, when it expires.
pub(super) fn they_take_over(part: &Part<'_>, theirs: &Session, key: &str, end: Option<UnixTime>, lease: Duration) {
    taken_at(end, || theirs.acquires(part.spoken.protocol, key, lease));
}

/// Tries until it wins: at `end`, within the accuracy of the clock. The closer it is, the more often.
pub(super) fn taken_at(end: Option<UnixTime>, mut acquires: impl FnMut() -> bool) {
    let Some(end) = end else {
        assert!((0..3).all(|_| !acquires()), "it does not end");
        return;
    };
    until("the lock can be acquired", || {
        let (won, tried) = timed(&mut acquires);
        assert!(!(won && tried.is_before(end)), "taken over before {end:?}: {tried:?}");
        assert!(won || !tried.is_after(end), "refused after {end:?}: {tried:?}");
        let left_ms = end.as_millis() - tried.to.as_millis();
        pause(Duration::from_millis((left_ms / 4).clamp(3, 250).unsigned_abs()));
        won.then_some(())
    });
}
