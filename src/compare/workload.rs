//! The work that the clients do, the same under every protocol.

use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::driver::Wait;
use crate::lock::Lease;

/// The work that the clients do, the same under every protocol.
#[derive(Clone, Debug)]
pub struct Workload {
    /// How many clients compete, each on its own connection and thread.
    pub clients: usize,
    /// How long they compete.
    pub length: Duration,
    /// How long each holder works, and rests afterwards on average.
    pub hold: Duration,
    /// The lease of each acquisition.
    pub lease: Lease,
    /// How to wait for a held lock; the end of the run limits it.
    pub wait: Wait,
    /// The share of holds that outlast their lease.
    pub overrun: Percent,
    /// The share of holders that end without a release.
    pub crash: Percent,
}

/// A percentage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Percent(u8);

impl Percent {
    /// Whether hold number `number`, counted from 0, belongs to this share. The share is spread evenly, so all runs of one
    /// workload have the same number of mishaps.
    fn includes(self, number: u64) -> bool {
        let share = u64::from(self.0);
        // Half a step aside, so that a share of 1 % does not wait for the hundredth hold.
        let by = |number: u64| (number * share + 50) / 100;
        by(number + 1) > by(number)
    }
}

impl FromStr for Percent {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.strip_suffix('%').unwrap_or(text).parse() {
            Ok(share @ 0..=100) => Ok(Self(share)),
            Ok(_) | Err(_) => Err("a share is a whole number from 0 to 100"),
        }
    }
}

/// How a hold ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HoldEnd {
    /// With a release, within its lease.
    InTime,
    /// With a release, after its lease.
    Overrun,
    /// Without a release.
    Crash,
}

/// Assigns the endings to the holds of one run.
#[derive(Debug, Default)]
pub(super) struct Endings {
    assigned: AtomicU64,
}

impl Endings {
    pub(super) fn next(&self, workload: &Workload) -> HoldEnd {
        let number = self.assigned.fetch_add(1, Ordering::Relaxed);
        match () {
            () if workload.crash.includes(number) => HoldEnd::Crash,
            // The two shares are offset by one hold, so that equal shares do not hide each other.
            () if workload.overrun.includes(number + 1) => HoldEnd::Overrun,
            () => HoldEnd::InTime,
        }
    }
}

#[test]
fn a_share_is_spread_exactly_and_evenly() {
    for share in [0, 1, 7, 33, 50, 99, 100] {
        let of = |numbers: std::ops::Range<u64>| numbers.filter(|number| Percent(share).includes(*number)).count();
        assert_eq!(of(0..1000), usize::from(share) * 10, "{share} % of 1000");
        assert_eq!(of(300..400), usize::from(share), "{share} % of any hundred");
    }
}

#[test]
fn percentages_are_parsed_with_and_without_their_sign() {
    assert_eq!("5".parse(), Ok(Percent(5)));
    assert_eq!("5%".parse(), Ok(Percent(5)));
    for typed in ["", "-1", "101", "5.5", "%", "many"] {
        assert!(typed.parse::<Percent>().is_err(), "{typed}");
    }
}
