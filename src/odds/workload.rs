//! What the clients of one lock do, as a trace shows it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::seen_lease::seen_lease;
use crate::audit::{Audit, Episode, LockSummary};
use crate::lock::Lease;
use crate::protocols::Choice;
use crate::wire::{Key, UnixTime};

/// What the clients of one lock do.
#[derive(Clone, Debug)]
pub struct TracedWorkload {
    /// The key.
    pub key: Key,
    /// Its database.
    pub database: u32,
    /// How long the trace is.
    pub length: Duration,
    /// The protocol that the clients speak; of several that would have sent the same, the first.
    pub spoken: Choice,
    /// For how long they acquire.
    pub lease: Lease,
    /// Whether the trace shows that lease, or it was given; otherwise it is assumed.
    pub lease_is_known: bool,
    /// Whether they extend their lease while they work.
    pub renews: bool,
    /// How long waiters pause between two tries, on average; `None` if no try was refused.
    pub pause: Option<Duration>,
    /// Number of clients whose clock differs from that of the others, and by how many nanoseconds at most.
    pub skewed: (usize, u64),
    /// How many waits did not end in the trace: these clients are not played.
    pub unserved: u64,
    /// From sending a command to receiving its reply.
    pub round_trips: RoundTrips,
    pub(super) began_at: UnixTime,
    pub(super) works: Vec<TracedWork>,
    pub(super) rests: Vec<Duration>,
    pub(super) clients: Vec<Window>,
}

/// From sending a command to receiving its reply.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum RoundTrips {
    /// As measured.
    Measured(Vec<Duration>),
    /// The source has no replies.
    Assumed(Duration),
}

/// What a client does with a lock that it has acquired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TracedWork {
    /// It works for so long and releases.
    Takes(Duration),
    /// It ends without a release.
    Dies,
}

/// When a client wants the lock, since the beginning of the trace.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    pub(super) from: Duration,
    /// It wants the lock again after each rest, up to then.
    pub(super) until: Duration,
    /// By how much its clock is ahead, in nanoseconds.
    pub(super) ahead: i64,
}

/// Why there is no estimate for a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoEstimate {
    /// Clients share or pool connections and could only be guessed.
    IdentityUnsure,
    /// Fewer holds than this were seen.
    FewerHoldsThan(usize),
    /// It is there to be held by several: a read/write lock or a semaphore.
    Shared,
    /// No known protocol explains its clients.
    UnknownProtocol,
    /// Its clients speak several protocols.
    SeveralProtocols,
    /// The trace has no length: it is a moment, or its clock is set back.
    NoLength,
}

/// Fewer holds say nothing of a distribution.
const FEWEST_HOLDS: usize = 10;
/// What is assumed for the lease of locks that have none, and of a trace that shows none.
const NOMINAL: Duration = Duration::from_secs(30);
/// Clients with fewer holds than this are not suspected of a wrong clock.
const FEWEST_FOR_A_CLOCK: usize = 8;

