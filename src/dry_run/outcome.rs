//! What became of a demand, in a trace or in a play: the same figures of both.

use std::time::Duration;

/// What became of the demand for one lock.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// How often somebody acquired the lock.
    pub acquisitions: u64,
    /// How often somebody tried in vain.
    pub refusals: u64,
    /// How often somebody gave up waiting, or was not seen to get it.
    pub gave_up: u64,
    /// How often somebody came in while somebody else was inside.
    pub double_holds: u64,
    /// How often the work took longer than the lease.
    pub overruns: u64,
    /// From wanting the lock to having it or giving up, ascending.
    pub waits: Vec<Duration>,
}

/// Somebody was inside, from then to then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Stay {
    pub(super) since: Duration,
    pub(super) until: Duration,
}

impl Outcome {
    /// The shortest wait that so many percent of all do not exceed.
    pub fn wait(&self, percent: usize) -> Option<Duration> {
        let rank = (self.waits.len() * percent).div_ceil(100);
        self.waits.get(rank.checked_sub(1)?).copied()
    }

    /// Whether nothing happened that a lock is there to prevent, and the lease was long enough for the work.
    pub fn is_clean(&self) -> bool {
        self.double_holds == 0 && self.overruns == 0
    }

    /// The same, with the waits in order and these stays counted.
    pub(super) fn with_stays(mut self, mut stays: Vec<Stay>) -> Self {
        self.waits.sort_unstable();
        stays.sort_unstable();
        let mut empty_from = Duration::ZERO;
        for stay in stays {
            self.double_holds += u64::from(stay.since < empty_from);
            empty_from = empty_from.max(stay.until);
        }
        self
    }
}

#[test]
fn who_comes_in_while_somebody_is_inside_makes_two() {
    let stay = |since, until| Stay { since: Duration::from_secs(since), until: Duration::from_secs(until) };
    let doubles = |stays: &[Stay]| Outcome::default().with_stays(stays.to_vec()).double_holds;
    assert_eq!(doubles(&[stay(0, 2), stay(2, 3), stay(5, 6)]), 0, "one after the other");
    assert_eq!(doubles(&[stay(1, 2), stay(0, 9), stay(3, 4)]), 2, "two beside one, in any order");
}
