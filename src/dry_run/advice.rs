//! The lease that the measured work asks for, and how sure that is.

use std::time::Duration;

/// The lease that the measured work asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseAdvice {
    /// Twice the longest work, rounded up to a tenth of a second, from one second on to a whole one.
    pub lease: Duration,
    /// The longest work.
    pub longest: Duration,
    /// How many were measured. If all work is alike, the next one is longer than all of these with a chance of one in one
    /// more than their number.
    pub measured: usize,
    /// How many of these are beyond doubt.
    pub certain: usize,
}

impl LeaseAdvice {
    /// The advice after these lengths of work, each with whether it is beyond doubt; `None` without any.
    pub(super) fn of(works: &[(Duration, bool)]) -> Option<Self> {
        let longest = works.iter().map(|(work, _)| *work).max()?;
        let certain = works.iter().filter(|(_, is_certain)| *is_certain).count();
        Some(Self { lease: rounded_up(longest.saturating_mul(2)), longest, measured: works.len(), certain })
    }
}

fn rounded_up(length: Duration) -> Duration {
    const SECOND: Duration = Duration::from_secs(1);
    let unit_ms = if length > SECOND { 1_000 } else { 100 };
    let millis = u64::try_from(length.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX - 1_000);
    Duration::from_millis(millis.max(1).div_ceil(unit_ms) * unit_ms)
}

#[test]
fn twice_the_longest_in_round_numbers() {
    let advised = |millis: &[u64]| {
        let works: Vec<_> = millis.iter().map(|millis| (Duration::from_millis(*millis), *millis > 100)).collect();
        LeaseAdvice::of(&works).map(|advice| (advice.lease.as_millis(), advice.measured, advice.certain))
    };
    assert_eq!(advised(&[]), None);
    assert_eq!(advised(&[0]), Some((100, 1, 0)));
    assert_eq!(advised(&[20, 160, 120]), Some((400, 3, 2)));
    assert_eq!(advised(&[500]), Some((1000, 1, 1)));
    assert_eq!(advised(&[501, 501]), Some((2000, 2, 2)));
    assert_eq!(advised(&[3000]), Some((6000, 1, 1)));
}
