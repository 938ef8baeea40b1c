//! Long traces: what is kept of them does not grow with them, and what is not listed is counted.

use std::fmt::Write;

use lockshift::audit::SteppedBack;
use lockshift::race_id::RaceId;

use super::written::audit;

/// So many findings of one race on one key are listed: the first ones and the last.
const EXPECTED_FINDINGS: u64 = 9;

/// A PHP client takes a token client's lock for expired.
fn race(text: &mut String, secs: u64, key: &str) {
    let at = 1_700_000_000 + secs;
    let stamp = at + 10;
    let (token, php) = ("10.0.0.1:1", "10.0.0.2:1");
    let _ = write!(
        text,
        "{at}.000001 [0 {token}] \"SET\" \"{key}\" \"5ca1ab1e5ca1ab1e5ca1ab1e5ca1ab1e\" \"NX\" \"PX\" \"30000\"\n\
         {at}.000002 [0 {php}] \"SETNX\" \"{key}\" \"{stamp}\"\n\
         {at}.000003 [0 {php}] \"GET\" \"{key}\"\n\
         {at}.000004 [0 {php}] \"GETSET\" \"{key}\" \"{stamp}\"\n\
         {at}.000005 [0 {php}] \"EXPIRE\" \"{key}\" \"10\"\n"
    );
}

#[test]
fn a_frequent_race_is_reported_a_few_times_and_counted() {
    let mut text = String::new();
    (0..6_000).for_each(|round| race(&mut text, 100 * round, "lock"));
    let audit = audit(&text);
    let more: Vec<u64> = audit.findings.iter().map(|finding| finding.more).collect();
    assert!(audit.findings.iter().all(|finding| finding.verdict.race == Some(RaceId::TokenReadAsStamp)));
    assert_eq!(more, [vec![0; 8], vec![6_000 - EXPECTED_FINDINGS]].concat());
    let last = audit.findings.last().unwrap();
    assert_eq!(*last.verdict.lines.last().unwrap(), 6_000 * 5 - 1, "the last one is listed");
}

#[test]
fn races_on_more_keys_than_are_reported_are_counted() {
    let mut text = String::new();
    (0..9_000).for_each(|round| race(&mut text, round / 10, &format!("order:{round}")));
    let audit = audit(&text);
    let all: u64 = audit.findings.iter().map(|finding| 1 + finding.more).sum();
    assert_eq!(all, 9_000);
    assert!(audit.findings.len() < 5_000, "{} are listed", audit.findings.len());
}

#[test]
fn of_too_many_keys_the_busiest_are_reported() {
    let mut text = String::new();
    for round in 0..40_000_u64 {
        let (at, key) = (1_700_000_000 + round / 10, format!("order:{round}"));
        for key in [key.as_str(), "busy"] {
            let _ = writeln!(text, "{at}.{:06} [0 10.0.0.1:1] \"SETNX\" \"{key}\" \"{}\"", round % 10, at + 60);
            let _ = writeln!(text, "{at}.{:06} [0 10.0.0.1:1] \"DEL\" \"{key}\"", round % 10);
        }
    }
    let audit = audit(&text);
    assert_eq!((audit.locks[0].key.as_bytes(), audit.locks[0].statistics.acquisitions), (b"busy".as_slice(), 40_000));
    let shown: u64 = audit.locks.iter().map(|lock| lock.statistics.acquisitions).sum();
    let others = &audit.others;
    let acquisitions = shown + others.statistics.acquisitions;
    assert_eq!((acquisitions, audit.locks.len() as u64 + others.keys), (80_000, 40_001));
    assert!(audit.locks.len() < 20_000, "{} are listed", audit.locks.len());
}

#[test]
fn a_clock_that_is_set_back_is_reported_once() {
    let lines = ["05.5", "04.0", "06.0", "03.0", "03.0"];
    let text: String = lines.iter().map(|at| format!("17000000{at}00000 [0 10.0.0.1:1] \"PING\"\n")).collect();
    let step = SteppedBack { line: 2, by: std::time::Duration::from_millis(1500), times: 2 };
    assert_eq!(audit(&text).stepped_back, Some(step));
    assert_eq!(audit(&text[..text.len() / 5]).stepped_back, None);
}
