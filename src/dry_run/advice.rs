//! The lease that the measured work asks for, and how sure that is.

use std::time::Duration;

/// The lease that the measured work asks for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LeaseAdvice {
    /// Twice the longest work, rounded up to a tenth of a second, from one second on to a whole one.
    pub lease: Duration,
    /// The longest work.
    pub longest: Duration,
    /// Number of holds.
    pub measured: usize,
    /// How many of these are beyond doubt.
    pub certain: usize,
    /// How many of these had not ended when the trace did: their work is longer than was seen.
    pub censored: usize,
    /// The share of all holds (0 to 1) that, with a confidence of 95 %, are not longer than the longest one that was seen; if
    /// all work is alike.
    pub covered: f64,
    /// The 99th percentile of the work lies between these two, with a confidence of 95 %; no upper end is known if too few
    /// holds were seen.
    pub p99: (Duration, Option<Duration>),
}

/// The work under one hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SeenWork {
    pub(super) length: Duration,
    /// Whether it is beyond doubt.
    pub(super) is_certain: bool,
    /// Whether it had not ended when the trace did.
    pub(super) is_censored: bool,
}

/// The confidence of each statement.
const CONFIDENCE: f64 = 0.95;

impl LeaseAdvice {
    /// The advice after this work; `None` without any.
    pub(super) fn of(mut works: Vec<SeenWork>) -> Option<Self> {
        works.sort_unstable_by_key(|work| work.length);
        let longest = works.last()?.length;
        let count = |is: fn(&SeenWork) -> bool| works.iter().filter(|work| is(work)).count();
        Some(Self {
            lease: rounded_up(longest.saturating_mul(2)),
            longest,
            measured: works.len(),
            certain: count(|work| work.is_certain),
            censored: count(|work| work.is_censored),
            covered: (1.0 - CONFIDENCE).powf(1.0 / works.len() as f64),
            p99: p99(&works),
        })
    }
}

/// The interval of the 99th percentile, from the order of the lengths alone: how many of them exceed the percentile has a
/// binomial distribution.
fn p99(ascending: &[SeenWork]) -> (Duration, Option<Duration>) {
    const SHARE: f64 = 0.01;
    let tail = (1.0 - CONFIDENCE) / 2.0;
    let count = ascending.len();
    // ln P(exactly `exceeding` of all exceed the percentile), and the sum of these up to there.
    let mut log = count as f64 * (1.0 - SHARE).ln();
    let (mut below, mut upper) = (0.0, None);
    for exceeding in 0..count {
        // `below` is the chance that fewer than `exceeding` exceed it.
        if exceeding > 0 && below <= tail {
            upper = Some(ascending[count - exceeding].length);
        }
        below += log.exp();
        if below >= 1.0 - tail {
            return (ascending[count - 1 - exceeding].length, upper);
        }
        log += ((count - exceeding) as f64 / (exceeding + 1) as f64).ln() + (SHARE / (1.0 - SHARE)).ln();
    }
    (ascending[0].length, upper)
}

fn rounded_up(length: Duration) -> Duration {
    const SECOND: Duration = Duration::from_secs(1);
    let unit_ms = if length > SECOND { 1_000 } else { 100 };
    let millis = u64::try_from(length.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX - 1_000);
    Duration::from_millis(millis.max(1).div_ceil(unit_ms) * unit_ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn works(millis: impl IntoIterator<Item = u64>) -> Vec<SeenWork> {
        let work = |millis: u64| SeenWork {
            length: Duration::from_millis(millis),
            is_certain: millis > 100,
            is_censored: millis == 160,
        };
        millis.into_iter().map(work).collect()
    }

    #[test]
    fn twice_the_longest_in_round_numbers() {
        let advised = |millis: &[u64]| {
            let advice = LeaseAdvice::of(works(millis.iter().copied()))?;
            Some((advice.lease.as_millis(), advice.measured, advice.certain, advice.censored))
        };
        assert_eq!(advised(&[]), None);
        assert_eq!(advised(&[0]), Some((100, 1, 0, 0)));
        assert_eq!(advised(&[20, 160, 120]), Some((400, 3, 2, 1)));
        assert_eq!(advised(&[500]), Some((1000, 1, 1, 0)));
        assert_eq!(advised(&[501, 501]), Some((2000, 2, 2, 0)));
        assert_eq!(advised(&[3000]), Some((6000, 1, 1, 0)));
    }

    #[test]
    fn the_longest_of_many_covers_more_and_the_percentile_gets_an_upper_end() {
        let advice = |count: u64| LeaseAdvice::of(works(1..=count)).unwrap();
        for (count, covered) in [(1, 0.05), (10, 0.741), (59, 0.950), (299, 0.990)] {
            assert!((advice(count).covered - covered).abs() < 0.001, "{count}: {}", advice(count).covered);
        }
        // 1 - 0.99^n reaches 97.5 % at 368 holds.
        assert_eq!(advice(367).p99.1, None);
        assert_eq!(advice(368).p99.1, Some(Duration::from_millis(368)));
        let (low, high) = advice(10_000).p99;
        // 100 of 10,000 exceed it on average, and the standard deviation is 9.95.
        assert!((9_878..=9_882).contains(&low.as_millis()), "{low:?}");
        assert!((9_918..=9_922).contains(&high.unwrap().as_millis()), "{high:?}");
    }
}
