//! The result of an audit, and what is kept of the locks that are forgotten.

use std::collections::BTreeMap;
use std::hash::BuildHasher;
use std::time::Duration;

use hashbrown::HashSet;
use rustc_hash::FxBuildHasher;

use super::clients::{ClientSummaries, ClientSummary, names};
use super::conversation::Conversation;
use super::episode::Episode;
use super::explanation::Explanation;
use super::finding::{Certainty, Finding};
use super::keys::KeyState;
use super::lock::AuditedLock;
use super::statistics::LockStatistics;
use super::variants::Variant;
use crate::wire::{Key, UnixTime};

/// Maximum number of keys that are kept apart; beyond that, the least busy are put together.
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
    /// Every lock that was acquired, the busiest first.
    pub locks: Vec<LockSummary>,
    /// The locks that are not in `locks`.
    pub others: OtherLocks,
    /// The races that happened, in the order of their lines: of one race on one key the first few and the last.
    pub findings: Vec<Finding>,
    /// Where the clock of the trace goes back, if it does.
    pub stepped_back: Option<SteppedBack>,
    /// Every acquisition, in the order of the first requests, if they are kept.
    pub episodes: Vec<Episode>,
}

/// The clock of a trace goes back: that of the server was set. Durations of time across it are wrong by as much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SteppedBack {
    /// The number of the first line that is earlier than the one before it.
    pub line: u64,
    /// By how much it is earlier.
    pub by: Duration,
    /// Number of times that it goes back.
    pub times: u64,
}

/// One lock.
#[derive(Clone, Debug)]
pub struct LockSummary {
    /// The key.
    pub key: Key,
    /// Its database.
    pub database: u32,
    /// The protocols that the clients may speak that acquired it.
    pub dialects: Vec<String>,
    /// Whether all of them may speak a read/write lock or a semaphore, whose holders are not judged.
    pub is_shared: bool,
    /// Maximum number of clients that used it at a time.
    pub clients: usize,
    /// The clients that acquired it, the busiest first: all of them, or the 256 that acquired it most often.
    pub busiest: Vec<ClientSummary>,
    /// What happened there.
    pub statistics: LockStatistics,
}

/// Locks that are not kept apart.
#[derive(Clone, Debug, Default)]
pub struct OtherLocks {
    /// How many there are.
    pub keys: u64,
    /// How many of them have clients that could only be [guessed](LockStatistics::guessed).
    pub guessed: u64,
    /// How many of them are acquired by known protocols and [by others](LockStatistics::mixes_protocols).
    pub mixed: u64,
    /// What happened at all of them.
    pub statistics: LockStatistics,
}

impl OtherLocks {
    fn add(&mut self, lock: &LockStatistics) {
        self.keys += 1;
        self.guessed += u64::from(lock.guessed > 0);
        self.mixed += u64::from(lock.mixes_protocols());
        self.statistics.merge(lock);
    }
}

/// Locks that are forgotten, and what is kept of them.
#[derive(Debug, Default)]
pub(super) struct Summaries {
    known: BTreeMap<(u32, Key), KeptSummary>,
    others: OtherLocks,
    /// The hashes of the keys that no command has changed since their locks were forgotten.
    unchanged: HashSet<u64, FxBuildHasher>,
}

fn hash(database: u32, key: &[u8]) -> u64 {
    FxBuildHasher.hash_one((database, key))
}

#[derive(Debug, Default)]
struct KeptSummary {
    spoken: Explanation,
    clients: usize,
    busiest: ClientSummaries,
    statistics: LockStatistics,
}

impl Summaries {
    /// Whether a key was seen before and not changed since, so that its last value is known.
    pub(super) fn knows(&self, database: u32, key: &[u8]) -> bool {
        self.unchanged.contains(&hash(database, key)) && self.known.contains_key(&(database, Key::new(key)))
    }

    /// A command that is not followed may have changed this key. Two keys with one hash are both taken for changed.
    pub(super) fn was_changed(&mut self, database: u32, key: &[u8]) {
        if !self.unchanged.is_empty() {
            self.unchanged.remove(&hash(database, key));
        }
    }

    /// A command has changed keys that it does not name.
    pub(super) fn all_were_changed(&mut self) {
        self.unchanged.clear();
    }

