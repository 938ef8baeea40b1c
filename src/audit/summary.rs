//! What is left of a lock when it is forgotten, and of a trace when it is over.

use std::collections::BTreeMap;
use std::time::Duration;

use super::episode::Episode;
use super::finding::Finding;
use super::grammar::Grammar;
use super::lock::Lock;
use super::speakers::{Speaker, Speakers, names};
use super::spoken::Spoken;
use super::spot::Spot;
use super::talk::Talk;
use super::tally::Tally;
use crate::wire::{Key, UnixTime};

/// So many keys are told apart; the least busy beyond that are put together.
const MOST: usize = 1 << 14;

/// What a trace has shown.
#[derive(Clone, Debug)]
pub struct Audit {
    /// How many lines it has.
    pub lines: u64,
    /// How many of them are commands.
    pub commands: u64,
    /// Its first moment; `None` if it is empty.
    pub first_at: Option<UnixTime>,
    /// From its first moment to its last.
    pub length: Duration,
    /// Every lock that somebody acquired, the busiest first.
    pub locks: Vec<LockSummary>,
    /// How many locks there are that are not told one by one, and what happened there.
    pub others: (u64, Tally),
    /// The races that happened, in the order of their lines: of one race on one key the first few and the last.
    pub findings: Vec<Finding>,
    /// Where the clock of the trace goes back, if it does.
    pub stepped_back: Option<SteppedBack>,
    /// Every acquisition, in the order in which they were asked for, if they were to be kept.
    pub episodes: Vec<Episode>,
}

/// The clock of a trace goes back: somebody has set that of the server. Lengths of time across it are wrong by as much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SteppedBack {
    /// The number of the first line that is earlier than the one before it.
    pub line: u64,
    /// By how much it is earlier.
    pub by: Duration,
    /// How often that happens.
    pub times: u64,
}

/// One lock.
#[derive(Clone, Debug)]
pub struct LockSummary {
    /// The key.
    pub key: Key,
    /// Its database.
    pub database: u32,
    /// The protocols that those who acquired it may have spoken.
    pub dialects: Vec<String>,
    /// Whether all who acquired it may have spoken a read/write lock, whose holders are not judged.
    pub is_read_write: bool,
    /// How many clients talked with it at one time, at most.
    pub clients: usize,
    /// Who has acquired it most often, the busiest first.
    pub speakers: Vec<Speaker>,
    /// What happened there.
    pub tally: Tally,
}

/// Locks that are forgotten, and what is left of them.
#[derive(Debug, Default)]
pub(super) struct Summaries {
    known: BTreeMap<(u32, Key), Left>,
    others: (u64, Tally),
}

#[derive(Debug, Default)]
struct Left {
    spoken: Spoken,
    clients: usize,
    speakers: Speakers,
    tally: Tally,
}

impl Summaries {
    /// Whether a key was seen before, so that it is known what stood in it last.
    pub(super) fn knows(&self, database: u32, key: &[u8]) -> bool {
        self.known.contains_key(&(database, Key::new(key)))
    }

    /// A lock is forgotten.
    pub(super) fn add(&mut self, lock: &Lock) {
        for spot in lock.spots() {
            if spot.tally.acquisitions > 0 || spot.tally.refusals > 0 {
                let talks: Vec<&Talk> = lock.talks.iter().filter(|talk| talk.home == spot.number).collect();
                self.add_spot(lock.database, spot, &talks);
            }
        }
    }

    fn add_spot(&mut self, database: u32, spot: &Spot, talks: &[&Talk]) {
        let name = (database, spot.key.clone());
        if self.known.len() >= MOST && !self.known.contains_key(&name) {
            self.forget_the_quiet();
        }
        let left = self.known.entry(name).or_default();
        left.spoken.merge(&spot.winners);
        left.clients = left.clients.max(talks.len());
        talks.iter().for_each(|talk| left.speakers.note(talk));
        left.tally.merge(&spot.tally);
    }

    /// Puts the less busy half of all together.
    fn forget_the_quiet(&mut self) {
        let mut counts: Vec<u64> = self.known.values().map(|left| left.tally.acquisitions).collect();
        let middle = counts.len() / 2;
        let (_, median, _) = counts.select_nth_unstable(middle);
        let median = *median;
        let others = &mut self.others;
        self.known.retain(|_, left| {
            let stays = left.tally.acquisitions > median;
            if !stays {
                others.0 += 1;
                others.1.merge(&left.tally);
            }
            stays
        });
    }

    /// The trace is over.
    pub(super) fn finish(
        self,
        grammar: &Grammar,
        findings: Vec<Finding>,
        lines: u64,
        commands: u64,
        length: Duration,
    ) -> Audit {
        let summary = |((database, key), left): ((u32, Key), Left)| {
            let kinds = left.spoken.kinds();
            LockSummary {
                key,
                database,
                dialects: names(grammar, kinds),
                is_read_write: !kinds.is_empty() && kinds.places().all(|kind| grammar.kinds()[kind].is_read_write()),
                clients: left.clients,
                speakers: left.speakers.told(grammar, kinds),
                tally: left.tally,
            }
        };
        let mut locks: Vec<LockSummary> = self.known.into_iter().map(summary).collect();
        locks.sort_by_key(|lock| std::cmp::Reverse(lock.tally.acquisitions));
        Audit {
            lines,
            commands,
            first_at: None,
            length,
            locks,
            others: self.others,
            findings,
            stepped_back: None,
            episodes: Vec::new(),
        }
    }
}
