//! The odds of fleets, held against what their clients have counted themselves.
//!
//! A run of fleets is one of the periods that its odds play, and about one run in a hundred lies outside of 99 % of them. So
//! the run is a recorded one (`fleets.log.gz` and `fleets.counts`), which `LOCKSHIFT_ACCURACY` records anew.

use std::fmt::Write as _;
use std::fs;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::time::Duration;

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use lockshift::audit::Audit;
use lockshift::lock::Lease;
use lockshift::odds::{
    NoEstimate, OddsEffort, OddsEstimate, PeriodCounts, PlayedProtocol, RoundTrips, TracedWorkload, WaitPace, estimate,
};

use super::topology::Topology;
use super::truth::Log;
use super::{FleetRun, asked_seconds, run, written};

/// How long the recorded fleets ran.
const RECORDED: Duration = Duration::from_secs(20);
/// Number of periods that are played of each.
const PERIODS: u32 = 20;
/// All of the periods: between the least and the most of them lies what was counted.
const ALL: f64 = 1.0;

/// What is estimated, and what was counted.
type Counted = (&'static str, fn(&PeriodCounts) -> u64, u64);

fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/it/audit/accuracy").join(name)
}

/// Records fleets on connections of their own, and what their clients have counted.
fn record() {
    let FleetRun { logs, monitored, .. } = run(&[Topology::Own], 0, RECORDED);
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(monitored.as_bytes()).unwrap();
    fs::write(file("fleets.log.gz"), encoder.finish().unwrap()).unwrap();
    let mut counts = String::new();
    for (_, key, log) in &logs {
        let (double_holds, wrong_releases) = counted(log);
        writeln!(counts, "{key} {double_holds} {wrong_releases}").unwrap();
    }
    fs::write(file("fleets.counts"), counts).unwrap();
}

fn counted(log: &Log) -> (usize, usize) {
    (log.double_holds().count(), log.wrong_releases().count())
}

/// Each key, and how many double holds and wrong releases its clients counted.
fn recorded() -> (Vec<(String, u64, u64)>, Audit) {
    let mut text = String::new();
    GzDecoder::new(fs::File::open(file("fleets.log.gz")).unwrap()).read_to_string(&mut text).unwrap();
    let counts = fs::read_to_string(file("fleets.counts")).unwrap();
    let of_line = |line: &str| {
        let [key, double_holds, wrong_releases] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
        (key.to_owned(), double_holds.parse().unwrap(), wrong_releases.parse().unwrap())
    };
    (counts.lines().map(of_line).collect(), written::audit(&text))
}

/// The counted double holds and wrong releases lie within what the odds expect of that fleet, and wrong ones outside.
#[test]
fn the_odds_of_a_recorded_fleet_contain_what_its_clients_counted() {
    if asked_seconds().is_some() {
        record();
    }
    let (fleets, audit) = recorded();
    assert_eq!(fleets.len(), super::PROTOCOLS.len());
    let (mut compared, mut caught) = (0, 0);
    for (key, double_holds, wrong_releases) in fleets {
        let kinds: [Counted; 2] = [
            ("double holds", |counts| counts.double_holds, double_holds),
            ("wrong releases", |counts| counts.wrong_releases, wrong_releases),
        ];
        let Some(within) = expected(&key, &audit, None) else { continue };
        let without = expected(&key, &audit, Some(Duration::from_secs(20))).expect("the clients are the same");
        for (name, of, counted) in kinds {
            let (low, high) = within.between(of, ALL);
            assert!((low..=high).contains(&counted), "{key}: {counted} {name}, and {low} to {high} expected");
            let planted = 3 * counted + 20;
            assert!(!(low..=high).contains(&planted), "{key}: {planted} {name} pass for {low} to {high}");
            // With a lease that no work exceeds, the same clients would hardly ever hold at once.
            let (low, high) = without.between(of, ALL);
            caught += u32::from(!(low..=high).contains(&counted));
        }
        compared += 1;
    }
    assert!(compared >= 2, "of only {compared} fleets the clients are sure");
    assert!(caught > 0, "a wrong lease changes nothing");
}

/// What the odds expect; `None` if the clients could only be guessed. The lease is that of the trace, unless another is given.
fn expected(key: &str, audit: &Audit, lease: Option<Duration>) -> Option<OddsEstimate> {
    let lock = audit.locks.iter().find(|lock| lock.key.as_bytes() == key.as_bytes()).expect("the key is a lock");
    let lease = lease.map(|lease| Lease::new(lease).unwrap());
    let round_trips = RoundTrips::Assumed(Duration::from_micros(200));
    let workload = TracedWorkload::of(audit, lock, false, lease, round_trips);
    let workload = match workload {
        Ok(workload) => workload,
        Err(NoEstimate::IdentityUnsure) => return None,
        Err(why) => panic!("{key}: {why:?}"),
    };
    if lease.is_none() {
        assert_eq!(workload.lease.length(), Duration::from_secs(1), "{key}: the lease of the clients");
    }
    let pace = WaitPace::AsTraced(workload.pause.unwrap_or(Duration::from_millis(100)));
    let play = PlayedProtocol { choice: workload.spoken.clone(), lease: workload.lease, pace, renews: false };
    let effort = OddsEffort { periods: PERIODS, seed: 1, starved_after: Duration::from_secs(60) };
    Some(estimate(&workload, &play, effort, &mut || true).expect("the protocol can be played"))
}
