//! Counts and durations, in memory that does not grow with their number.

use std::time::Duration;

/// Durations of time, to within a twentieth.
#[derive(Clone, Debug, Default)]
pub struct Durations {
    /// The number in each bucket, buckets ascending.
    buckets: Vec<(u16, u64)>,
    count: u64,
}

impl Durations {
    /// Adds one.
    pub(super) fn add(&mut self, length: Duration) {
        let bucket = bucket_of(length);
        self.count += 1;
        match self.buckets.binary_search_by_key(&bucket, |(bucket, _)| *bucket) {
            Ok(place) => self.buckets[place].1 += 1,
            Err(place) => self.buckets.insert(place, (bucket, 1)),
        }
    }

    /// Their number.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The duration that this share of all (0 to 1) does not exceed; `None` without any.
    pub fn quantile(&self, share: f64) -> Option<Duration> {
        let rank = (share * self.count as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        self.buckets.iter().find_map(|(bucket, count)| {
            seen += count;
            (seen >= rank).then(|| length_of(*bucket))
        })
    }

    /// Adds others.
    pub(super) fn merge(&mut self, other: &Self) {
        for (bucket, count) in &other.buckets {
            match self.buckets.binary_search_by_key(bucket, |(bucket, _)| *bucket) {
                Ok(place) => self.buckets[place].1 += count,
                Err(place) => self.buckets.insert(place, (*bucket, *count)),
            }
        }
        self.count += other.count;
    }
}

/// Sixteen buckets for each doubling, from a microsecond on.
fn bucket_of(length: Duration) -> u16 {
    let micros = u64::try_from(length.as_micros()).unwrap_or(u64::MAX).max(1);
    let log = micros.ilog2();
    let below = if log >= 4 { micros >> (log - 4) } else { micros << (4 - log) } & 15;
    u16::try_from(u64::from(log) * 16 + below).unwrap_or(u16::MAX)
}

/// The middle of a bucket.
fn length_of(bucket: u16) -> Duration {
    let (log, below) = (u32::from(bucket / 16), f64::from(bucket % 16));
    let micros = 2_f64.powi(i32::try_from(log).unwrap_or(0)) * (1.0 + (below + 0.5) / 16.0);
    Duration::from_secs_f64(micros / 1e6)
}

/// What happened at one key.
#[derive(Clone, Debug, Default)]
pub struct LockStatistics {
    /// Number of acquisitions.
    pub acquisitions: u64,
    /// Number of attempts of which the trace leaves open whether they acquired the lock.
    pub undecided: u64,
    /// Number of refused attempts.
    pub refusals: u64,
    /// Number of releases.
    pub releases: u64,
    /// Number of releases after the end of the lease.
    pub overruns: u64,
    /// How long it was held, up to the release.
    pub held: Durations,
    /// How long clients waited that acquired it.
    pub waited: Durations,
    /// Number of waits without an acquisition: the client gave up, or the trace ended.
    pub unserved: u64,
    /// Number of commands after which another attempt went on over the same connection: several clients share it.
    pub multiplexed: u64,
    /// Number of locks that were released over another connection than they were acquired over.
    pub pooled: u64,
    /// Number of holds whose lease ended without a release: the client crashed, or worked past its lease and sent nothing. No
    /// command shows which.
    pub lapsed: u64,
    /// Number of commands whose client could only be guessed: connections are shared or pooled, and the value names no owner.
    pub guessed: u64,
    /// Number of commands that try to change the lock and that no protocol sends there.
    pub unrecognised: u64,
    /// Number of commands that may have changed the key and whose effect is not followed, such as MOVE and RESTORE.
    pub unfollowed: u64,
    /// Number of acquisitions that are certain.
    pub certain: u64,
}

impl LockStatistics {
    /// Whether what was found there may have another explanation: clients could not be distinguished, or a command was not
    /// followed.
    pub(super) fn is_in_doubt(&self) -> bool {
        self.multiplexed + self.pooled + self.unfollowed > 0
    }

    /// Whether clients acquire the lock, or try to, both as a known protocol does and as none does.
    pub fn mixes_protocols(&self) -> bool {
        self.acquisitions + self.refusals > 0 && self.unrecognised > 0
    }

    /// Adds those of another lock.
    pub(super) fn merge(&mut self, other: &Self) {
        self.acquisitions += other.acquisitions;
        self.undecided += other.undecided;
        self.refusals += other.refusals;
        self.releases += other.releases;
        self.overruns += other.overruns;
        self.unserved += other.unserved;
        self.certain += other.certain;
        self.multiplexed += other.multiplexed;
        self.pooled += other.pooled;
        self.lapsed += other.lapsed;
        self.guessed += other.guessed;
        self.unrecognised += other.unrecognised;
        self.unfollowed += other.unfollowed;
        self.held.merge(&other.held);
        self.waited.merge(&other.waited);
    }
}

#[test]
fn lengths_are_kept_to_within_a_twentieth() {
    let mut lengths = Durations::default();
    for millis in 1..=1000 {
        lengths.add(Duration::from_millis(millis));
    }
    for (share, millis) in [(0.5, 500.0), (0.99, 990.0), (1.0, 1000.0), (0.0, 1.0)] {
        let found = lengths.quantile(share).unwrap().as_secs_f64() * 1000.0;
        assert!((found / millis - 1.0).abs() < 0.05, "{share}: {found} for {millis}");
    }
    assert_eq!(Durations::default().quantile(0.5), None);
}
