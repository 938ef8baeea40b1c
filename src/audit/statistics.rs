//! Counts and lengths of time, in memory that does not grow with their number.

use std::time::Duration;

/// Durations of time, to within a twentieth.
#[derive(Clone, Debug, Default)]
pub struct Durations {
    /// How many fell into each bucket: buckets ascending.
    buckets: Vec<(u16, u64)>,
    count: u64,
}

impl Durations {
    /// One more.
    pub(super) fn add(&mut self, length: Duration) {
        let bucket = bucket_of(length);
        self.count += 1;
        match self.buckets.binary_search_by_key(&bucket, |(bucket, _)| *bucket) {
            Ok(place) => self.buckets[place].1 += 1,
            Err(place) => self.buckets.insert(place, (bucket, 1)),
        }
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The length that this share of all (0 to 1) does not exceed; `None` if there are none.
    pub fn quantile(&self, share: f64) -> Option<Duration> {
        let rank = (share * self.count as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        self.buckets.iter().find_map(|(bucket, count)| {
            seen += count;
            (seen >= rank).then(|| length_of(*bucket))
        })
    }

    /// These and those.
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
    /// How often somebody acquired it.
    pub acquisitions: u64,
    /// How often the trace leaves open whether somebody acquired it.
    pub undecided: u64,
    /// How often somebody was refused.
    pub refusals: u64,
    /// How often it was given back.
    pub releases: u64,
    /// How often its holder gave it back, or tried to, when the lease was over.
    pub overruns: u64,
    /// How long it was held, up to the release.
    pub held: Durations,
    /// How long those waited who got it.
    pub waited: Durations,
    /// How often somebody asked and was not seen to get it: it gave up, or the trace ended.
    pub unserved: u64,
    /// How many acquisitions are beyond doubt.
    pub certain: u64,
}

impl LockStatistics {
    /// This and that.
    pub(super) fn merge(&mut self, other: &Self) {
        self.acquisitions += other.acquisitions;
        self.undecided += other.undecided;
        self.refusals += other.refusals;
        self.releases += other.releases;
        self.overruns += other.overruns;
        self.unserved += other.unserved;
        self.certain += other.certain;
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
