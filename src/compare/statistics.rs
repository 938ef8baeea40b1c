//! The results of one run.

use std::time::Duration;

/// The totals of one client.
#[derive(Debug, Default)]
pub(super) struct ClientTotals {
    /// The number of acquisitions.
    pub(super) acquisitions: u64,
    /// The times from the first attempt to the acquisition, or to the end of the run.
    pub(super) waits: Vec<Duration>,
    /// The total time that it held the lock.
    pub(super) held: Duration,
    /// How often another client was inside when it entered.
    pub(super) double_holds: u64,
    /// How often its release deleted another client's lock.
    pub(super) wrong_releases: u64,
}

impl ClientTotals {
    /// The sum of both.
    pub(super) fn and(mut self, mut other: Self) -> Self {
        self.acquisitions += other.acquisitions;
        self.waits.append(&mut other.waits);
        self.held += other.held;
        self.double_holds += other.double_holds;
        self.wrong_releases += other.wrong_releases;
        self
    }
}

/// The results of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct Statistics {
    /// The number of acquisitions within the run.
    pub acquisitions: u64,
    /// The length of the run.
    pub elapsed: Duration,
    /// The median of the waits. A client that still waits at the end counts with the time that it has waited; without
    /// it, starvation would make a protocol look fast.
    pub wait_p50: Option<Duration>,
    /// The 99th percentile of the same.
    pub wait_p99: Option<Duration>,
    /// The 99th percentile as a multiple of the ideal, which is one hold of each other client: what the last client of a
    /// queue waits. `None` without an acquisition, or with one client.
    pub wait_p99_of_ideal: Option<f64>,
    /// Commands per acquisition, with refused attempts, subscriptions and releases, without those of the witness. `None`
    /// without an acquisition.
    pub commands_per_acquisition: Option<f64>,
    /// How often another client was already inside when a holder entered.
    pub double_holds: u64,
    /// How often a release deleted a key that no longer belonged to the client that released.
    pub wrong_releases: u64,
    /// The total time held by all clients, as a share of the run. Above 1, several clients held at once.
    pub busy_ratio: f64,
}

impl Statistics {
    pub(super) fn of(mut totals: ClientTotals, clients: usize, commands: u64, elapsed: Duration) -> Self {
        totals.waits.sort_unstable();
        let wait_p99 = percentile(&totals.waits, 99);
        let ideal = totals.held.as_secs_f64() / totals.acquisitions as f64 * (clients.saturating_sub(1)) as f64;
        let per_acquisition = commands as f64 / totals.acquisitions as f64;
        Self {
            acquisitions: totals.acquisitions,
            elapsed,
            wait_p50: percentile(&totals.waits, 50),
            wait_p99,
            wait_p99_of_ideal: wait_p99.map(|p99| p99.as_secs_f64() / ideal).filter(|ratio| ratio.is_finite()),
            commands_per_acquisition: (totals.acquisitions > 0).then_some(per_acquisition),
            double_holds: totals.double_holds,
            wrong_releases: totals.wrong_releases,
            busy_ratio: totals.held.as_secs_f64() / elapsed.as_secs_f64(),
        }
    }

    /// Acquisitions per second.
    pub fn per_second(&self) -> f64 {
        self.acquisitions as f64 / self.elapsed.as_secs_f64()
    }

    /// Whether the run had a double hold or a wrong release.
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
    fn totals_add_up() {
        let waits = vec![ms(3), ms(1)];
        let one = ClientTotals { acquisitions: 2, waits, held: ms(100), double_holds: 1, wrong_releases: 0 };
        let waits = vec![ms(2), ms(500)];
        let other = ClientTotals { acquisitions: 1, waits, held: ms(300), double_holds: 0, wrong_releases: 2 };
        let statistics = Statistics::of(one.and(other), 4, 12, ms(500));
        assert_eq!(
            statistics,
            Statistics {
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
        assert_eq!(statistics.per_second(), 6.0);
        assert!(statistics.has_races());
    }

    #[test]
    fn a_run_without_acquisitions_has_waits_and_no_averages() {
        let statistics =
            Statistics::of(ClientTotals { waits: vec![ms(500)], ..ClientTotals::default() }, 4, 40, ms(500));
        assert_eq!((statistics.wait_p50, statistics.wait_p99), (Some(ms(500)), Some(ms(500))));
        assert_eq!((statistics.commands_per_acquisition, statistics.wait_p99_of_ideal), (None, None));
        assert!(!statistics.has_races());
    }
}
