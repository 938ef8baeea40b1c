//! The work that the clients do, the same under every protocol.

use std::str::FromStr;
use std::sync::atomic::{AtomicUsize, Ordering};
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

/// The number of holds after which their ends repeat.
const ROUND: usize = 100;

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
#[derive(Debug)]
pub(super) struct Endings {
    round: [HoldEnd; ROUND],
    assigned: AtomicUsize,
}

impl Endings {
    /// Each share is spread evenly, so all runs of one workload have the same number of mishaps. A hold cannot both crash and
    /// overrun: where the shares add up to more than 100 %, fewer overrun.
    pub(super) fn of(workload: &Workload) -> Self {
        let mut round = [HoldEnd::InTime; ROUND];
        spread(workload.crash, HoldEnd::Crash, &mut round);
        spread(workload.overrun, HoldEnd::Overrun, &mut round);
        Self { round, assigned: AtomicUsize::new(0) }
    }

    pub(super) fn next(&self) -> HoldEnd {
        self.round[self.assigned.fetch_add(1, Ordering::Relaxed) % ROUND]
    }
}

/// Gives this end to so many of the holds, each to the next one that is left.
fn spread(share: Percent, end: HoldEnd, round: &mut [HoldEnd; ROUND]) {
    let mut left = usize::from(share.0);
    // Half a step aside, so that a share of 1 % does not wait for the hundredth hold. What finds no room at the end of the round
    // takes the first room.
    let mut due = ROUND / 2;
    for place in (0..ROUND).chain(0..ROUND) {
        due += if left > 0 { usize::from(share.0) } else { 0 };
        if left > 0 && due >= ROUND && round[place] == HoldEnd::InTime {
            round[place] = end;
            due -= ROUND;
            left -= 1;
        }
    }
}

#[test]
fn each_share_is_spread_exactly_and_evenly() {
    let round = |crash, overrun| {
        let mut round = [HoldEnd::InTime; ROUND];
        spread(Percent(crash), HoldEnd::Crash, &mut round);
        spread(Percent(overrun), HoldEnd::Overrun, &mut round);
        round
    };
    let count = |ends: &[HoldEnd], end| ends.iter().filter(|it| **it == end).count();
    for crash in 0..=100_u8 {
        for overrun in 0..=100_u8 {
            let ends = round(crash, overrun);
            let counts = (count(&ends, HoldEnd::Crash), count(&ends, HoldEnd::Overrun));
            assert_eq!(counts, (crash.into(), overrun.min(100 - crash).into()), "{crash} % and {overrun} %");
        }
    }
    let ends = round(10, 20);
    for tenth in ends.chunks(10) {
        assert_eq!((count(tenth, HoldEnd::Crash), count(tenth, HoldEnd::Overrun)), (1, 2), "{ends:?}");
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