impl TracedWorkload {
    /// That of a lock of an audit that has kept its episodes; with this lease instead of the one that the trace shows, if one is
    /// given.
    ///
    /// # Errors
    /// Why it cannot be known.
    pub fn of(
        audit: &Audit,
        lock: &LockSummary,
        identity_is_given: bool,
        lease: Option<Lease>,
        round_trips: RoundTrips,
    ) -> Result<Self, NoEstimate> {
        if lock.is_shared {
            return Err(NoEstimate::Shared);
        }
        let is_guessed = lock.statistics.guessed + lock.statistics.multiplexed + lock.statistics.pooled > 0;
        if is_guessed && !identity_is_given {
            return Err(NoEstimate::IdentityUnsure);
        }
        let is_of_lock = |episode: &&Episode| (episode.database, &episode.key) == (lock.database, &lock.key);
        let episodes: Vec<&Episode> = audit.episodes.iter().filter(is_of_lock).collect();
        let Some(began_at) = audit.first_at.filter(|_| episodes.len() >= FEWEST_HOLDS) else {
            return Err(NoEstimate::FewerHoldsThan(FEWEST_HOLDS));
        };
        if audit.length.is_zero() {
            return Err(NoEstimate::NoLength);
        }
        let spoken = spoken(lock)?;
        let mut by_client: BTreeMap<&Arc<str>, Vec<&Episode>> = BTreeMap::new();
        episodes.iter().for_each(|episode| by_client.entry(&episode.client).or_default().push(episode));
        by_client.values_mut().for_each(|episodes| episodes.sort_by_key(|episode| episode.since));
        let end = began_at.saturating_add(audit.length);
        let rests = rests(by_client.values());
        let rest = median(&rests);
        let works = by_client.values().flat_map(|episodes| works(episodes, rest, end)).collect();
        let leases = Leases::of(by_client.values());
        let known = lease.or_else(|| leases.asked_for(&spoken));
        let lease = known.or_else(|| Lease::new(NOMINAL).ok()).ok_or(NoEstimate::UnknownProtocol)?;
        let elapsed = |at: UnixTime| at.saturating_since(began_at);
        let is_stamped = spoken.protocol().dialect().is_some();
        let clients: Vec<Window> = by_client
            .values()
            .map(|episodes| {
                let (first, last) = (episodes[0], episodes[episodes.len() - 1]);
                let ahead = if is_stamped { leases.ahead(episodes) } else { 0 };
                Window { from: elapsed(first.asked_at), until: elapsed(last.asked_at), ahead }
            })
            .collect();
        let waited: Duration = episodes.iter().map(|it| it.since.saturating_since(it.asked_at)).sum();
        let refusals: u64 = episodes.iter().map(|episode| episode.refusals).sum();
        let refusals = u32::try_from(refusals).unwrap_or(u32::MAX);
        let wrong = clients.iter().filter(|client| client.ahead != 0);
        Ok(Self {
            key: lock.key.clone(),
            database: lock.database,
            length: audit.length,
            spoken,
            lease,
            lease_is_known: known.is_some(),
            renews: renews(&episodes),
            pause: waited.checked_div(refusals).map(|pause| pause.clamp(Duration::from_millis(1), NOMINAL)),
            skewed: (wrong.clone().count(), wrong.map(|client| client.ahead.unsigned_abs()).max().unwrap_or(0)),
            unserved: lock.statistics.unserved,
            round_trips,
            began_at,
            works,
            rests,
            clients,
        })
    }

    /// Number of holds that it rests on.
    pub fn holds(&self) -> usize {
        self.works.len()
    }

    /// How many of these clients ended without a release.
    pub fn deaths(&self) -> usize {
        self.works.iter().filter(|work| **work == TracedWork::Dies).count()
    }

    /// Number of clients. One that reconnects counts again.
    pub fn clients(&self) -> usize {
        self.clients.len()
    }
}

/// The protocol that explains all clients; of several that would have sent the same, the first.
fn spoken(lock: &LockSummary) -> Result<Choice, NoEstimate> {
    /// Some acquisitions are not recognised for what they are, where their client lost a race.
    const ENOUGH: f64 = 0.95;
    let all: u64 = lock.busiest.iter().map(|client| client.acquisitions).sum();
    let explained = |name: &String| -> u64 {
        let speakers = lock.busiest.iter().filter(|client| client.dialects.contains(name));
        speakers.map(|client| client.acquisitions).sum()
    };
    let chosen: Vec<(&String, Choice)> =
        lock.dialects.iter().filter_map(|name| Some((name, name.parse().ok()?))).collect();
    if chosen.is_empty() {
        return Err(NoEstimate::UnknownProtocol);
    }
    let is_enough = |name: &String| explained(name) as f64 >= ENOUGH * all as f64;
    let explaining = chosen.into_iter().find(|(name, _)| is_enough(name));
    explaining.map(|(_, choice)| choice).ok_or(NoEstimate::SeveralProtocols)
}

/// Whether most clients that worked for longer than half of their lease extended it.
fn renews(episodes: &[&Episode]) -> bool {
    let is_long = |episode: &&&Episode| {
        let worked = episode.until.map(|until| until.saturating_since(episode.since));
        episode.lease.zip(worked).is_some_and(|(lease, worked)| worked > lease / 2)
    };
    let long = episodes.iter().filter(is_long);
    let extended = long.clone().filter(|episode| episode.is_extended).count();
    extended > 0 && 2 * extended >= long.count()
}

/// From the end of each client's work to its next attempt to acquire.
fn rests<'a, 'b: 'a>(clients: impl Iterator<Item = &'a Vec<&'b Episode>>) -> Vec<Duration> {
    let pairs = clients.flat_map(|episodes| episodes.windows(2));
    pairs.filter_map(|pair| Some(pair[1].asked_at.saturating_since(pair[0].until?))).collect()
}

fn median(lengths: &[Duration]) -> Duration {
    let mut lengths = lengths.to_vec();
    lengths.sort_unstable();
    lengths.get(lengths.len() / 2).copied().unwrap_or_default()
}

