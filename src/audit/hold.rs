//! A lock that somebody holds, or believes to hold.

use std::sync::Arc;

use super::finding::Certainty;
use super::findings::Place;
use super::kinds::Kinds;
use super::spots::Spots;
use crate::wire::UnixTime;

/// A lock that somebody holds, or believes to hold.
#[derive(Clone, Debug)]
pub(super) struct Hold {
    pub(super) client: Arc<str>,
    pub(super) kinds: Kinds,
    /// The key whose lock it is, and all that it holds.
    pub(super) home: u8,
    pub(super) spots: Spots,
    /// What it has written there; empty if nothing.
    pub(super) value: Vec<u8>,
    /// What it has named itself by.
    pub(super) token: Vec<u8>,
    /// When and by which line it won.
    pub(super) since: UnixTime,
    pub(super) line: u64,
    /// When its lease is over; `None`: only when it gives it back.
    pub(super) ends_at: Option<UnixTime>,
    pub(super) certainty: Certainty,
    /// What a loser of a takeover has done to it.
    pub(super) disturbed: Option<Disturbed>,
    /// The line by which a loser has taken away the key's time to live.
    pub(super) ttl_cleared: Option<u64>,
    /// The finding that tells how it came to be not alone: what goes wrong after that follows from it.
    pub(super) robbed: Option<Place>,
    /// Who has won the lock since its lease was over.
    pub(super) followed_by: Option<(Arc<str>, u64)>,
    /// Whether its lease was seen to be over.
    pub(super) is_over: bool,
    /// When the first command of the wait was sent that it ended.
    pub(super) asked_at: UnixTime,
}

/// What a loser of a takeover has done to a holder.
#[derive(Clone, Copy, Debug)]
pub(super) struct Disturbed {
    /// The finding that tells of it.
    pub(super) finding: Place,
}

impl Hold {
    /// The same, in a lock where its keys have places that are further on by so much.
    pub(super) fn moved_by(self, places: u8) -> Self {
        Self { home: self.home + places, spots: self.spots.moved_by(places), ..self }
    }

    /// Whether its lease is over at this moment. One that was over when it began says when it began, and not when it ends.
    pub(super) fn has_overrun(&self, at: UnixTime) -> bool {
        !self.is_live(at) && self.ends_at.is_some_and(|ends_at| ends_at > self.since)
    }

    /// Whether its holder may still believe in it at this moment. By a hundredth of a second clocks may differ, and that is
    /// nobody's race.
    pub(super) fn is_live(&self, at: UnixTime) -> bool {
        const NOISE_NS: i64 = 10_000_000;
        self.ends_at.is_none_or(|ends_at| ends_at.as_nanos().saturating_sub(at.as_nanos()) > NOISE_NS)
    }
}

/// What stands in the key.
#[derive(Clone, Debug)]
pub(super) struct Written {
    pub(super) client: Arc<str>,
    pub(super) line: u64,
    pub(super) at: UnixTime,
    pub(super) value: Vec<u8>,
    /// Whether whoever has written it has lost the takeover, so that it is nobody's.
    pub(super) by_loser: bool,
}
