//! Several locks at once: what is found of each is what is found of it alone, whichever others are in the same trace.

use lockshift::audit::{Audit, Finding};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use super::fleet::{Fleet, wishes};
use super::written::audit;

/// Where each of the fleets has its lock, and which network it is in: two databases with a key of the same name.
const PLACES: [(u32, &str, &str); 3] = [(0, "lock", "10.0.0"), (0, "stock", "10.0.1"), (7, "lock", "10.0.2")];

const FLEETS: [[&str; 3]; 3] =
    [["php-getset", "jedis-lock", "token"], ["redis-py-2.8", "servicestack", "java-token"], ["php-getset"; 3]];

/// The lines of a trace, elsewhere: each so much later that in one second the fleets come one after the other.
fn moved(text: &str, place: usize) -> Vec<String> {
    let (database, key, network) = PLACES[place];
    let lines = text.lines().map(|line| {
        let (second, rest) = line.split_once('.').unwrap();
        let (micros, rest) = rest.split_once(" [0 ").unwrap();
        let micros = micros.parse::<usize>().unwrap() + place * 100_000;
        let rest = rest.replace("\"lock\"", &format!("\"{key}\"")).replace("10.0.0", network);
        format!("{second}.{micros:06} [{database} {rest}\n")
    });
    // All of them are watched for the same time.
    lines.chain([format!("1700000100.{place}00000 [{database} {network}.97:1] \"PING\"\n")]).collect()
}

fn is_of(finding: &Finding, place: usize) -> bool {
    (finding.database, finding.key.as_bytes()) == (PLACES[place].0, PLACES[place].1.as_bytes())
}

/// What an audit says of the lock at this place.
fn shown(audit: &Audit, place: usize) -> String {
    let (database, key, _) = PLACES[place];
    let found = audit.findings.iter().filter(|finding| is_of(finding, place));
    let found: Vec<_> =
        found.map(|it| (it.verdict.race, it.verdict.at, it.verdict.certainty, &it.verdict.clients)).collect();
    let lock = audit.locks.iter().find(|lock| lock.database == database && lock.key.as_bytes() == key.as_bytes());
    let counted = lock.map(|lock| (&lock.statistics, &lock.dialects));
    format!("{counted:?}\n{found:?}")
}

#[test]
fn each_is_judged_as_if_it_were_alone() {
    let fleets = FLEETS.map(|protocols| Fleet { protocols: protocols.to_vec(), ..Fleet::of(protocols[0]) });
    let config = Config { cases: 60, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let outcome = runner.run(&[wishes(), wishes(), wishes()], |wishes| {
        let alone: Vec<Vec<String>> = (0..3).map(|place| moved(&fleets[place].play(&wishes[place]).0, place)).collect();
        let mut together = alone.concat();
        together.sort();
        let together = audit(&together.concat());
        for (place, lines) in alone.iter().enumerate() {
            prop_assert_eq!(shown(&audit(&lines.concat()), place), shown(&together, place));
        }
        Ok(())
    });
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
}
