//! What came out of one run.

use std::time::Duration;

/// What one client has seen.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// How often it got the lock.
    pub(super) acquisitions: u64,
    /// From wanting the lock to having it, and from wanting it to the end of the run.
    pub(super) waits: Vec<Duration>,
    /// How long it held, altogether.
    pub(super) held: Duration,
    /// How often somebody was inside when it came in.
    pub(super) double_holds: u64,
    /// How often its release deleted a key that others relied on.
    pub(super) wrong_releases: u64,
}

impl Tally {
    /// Both together.
    pub(super) fn and(mut self, mut other: Self) -> Self {
        self.acquisitions += other.acquisitions;
        self.waits.append(&mut other.waits);
        self.held += other.held;
        self.double_holds += other.double_holds;
        self.wrong_releases += other.wrong_releases;
        self
    }
}

/// What came out of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct Figures {
    /// How often the lock was acquired within the run.
    pub acquisitions: u64,
    /// How long the run was.
    pub elapsed: Duration,
    /// The median of the times from wanting the lock to having it. Whoever still waited at the end counts with the time
    /// that it had waited: left out, the starved would make a protocol look swift.
    pub wait_p50: Option<Duration>,
    /// The 99th percentile of the same.
    pub wait_p99: Option<Duration>,
    /// The 99th percentile as a multiple of the ideal: what the last of a queue of all clients waits, for one hold of
    /// each of the others; `None` without an acquisition, or with one client.
    pub wait_p99_of_ideal: Option<f64>,
    /// Commands that the lock's clients sent for each acquisition, refused tries, subscriptions and releases included,
    /// the witness' own not; `None` without an acquisition.
    pub commands_per_acquisition: Option<f64>,
    /// How often somebody was inside already when a holder went in.
    pub double_holds: u64,
    /// How often a release deleted a key that was no longer the releaser's.
    pub wrong_releases: u64,
    /// The time held by all together, as a share of the run: above 1 there were several holders at once.
    pub busy_ratio: f64,
}

impl Figures {
    pub(super) fn of(mut tally: Tally, clients: usize, commands: u64, elapsed: Duration) -> Self {
        tally.waits.sort_unstable();
        let wait_p99 = percentile(&tally.waits, 99);
        let ideal = tally.held.as_secs_f64() / tally.acquisitions as f64 * (clients.saturating_sub(1)) as f64;
        let per_acquisition = commands as f64 / tally.acquisitions as f64;
        Self {
            acquisitions: tally.acquisitions,
            elapsed,
            wait_p50: percentile(&tally.waits, 50),
            wait_p99,
            wait_p99_of_ideal: wait_p99.map(|p99| p99.as_secs_f64() / ideal).filter(|ratio| ratio.is_finite()),
            commands_per_acquisition: (tally.acquisitions > 0).then_some(per_acquisition),
            double_holds: tally.double_holds,
            wrong_releases: tally.wrong_releases,
            busy_ratio: tally.held.as_secs_f64() / elapsed.as_secs_f64(),
        }
    }

    /// Acquisitions in a second.
    pub fn per_second(&self) -> f64 {
        self.acquisitions as f64 / self.elapsed.as_secs_f64()
    }

    /// Whether the protocol let something happen that a lock is there to prevent.
    pub fn has_races(&self) -> bool {
        self.double_holds > 0 || self.wrong_releases > 0
    }
}

/// The smallest of the sorted values that so many percent of them do not exceed.
fn percentile(sorted: &[Duration], percent: usize) -> Option<Duration> {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.checked_sub(1)?).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn percentiles_are_values_that_occurred() {
        let hundred: Vec<_> = (1..=100).map(ms).collect();
        assert_eq!(percentile(&hundred, 50), Some(ms(50)));
        assert_eq!(percentile(&hundred, 99), Some(ms(99)));
        assert_eq!(percentile(&[ms(7)], 50), Some(ms(7)));
        assert_eq!(percentile(&[ms(7), ms(9)], 99), Some(ms(9)));
        assert_eq!(percentile(&[], 50), None);
    }

    #[test]
    fn tallies_add_up() {
        let waits = vec![ms(3), ms(1)];
        let one = Tally { acquisitions: 2, waits, held: ms(100), double_holds: 1, wrong_releases: 0 };
        let waits = vec![ms(2), ms(500)];
        let other = Tally { acquisitions: 1, waits, held: ms(300), double_holds: 0, wrong_releases: 2 };
        let figures = Figures::of(one.and(other), 4, 12, ms(500));
        assert_eq!(
            figures,
            Figures {
                acquisitions: 3,
                elapsed: ms(500),
                wait_p50: Some(ms(2)),
                wait_p99: Some(ms(500)),
                wait_p99_of_ideal: Some(1.25),
                commands_per_acquisition: Some(4.0),
                double_holds: 1,
                wrong_releases: 2,
                busy_ratio: 0.8,
            }
        );
        assert_eq!(figures.per_second(), 6.0);
        assert!(figures.has_races());
    }

    #[test]
    fn a_run_in_which_nobody_won_has_waits_and_no_averages() {
        let figures = Figures::of(Tally { waits: vec![ms(500)], ..Tally::default() }, 4, 40, ms(500));
        assert_eq!((figures.wait_p50, figures.wait_p99), (Some(ms(500)), Some(ms(500))));
        assert_eq!((figures.commands_per_acquisition, figures.wait_p99_of_ideal), (None, None));
        assert!(!figures.has_races());
    }
}
