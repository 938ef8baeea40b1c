//! The odds of a fleet, held against what its clients have counted themselves.

use std::time::Duration;

use lockshift::audit::Audit;
use lockshift::lock::Lease;
use lockshift::odds::{
    OddsEffort, OddsEstimate, PeriodCounts, PlayedProtocol, RoundTrips, TracedWorkload, WaitPace, estimate,
};

use super::topology::Topology;
use super::truth::Log;

/// The share of the periods that has to contain what was counted.
const NEARLY_ALL: f64 = 0.998;

/// What is estimated, and what was counted.
type Kind = (&'static str, fn(&PeriodCounts) -> u64, u64);

/// Panics unless the counted double holds and wrong releases lie within what the odds expect of that fleet, and wrong ones
/// outside.
pub(super) fn hold_what_was_counted(logs: &[(Topology, String, Log)], audit: &Audit) {
    let (mut compared, mut caught) = (0, 0);
    for (_, key, log) in logs.iter().filter(|(topology, ..)| *topology == Topology::Own) {
        let kinds: [Kind; 2] = [
            ("double holds", |counts| counts.double_holds, log.double_holds().count() as u64),
            ("wrong releases", |counts| counts.wrong_releases, log.wrong_releases().count() as u64),
        ];
        let Some(within) = expected(key, audit, None) else { continue };
        let without = expected(key, audit, Some(Duration::from_secs(20))).expect("the clients are the same");
        for (name, of, counted) in kinds {
            let (low, high) = within.between(of, NEARLY_ALL);
            assert!((low..=high).contains(&counted), "{key}: {counted} {name}, and {low} to {high} expected");
            let planted = 3 * counted + 20;
            assert!(!(low..=high).contains(&planted), "{key}: {planted} {name} pass for {low} to {high}");
            // With a lease that no work exceeds, the same clients would hardly ever hold at once.
            let (low, high) = without.between(of, NEARLY_ALL);
            caught += u32::from(!(low..=high).contains(&counted));
        }
        compared += 1;
    }
    assert!(compared >= 2, "only {compared} fleets had enough holds");
    assert!(caught > 0, "a wrong lease changes nothing");
}

/// What the odds expect; `None` if the fleet has no estimate. The lease is that of the trace, unless another is given.
fn expected(key: &str, audit: &Audit, lease: Option<Duration>) -> Option<OddsEstimate> {
    let lock = audit.locks.iter().find(|lock| lock.key.as_bytes() == key.as_bytes())?;
    let lease = lease.map(|lease| Lease::new(lease).unwrap());
    let round_trips = RoundTrips::Assumed(Duration::from_micros(200));
    let workload = TracedWorkload::of(audit, lock, false, lease, round_trips).ok()?;
    if lease.is_none() {
        assert_eq!(workload.lease.length(), Duration::from_secs(1), "{key}: the lease of the clients");
    }
    let pace = WaitPace::AsTraced(workload.pause.unwrap_or(Duration::from_millis(100)));
    let play = PlayedProtocol { choice: workload.spoken.clone(), lease: workload.lease, pace, renews: false };
    let effort = OddsEffort { periods: 300, seed: 1, starved_after: Duration::from_secs(60) };
    Some(estimate(&workload, &play, effort, &mut || true).expect("the protocol can be played"))
}
