//! A lock that its holder extends ends later for the other side too: at the end of the extension, not before.

use std::time::Duration;

use lockshift::driver::Answer;
use lockshift::lock::Extended;

use super::Part;
use super::expiry::{end_for, taken_at};
use crate::ours::Ours;
use crate::patience::pause;
use crate::roster::{CLIENTS, Client, Spoken};

const LEASE: Duration = Duration::from_secs(4);

/// When a holder extends: so long before its lease ends that a busy machine does not miss it.
const EXTENDED_AFTER: Duration = Duration::from_millis(300);

/// The clients that extend, with the protocols in which ours extends as well.
pub(super) fn rows() -> impl Iterator<Item = (&'static Client, Spoken)> {
    let spoken = CLIENTS.iter().flat_map(|client| client.speaks.iter().map(move |spoken| (client, *spoken)));
    spoken.filter(|(_, spoken)| spoken.extends)
}

pub(super) fn ends_later_once_extended(part: &Part<'_>) {
    let (theirs, protocol) = (part.testbed.session(part.client), part.spoken.protocol);
    let (held_by_them, held_by_us) = (part.key("theirs"), part.key("ours"));
    assert!(theirs.acquires(protocol, &held_by_them, LEASE), "the lock is free");
    let guard = Ours::new(part.testbed, part.spoken, &held_by_us, LEASE).hold();
    let end = |key: &str| end_for(part, key, &*part.spoken.opponent(key, LEASE)).expect("it ends");
    let ends = [&held_by_them, &held_by_us].map(|key| end(key));

    pause(EXTENDED_AFTER);
    let answer = theirs.ask(&format!("extend {held_by_them} {}", LEASE.as_millis()));
    assert_eq!(answer, "extended", "{} holds it", part.client.name);
    let extended = guard.extend().expect("the server answers");
    assert!(matches!(extended, Answer::Known(Extended::Until(_))), "we hold it: {extended:?}");
    guard.abandon();
    let later = [&held_by_them, &held_by_us].map(|key| end(key));
    for (before, after) in ends.into_iter().zip(later) {
        assert!(after >= before.saturating_add(EXTENDED_AFTER / 2), "extended from {before:?} to {after:?}");
    }

    let ours = Ours::new(part.testbed, part.spoken, &held_by_them, LEASE);
    taken_at(Some(later[0]), || ours.acquire().is_some_and(|guard| guard.release().is_ok()));
    taken_at(Some(later[1]), || theirs.acquires(protocol, &held_by_us, LEASE));
}
