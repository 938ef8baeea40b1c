//! A lock that a client holds, or believes that it holds.

use std::sync::Arc;

use super::episode::Episode;
use super::finding::Certainty;
use super::findings::FindingPlace;
use super::keys::KeySet;
use super::variants::VariantSet;
use crate::wire::{Key, UnixTime};

/// A lock that a client holds, or believes that it holds.
#[derive(Clone, Debug)]
pub(super) struct Hold {
    pub(super) client: Arc<str>,
    /// The protocols by which it may have acquired.
    pub(super) variants: VariantSet,
    /// The key whose lock it is, and all that it holds.
    pub(super) home: usize,
    pub(super) keys: KeySet,
    /// The value that it wrote; empty if it wrote none.
    pub(super) value: Vec<u8>,
    /// Its token, as its acquiring command names it.
    pub(super) token: Vec<u8>,
    /// When and by which line it acquired.
    pub(super) since: UnixTime,
    /// The latest moment at which the server may have run the command that acquired.
    pub(super) until: UnixTime,
    pub(super) line: u64,
    /// When the end of its lease was written: it was acquired then, or extended.
    pub(super) written_at: UnixTime,
    /// The end of its lease; `None` if only a release ends it.
    pub(super) ends_at: Option<UnixTime>,
    /// The end of the lease for which it acquired: before it was extended.
    pub(super) acquired_until: Option<UnixTime>,
    /// Whether the end of its lease was put off.
    pub(super) is_extended: bool,
    pub(super) certainty: Certainty,
    /// The finding about a takeover's loser that overwrote its value.
    pub(super) overwritten: Option<FindingPlace>,
    /// The line by which a loser removed the key's time to live.
    pub(super) ttl_cleared: Option<u64>,
    /// The finding that says why it is not alone: what goes wrong after that follows from it.
    pub(super) violated: Option<FindingPlace>,
    /// The hold that came after it.
    pub(super) followed_by: Option<NextHold>,
    /// Whether its lease was seen to end.
    pub(super) is_expired: bool,
    /// When its client first asked, and how often it was refused since.
    pub(super) asked_at: UnixTime,
    pub(super) refusals: u64,
}

/// The hold that came after another one.
#[derive(Clone, Debug)]
pub(super) struct NextHold {
    pub(super) client: Arc<str>,
    /// The line by which it was acquired.
    pub(super) line: u64,
    pub(super) certainty: Certainty,
}

impl Hold {
    /// The same, in a lock where the indexes of its keys are larger by this.
    pub(super) fn moved_by(self, indexes: usize) -> Self {
        Self { home: self.home + indexes, keys: self.keys.moved_by(indexes), ..self }
    }

    /// Its lease ends then, by what was written at this moment.
    pub(super) fn set_end(&mut self, ends_at: Option<UnixTime>, at: UnixTime) {
        let is_later = self.ends_at.zip(ends_at).is_some_and(|(earlier, later)| later > earlier);
        self.is_extended |= is_later;
        if !self.is_extended {
            // SETNX and then EXPIRE, for example.
            self.acquired_until = ends_at;
        }
        if ends_at != self.ends_at {
            self.written_at = at;
        }
        self.is_expired &= ends_at.is_some_and(|ends_at| ends_at <= at);
        self.ends_at = ends_at;
    }

    /// Whether its lease has ended, even if it began at the latest possible moment. A value that names a moment before it
    /// was written names the beginning of a lease, not its end.
    pub(super) fn has_overrun(&self, at: UnixTime) -> bool {
        let delay = self.until.saturating_since(self.since);
        let has_ended = |ends_at: UnixTime| ends_at > self.written_at && ends_at.saturating_add(delay) <= at;
        !self.is_live(at) && self.ends_at.is_some_and(has_ended)
    }

    /// Whether its holder may still believe in it. Clocks may differ by a hundredth of a second without a race.
    pub(super) fn is_live(&self, at: UnixTime) -> bool {
        const NOISE_NS: i64 = 10_000_000;
        self.ends_at.is_none_or(|ends_at| ends_at.as_nanos().saturating_sub(at.as_nanos()) > NOISE_NS)
    }

    /// What is kept of it.
    pub(super) fn episode(&self, key: Key, database: u32, until: Option<UnixTime>) -> Episode {
        Episode {
            key,
            database,
            client: self.client.clone(),
            asked_at: self.asked_at,
            since: self.since,
            until,
            refusals: self.refusals,
            lease: self.acquired_until.map(|ends_at| ends_at.saturating_since(self.since)),
            lease_ends_at: self.ends_at,
            is_extended: self.is_extended,
            certainty: self.certainty,
        }
    }
}