    /// Lowers the certainty of what was found on keys of which earlier something was in doubt. What was seen of a key that is
    /// not kept apart may have been seen of any of these.
    pub(super) fn cap(&self, findings: &mut [Finding]) {
        for finding in findings {
            let kept = self.known.get(&(finding.database, finding.key.clone()));
            if kept.map_or(&self.others.statistics, |kept| &kept.statistics).is_in_doubt() {
                finding.verdict.certainty = Certainty::Possible;
            }
        }
    }

    /// Keeps what is known of a lock that is forgotten.
    pub(super) fn add(&mut self, lock: &AuditedLock) {
        for (index, state) in lock.keys.iter().enumerate() {
            let LockStatistics { acquisitions, refusals, unrecognised, .. } = state.statistics;
            if acquisitions + refusals + unrecognised > 0 {
                let conversations: Vec<&Conversation> =
                    lock.conversations.iter().filter(|it| it.home == index).collect();
                self.add_key(lock.database, state, &conversations);
            }
        }
    }

    fn add_key(&mut self, database: u32, state: &KeyState, conversations: &[&Conversation]) {
        let name = (database, state.key.clone());
        if self.known.len() >= MOST && !self.known.contains_key(&name) {
            self.forget_the_quiet();
        }
        self.unchanged.insert(hash(name.0, name.1.as_bytes()));
        let kept = self.known.entry(name).or_default();
        kept.spoken.merge(&state.winners);
        kept.clients = kept.clients.max(conversations.iter().filter(|it| !it.is_by_token).count());
        conversations.iter().for_each(|conversation| kept.busiest.note(conversation));
        kept.statistics.merge(&state.statistics);
    }

    /// Puts the less busy half of all together.
    fn forget_the_quiet(&mut self) {
        let mut counts: Vec<u64> = self.known.values().map(|kept| kept.statistics.acquisitions).collect();
        let middle = counts.len() / 2;
        let (_, median, _) = counts.select_nth_unstable(middle);
        let median = *median;
        let others = &mut self.others;
        self.known.retain(|_, kept| {
            let stays = kept.statistics.acquisitions > median;
            if !stays {
                others.add(&kept.statistics);
            }
            stays
        });
        let kept: HashSet<u64, FxBuildHasher> =
            self.known.keys().map(|(database, key)| hash(*database, key.as_bytes())).collect();
        self.unchanged.retain(|hash| kept.contains(hash));
    }

    /// The result at the end of the trace.
    pub(super) fn finish(self, findings: Vec<Finding>, lines: u64, commands: u64, length: Duration) -> Audit {
        let summary = |((database, key), kept): ((u32, Key), KeptSummary)| {
            let variants = kept.spoken.variants();
            LockSummary {
                key,
                database,
                dialects: names(variants),
                is_shared: !variants.is_empty() && variants.iter().all(Variant::is_shared),
                clients: kept.clients,
                busiest: kept.busiest.finish(variants),
                statistics: kept.statistics,
            }
        };
        let mut findings = findings;
        self.cap(&mut findings);
        let mut locks: Vec<LockSummary> = self.known.into_iter().map(summary).collect();
        locks.sort_by_key(|lock| std::cmp::Reverse(lock.statistics.acquisitions));
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

#[test]
fn a_finding_on_a_key_that_is_not_kept_apart_is_no_surer_than_the_least_sure_of_them() {
    use super::finding::{Evidence, Verdict};

    let (at, certainty) = (UnixTime::from_nanos(0), Certainty::Certain);
    let evidence = Evidence::LoserClearedTtl;
    let verdict = Verdict { race: None, at, clients: Vec::new(), lines: Vec::new(), certainty, evidence };
    let finding = Finding { key: Key::from("lock"), database: 0, verdict, more: 0 };
    for (pooled, expected) in [(0, Certainty::Certain), (1, Certainty::Possible)] {
        let statistics = LockStatistics { pooled, ..LockStatistics::default() };
        let others = OtherLocks { keys: 2, statistics, ..OtherLocks::default() };
        let summaries = Summaries { others, ..Summaries::default() };
        let audit = summaries.finish(vec![finding.clone()], 1, 1, Duration::ZERO);
        assert_eq!(audit.findings[0].verdict.certainty, expected, "{pooled}");
    }
}
