//! Many periods, and what they say of a day.

use std::time::Duration;

use super::counts::PeriodCounts;
use super::period::{PlayedProtocol, play};
use super::workload::TracedWorkload;
use crate::wire::Fault;

/// How much to play.
#[derive(Clone, Copy, Debug)]
pub struct OddsEffort {
    /// Number of periods.
    pub periods: u32,
    /// Where the random numbers begin.
    pub seed: u64,
    /// A wait that is longer than this is starved.
    pub starved_after: Duration,
}

/// What the periods of one protocol have come to.
#[derive(Clone, Debug)]
pub struct OddsEstimate {
    /// How long each period is.
    pub period: Duration,
    /// What happened in each.
    pub counts: Vec<PeriodCounts>,
}

/// How often something happens in a day.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DailyRate {
    /// How often it was seen in all periods.
    pub seen: u64,
    /// How often it happens in a day; `None` if it was not seen.
    pub per_day: Option<f64>,
    /// The interval of that, with a confidence of 95 %. From the percentiles of the periods, or as wide as that of a count which
    /// is a Poisson variable, whichever is wider; if nothing was seen, from 0 to the exact Poisson bound.
    pub interval: (f64, f64),
}

const DAY: f64 = 86_400.0;

/// Plays a workload under one protocol, period by period, until `goes_on` denies.
///
/// # Errors
/// The simulated server has refused what the protocol sends: a [`Fault`].
pub fn estimate(
    workload: &TracedWorkload,
    protocol: &PlayedProtocol,
    effort: OddsEffort,
    goes_on: &mut dyn FnMut() -> bool,
) -> Result<OddsEstimate, Fault> {
    let mut estimate = OddsEstimate { period: workload.length, counts: Vec::new() };
    for number in 0..effort.periods {
        if number > 0 && !goes_on() {
            break;
        }
        // A period depends on its number alone: however many are played, the first ones are the same.
        let mut chance =
            fastrand::Rng::with_seed(effort.seed ^ (u64::from(number) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        estimate.counts.push(play(workload, protocol, effort.starved_after, &mut chance)?);
    }
    Ok(estimate)
}

impl OddsEstimate {
    /// How many days were played.
    pub fn days(&self) -> f64 {
        self.period.as_secs_f64() * self.counts.len() as f64 / DAY
    }

    /// How often something happens.
    pub fn rate(&self, of: impl Fn(&PeriodCounts) -> u64) -> DailyRate {
        let seen: u64 = self.counts.iter().map(&of).sum();
        let days = self.days();
        if seen == 0 {
            // With a confidence of 95 %, what happens this often is seen at least once.
            return DailyRate { seen, per_day: None, interval: (0.0, -0.05_f64.ln() / days) };
        }
        // What happens in few periods only is in none of those between the percentiles.
        let (fewest, most) = poisson_interval(seen);
        let (low, high) = self.between(&of, 0.95);
        let per_day = |count: u64| count as f64 * DAY / self.period.as_secs_f64();
        let interval = (f64::min(per_day(low), fewest / days), f64::max(per_day(high), most / days));
        DailyRate { seen, per_day: Some(seen as f64 / days), interval }
    }

    /// Between which counts this share of all periods lies, leaving out as many at either end.
    pub fn between(&self, of: impl Fn(&PeriodCounts) -> u64, share: f64) -> (u64, u64) {
        let mut counts: Vec<u64> = self.counts.iter().map(of).collect();
        counts.sort_unstable();
        let cut = (counts.len() as f64 * (1.0 - share) / 2.0).floor() as usize;
        let place = |place: usize| counts.get(place).copied().unwrap_or(0);
        (place(cut), place(counts.len().saturating_sub(1 + cut)))
    }
}

/// Between which means a Poisson variable lies of which so many, one or more, were counted: with a confidence of 95 %, by
/// Wilson and Hilferty's approximation of the exact interval.
fn poisson_interval(count: u64) -> (f64, f64) {
    const Z: f64 = 1.959_964;
    let quantile = |count: f64, z: f64| count * (1.0 - 1.0 / (9.0 * count) + z / (3.0 * count.sqrt())).powi(3);
    let count = count as f64;
    (quantile(count, -Z).max(0.0), quantile(count + 1.0, Z))
}

#[test]
fn an_interval_holds_the_rate_however_seldom_it_was_seen() {
    // The exact intervals: half of the quantiles of the chi-squared distribution.
    for (count, low, high) in [(1, 0.025, 5.572), (5, 1.623, 11.668), (30, 20.24, 42.83), (1000, 938.97, 1063.94)] {
        let interval = poisson_interval(count);
        let is_near = |is: f64, exact: f64| (is - exact).abs() < 0.01 * exact + 0.02;
        assert!(is_near(interval.0, low) && is_near(interval.1, high), "{count}: {interval:?}");
    }
    let counts = |double_holds: u64| PeriodCounts { double_holds, ..PeriodCounts::default() };
    let once = [vec![counts(1)], vec![counts(0); 199]].concat();
    let rate = OddsEstimate { period: Duration::from_secs(86_400), counts: once }.rate(|it| it.double_holds);
    let (low, high) = rate.interval;
    assert!(low < 0.005 && 0.005 < high && high < 0.03, "{rate:?}");
}

#[test]
fn what_was_not_seen_has_a_bound_and_what_was_seen_an_interval() {
    let counts = |double_holds: u64| PeriodCounts { double_holds, ..PeriodCounts::default() };
    let of = |all: Vec<PeriodCounts>| OddsEstimate { period: Duration::from_secs(8_640), counts: all };
    let none = of(vec![counts(0); 100]).rate(|it| it.double_holds);
    assert_eq!((none.seen, none.per_day), (0, None));
    assert!((none.interval.1 - 0.29957).abs() < 1e-4, "3 in ten days: {none:?}");
    let some = of((0..100).map(counts).collect()).rate(|it| it.double_holds);
    assert_eq!((some.seen, some.per_day), (4950, Some(495.0)));
    assert_eq!(some.interval, (20.0, 970.0), "without the two lowest and the two highest");
}
