//! Which client wanted a lock when, and how long the work took: what a trace shows, without how it came out.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::advice::{LeaseAdvice, SeenWork};
use super::outcome::{DemandOutcome, HeldSpan};
use crate::audit::{Audit, Certainty, Episode, LockSummary};
use crate::wire::{Key, UnixTime};

/// What the clients of one lock wanted.
#[derive(Clone, Debug)]
pub struct Demand {
    /// The key.
    pub key: Key,
    /// Its database.
    pub database: u32,
    /// What became of it in the trace.
    pub seen: DemandOutcome,
    /// The lease that the work asks for; `None` where no work was seen to end, or where clients could only be guessed.
    pub advice: Option<LeaseAdvice>,
    /// Whether clients could only be guessed, so that nothing is known of single holds.
    pub is_guessed: bool,
    /// What the trace does not show to its end.
    pub cut: Cut,
    /// When the trace begins.
    pub(super) began_at: UnixTime,
    /// What each client wanted, one after the other.
    pub(super) clients: Vec<Vec<LockRequest>>,
}

/// What a trace does not show to its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cut {
    /// How many held when the trace ended: played as released then, because longer work was not seen.
    pub held_at_end: u64,
    /// How many let their lease end and were not seen to release: played as never released.
    pub never_given_back: u64,
    /// How many asked and were not seen to get it: not played, because what they would have done is unknown.
    pub unserved: u64,
}

/// One acquisition that a client asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LockRequest {
    /// When, since the beginning of the trace.
    pub(super) asked_at: Duration,
    /// How long the work takes; `None`: it never releases.
    pub(super) work: Option<Duration>,
}

impl Demand {
    /// The demand for every lock of an audit that has kept its episodes, the busiest first. Read/write locks and semaphores,
    /// which are there to be held by several, are left out. Where clients could only be guessed, there is no advice, unless
    /// the caller says that the audit did not have to guess what a client is.
    pub fn all(audit: &Audit, identity_is_given: bool) -> Vec<Self> {
        let Some(began_at) = audit.first_at else { return Vec::new() };
        let end = began_at.saturating_add(audit.length);
        let mut episodes: BTreeMap<(u32, &Key), Vec<&Episode>> = BTreeMap::new();
        for episode in &audit.episodes {
            episodes.entry((episode.database, &episode.key)).or_default().push(episode);
        }
        let locks = audit.locks.iter().filter(|lock| !lock.is_shared);
        let of = |lock: &LockSummary| {
            let episodes = episodes.get(&(lock.database, &lock.key))?;
            let mut demand = Self::of(lock, episodes, began_at, end);
            demand.is_guessed = lock.statistics.guessed > 0 && !identity_is_given;
            demand.advice = demand.advice.filter(|_| !demand.is_guessed);
            Some(demand)
        };
        locks.filter_map(of).collect()
    }

    fn of(lock: &LockSummary, episodes: &[&Episode], began_at: UnixTime, end: UnixTime) -> Self {
        let elapsed = |at: UnixTime| at.saturating_since(began_at);
        let mut cut = Cut { unserved: lock.statistics.unserved, ..Cut::default() };
        let mut by_client: BTreeMap<&Arc<str>, Vec<&Episode>> = BTreeMap::new();
        episodes.iter().for_each(|episode| by_client.entry(&episode.client).or_default().push(episode));
        by_client.values_mut().for_each(|episodes| episodes.sort_by_key(|episode| episode.since));
        let (mut works, mut holds, mut clients) = (Vec::new(), Vec::new(), Vec::new());
        for (client, episodes) in by_client.values().enumerate() {
            let mut requests = Vec::new();
            for (place, episode) in episodes.iter().enumerate() {
                let is_certain = episode.certainty == Certainty::Certain;
                let since = episode.since;
                let work = |until: UnixTime, is_censored| SeenWork {
                    length: until.saturating_since(since),
                    is_certain,
                    is_censored,
                };
                // A client that acquires again before its lease ends has entered once more, and goes on with its work.
                let again = episodes.get(place + 1).map(|next| next.since);
                let is_live = |at: UnixTime| episode.lease_ends_at.is_none_or(|ends_at| at < ends_at);
                let until = match (episode.until, again.filter(|again| is_live(*again))) {
                    (Some(until), _) => {
                        works.push(work(until, false));
                        Some(until)
                    }
                    (None, Some(again)) => Some(again),
                    // It lasts at least until the trace ends. That it lasted longer was not seen.
                    (None, None) if is_live(end) => {
                        cut.held_at_end += 1;
                        works.push(work(end, true));
                        Some(end)
                    }
                    (None, None) => {
                        cut.never_given_back += 1;
                        None
                    }
                };
                let held_until = until.or(episode.lease_ends_at).unwrap_or(end);
                holds.push(HeldSpan { since: elapsed(since), until: elapsed(held_until), client });
                let work = until.map(|until| until.saturating_since(since));
                requests.push(LockRequest { asked_at: elapsed(episode.asked_at), work });
            }
            clients.push(requests);
        }
        let seen = DemandOutcome {
            acquisitions: lock.statistics.acquisitions,
            refusals: lock.statistics.refusals,
            gave_up: lock.statistics.unserved,
            overruns: lock.statistics.overruns,
            waits: episodes.iter().map(|episode| episode.since.saturating_since(episode.asked_at)).collect(),
            double_holds: 0,
        };
        Self {
            key: lock.key.clone(),
            database: lock.database,
            seen: seen.with_holds(holds),
            // What is cut off at the end says how long work takes at least, but not alone how long.
            advice: if episodes.iter().any(|episode| episode.until.is_some()) { LeaseAdvice::of(works) } else { None },
            is_guessed: false,
            cut,
            began_at,
            clients,
        }
    }
}