/// What a client did with each lock. Old dialects send nothing once their lease has ended: if such a client goes on, it worked
/// until it rested before it wanted the lock again, and if it does not, it died. Work that the end of the trace cuts off ends
/// there.
fn works<'a>(episodes: &'a [&Episode], rest: Duration, end: UnixTime) -> impl Iterator<Item = TracedWork> + 'a {
    episodes.iter().enumerate().map(move |(place, episode)| {
        match (episode.until, episode.lease_ends_at, episodes.get(place + 1)) {
            (Some(until), ..) => TracedWork::Takes(until.saturating_since(episode.since)),
            // It has entered once more, and goes on with its work.
            (None, lease_ends, Some(next)) if lease_ends.is_none_or(|ends_at| next.since < ends_at) => {
                TracedWork::Takes(next.since.saturating_since(episode.since))
            }
            (None, lease_ends, Some(next)) => {
                let asked_after = next.asked_at.saturating_since(episode.since).saturating_sub(rest);
                let lease = lease_ends.unwrap_or(episode.since).saturating_since(episode.since);
                TracedWork::Takes(asked_after.max(lease))
            }
            (None, Some(lease_ends), None) if lease_ends <= end => TracedWork::Dies,
            (None, _, None) => TracedWork::Takes(end.saturating_since(episode.since)),
        }
    })
}

/// The leases of a trace, by the server's clock. A client whose clock is ahead writes stamps that are further away.
struct Leases {
    median: Option<f64>,
    /// How much the leases of one client differ, as a standard deviation.
    deviation: f64,
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

fn leases_of(episodes: &[&Episode]) -> Vec<f64> {
    episodes.iter().filter_map(|episode| Some(episode.lease?.as_secs_f64())).collect()
}

impl Leases {
    fn of<'a, 'b: 'a>(clients: impl Iterator<Item = &'a Vec<&'b Episode>>) -> Self {
        let mut means = Vec::new();
        let (mut squares, mut count) = (0.0, 0.0);
        for leases in clients.map(|episodes| leases_of(episodes)) {
            if let Some(mean) = mean(&leases) {
                squares += leases.iter().map(|lease| (lease - mean).powi(2)).sum::<f64>();
                count += leases.len() as f64 - 1.0;
                means.push(mean);
            }
        }
        means.sort_by(f64::total_cmp);
        Self { median: means.get(means.len() / 2).copied(), deviation: (squares / f64::max(count, 1.0)).sqrt() }
    }

    /// The lease that the clients asked for, so that the trace shows these.
    fn asked_for(&self, spoken: &Choice) -> Option<Lease> {
        const STEPS: [f64; 3] = [1.0, 0.1, 0.001];
        let median = self.median?;
        let seen = |lease: f64| seen_lease(spoken, Lease::new(Duration::try_from_secs_f64(lease).ok()?).ok()?);
        let nearest = median - (seen(median).unwrap_or(median) - median);
        if nearest <= 0.0 {
            // The protocol shows no lease that short, so these clients write other stamps: of whole seconds, partly passed.
            return Lease::new(Duration::try_from_secs_f64(median.ceil()).ok()?).ok();
        }
        // Leases are round numbers, and a dialect that counts in seconds rounds up what is not.
        let roundings: [fn(f64) -> f64; 3] = [f64::round, f64::ceil, f64::floor];
        let round = |step: f64| roundings.map(|round| round(nearest / step) * step);
        let candidates: Vec<f64> = STEPS.into_iter().flat_map(round).filter(|lease| *lease >= 0.003).collect();
        let distance = |lease: f64| seen(lease).map_or(f64::MAX, |seen| (seen - median).abs());
        let tolerance = f64::max(2.0 * self.deviation, 0.02 * median);
        let fitting = candidates.iter().copied().find(|lease| distance(*lease) <= tolerance);
        let nearest = candidates.iter().copied().min_by(|one, other| distance(*one).total_cmp(&distance(*other)));
        let best = fitting.or(nearest).unwrap_or(median);
        Lease::new(Duration::try_from_secs_f64(best).ok()?).ok()
    }

    /// By how many nanoseconds the clock of this client is ahead; 0 unless that is beyond doubt.
    fn ahead(&self, episodes: &[&Episode]) -> i64 {
        const SURE: f64 = 3.0;
        let leases = leases_of(episodes);
        let (Some(median), Some(mean)) = (self.median, mean(&leases)) else { return 0 };
        let error = f64::max(self.deviation, 0.005) / (leases.len() as f64).sqrt();
        let is_sure = leases.len() >= FEWEST_FOR_A_CLOCK && (mean - median).abs() > SURE * error;
        if is_sure { ((mean - median) * 1e9) as i64 } else { 0 }
    }
}
