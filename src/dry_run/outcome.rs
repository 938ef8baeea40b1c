//! What became of a demand, in a trace or in a play: the same counts of both.

use std::time::Duration;

/// What became of the demand for one lock.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DemandOutcome {
    /// Number of acquisitions.
    pub acquisitions: u64,
    /// Number of tries that met a held lock.
    pub refusals: u64,
    /// Number of waits that were abandoned, or were not seen to end.
    pub gave_up: u64,
    /// Number of acquisitions while another client held the lock.
    pub double_holds: u64,
    /// Number of holds whose work took longer than the lease.
    pub overruns: u64,
    /// From wanting the lock to having it or giving up, ascending.
    pub waits: Vec<Duration>,
}

/// A client held, from then to then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct HeldSpan {
    pub(super) since: Duration,
    pub(super) until: Duration,
    /// Which client.
    pub(super) client: usize,
}

impl DemandOutcome {
    /// The shortest wait that so many percent of all do not exceed.
    pub fn wait(&self, percent: usize) -> Option<Duration> {
        let rank = (self.waits.len() * percent).div_ceil(100);
        self.waits.get(rank.checked_sub(1)?).copied()
    }

    /// Whether nothing happened that a lock is there to prevent, and the lease was long enough for the work.
    pub fn is_clean(&self) -> bool {
        self.double_holds == 0 && self.overruns == 0
    }

    /// The same, with the waits in order and these holds counted.
    pub(super) fn with_holds(mut self, mut holds: Vec<HeldSpan>) -> Self {
        self.waits.sort_unstable();
        holds.sort_unstable();
        let mut live: Vec<HeldSpan> = Vec::new();
        for held in holds {
            live.retain(|other| other.until > held.since);
            self.double_holds += u64::from(live.iter().any(|other| other.client != held.client));
            live.push(held);
        }
        self
    }
}

#[test]
fn an_acquisition_during_a_hold_is_a_double_hold() {
    let held = |client, since, until| {
        let [since, until] = [since, until].map(Duration::from_secs);
        HeldSpan { since, until, client }
    };
    let doubles = |holds: &[HeldSpan]| DemandOutcome::default().with_holds(holds.to_vec()).double_holds;
    assert_eq!(doubles(&[held(1, 0, 2), held(2, 2, 3), held(1, 5, 6)]), 0, "one after the other");
    assert_eq!(doubles(&[held(1, 1, 2), held(2, 0, 9), held(1, 3, 4)]), 2, "two beside one, in any order");
    assert_eq!(
        doubles(&[held(1, 0, 9), held(1, 1, 2), held(2, 3, 4)]),
        1,
        "a client enters again, and another one acquires"
    );
}
