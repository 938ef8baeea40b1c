//! Tokens are random, so some look like something else: like a number, like a moment, like a stamp that a bridge has marked.
//! What the audit finds at a lock does not depend on that.

use std::collections::BTreeMap;
use std::time::Duration;

use lockshift::audit::{Audit, LockSummary};
use lockshift::lock::{Acquired, Extended, Hold, Lease, Locker, Owner, Token};
use lockshift::protocols::Choice;
use lockshift::race_id::RaceId;
use lockshift::sim::{Flavour, Server};
use lockshift::wire::{Key, Transcript, Turn, UnixTime};

use super::real::{self, Spoken};
use super::written::{Listing, Run, audit};

const BEGIN: UnixTime = UnixTime::from_nanos(1_700_000_000_123_000_000);
const LEASE_SECS: u64 = 30;

/// As most tokens look.
const PLAIN: &str = "c87d2e3b44cb27405a73d9592082c74c";

/// As some do.
const ODD: &[&str] = &[
    // Digits only.
    "60981244371509265517843309127754",
    "00000000000000000000000000000042",
    "99999999999999999999999999999999",
    // A number with an exponent, infinite, and small.
    "60981244e71509265517843309127754",
    "6e000000000000000000000000000001",
    "0e981244371509265517843309127754",
    "1e9a1244371509265517843309127754",
    "1e3ffffffffffffffffffffffffffff0",
    // A moment at its beginning: past, the present one, to come, and as a bridge marks it.
    "1600000000b715092655178433091277",
    "1700000000b715092655178433091277",
    "1700000030b715092655178433091277",
    "1800000000b715092655178433091277",
    "1700000030123b715092655178433091",
    "01700000030b71509265517843309127",
    "01700000030123b71509265517843309",
    // Letters only.
    "abcdefabcdefabcdefabcdefabcdefab",
    "fedcbafedcbafedcbafedcbafedcbafe",
];

/// A token with these digits, and one that differs in its last ones.
fn tokens(digits: &str) -> [Token; 2] {
    let other = format!("{}37", &digits[..30]);
    [digits, &other].map(|digits| Token::of_hex(digits.as_bytes()).expect("32 hex digits"))
}

/// Two clients on a lock, one after the other.
struct Play<'a> {
    text: &'a mut Listing,
    server: &'a mut Server,
    clients: [String; 2],
    at_ns: i64,
}

impl Play<'_> {
    /// One acquires, the other one tries, the first extends and releases, the other one acquires and releases. Each of them
    /// does so twice, because a client of which more was seen is known better.
    fn play(&mut self, locker: &dyn Locker, tokens: [Token; 2]) {
        let owners = tokens.map(|token| Owner::new(token, 60_981, 7));
        for _ in 0..2 {
            let Some(first) = self.tries(0, locker, &owners[0]) else { return };
            let shared = self.tries(1, locker, &owners[1]);
            shared.into_iter().for_each(|hold| self.releases(1, locker, &hold));
            let first = match self.run(0, |redis| locker.extend(&first, redis)) {
                Extended::Until(hold) | Extended::Intruded(hold) => hold,
                Extended::Lost | Extended::Unsupported => first,
            };
            self.releases(0, locker, &first);
            let next = self.tries(1, locker, &owners[1]);
            next.into_iter().for_each(|hold| self.releases(1, locker, &hold));
        }
    }

    fn tries(&mut self, client: usize, locker: &dyn Locker, owner: &Owner) -> Option<Hold> {
        match self.run(client, |redis| locker.acquire(owner, redis)) {
            Acquired::Won(hold) => Some(hold),
            Acquired::Held(_) => None,
        }
    }

    fn releases(&mut self, client: usize, locker: &dyn Locker, hold: &Hold) {
        self.run(client, |redis| locker.release(hold, redis));
    }

    fn run<T>(&mut self, client: usize, operation: impl Fn(&mut Transcript) -> Turn<T>) -> T {
        self.at_ns += 10_000_000;
        let client = self.clients[client].clone();
        Run { text: self.text, server: self.server, at_ns: self.at_ns, client }.operation(&operation)
    }
}

/// What the audit finds at each lock: acquisitions, refusals, releases, unrecognised commands, the names of protocols, races.
type Report = BTreeMap<String, ([u64; 4], Vec<String>, Vec<Option<RaceId>>)>;

fn report(audit: &Audit) -> Report {
    let of_lock = |lock: &LockSummary| {
        let it = &lock.statistics;
        let races = audit.findings.iter().filter(|found| found.key == lock.key).map(|found| found.verdict.race);
        let counted = [it.acquisitions, it.refusals, it.releases, it.unrecognised];
        (lock.key.to_string(), (counted, lock.dialects.clone(), races.collect()))
    };
    audit.locks.iter().map(of_lock).collect()
}

/// What it finds where each of these is spoken with such tokens.
fn report_of(spoken: &[Spoken], digits: &str) -> Report {
    let (mut text, mut server) = (Listing::default(), Server::new(Flavour::Redis70));
    let lease = Lease::new(Duration::from_secs(LEASE_SECS)).expect("neither too short nor too long");
    for (place, Spoken { written, .. }) in spoken.iter().enumerate() {
        let choice: Choice = written.parse().expect("the catalogue has it");
        // MONITOR lists one server.
        if choice.spans_servers() {
            continue;
        }
        let clients = [1, 2].map(|client| format!("10.{client}.{}.{}:1", place >> 8, place & 255));
        let mut play = Play { text: &mut text, server: &mut server, clients, at_ns: BEGIN.as_nanos() };
        play.play(&*choice.locker(Key::from(written.as_str()), lease), tokens(digits));
    }
    report(&audit(&text.text()))
}

#[test]
fn it_makes_no_difference_what_a_token_looks_like() {
    // Newer servers run the same protocols with commands of their own, which compare the same tokens.
    let spoken: Vec<_> = real::every().into_iter().filter(|spoken| spoken.needs.is_none()).collect();
    let plain = report_of(&spoken, PLAIN);
    assert!(plain.len() > 100, "{}", plain.len());
    let mut differences = Vec::new();
    for digits in ODD {
        let odd = report_of(&spoken, digits);
        let keys = plain.keys().chain(odd.keys().filter(|key| !plain.contains_key(*key)));
        for key in keys.filter(|key| plain.get(*key) != odd.get(*key)) {
            differences.push(format!("{key} with {digits}: {:?}, not {:?}", odd.get(key), plain.get(key)));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// `owned()` of redis-py is a GET, by which other protocols begin an attempt.
#[test]
fn a_holder_that_looks_does_not_wait() {
    let found = audit(
        r#"1700000000.000000 [0 10.0.0.1:1] "SET" "lock" "abc32ceeeb6911f198cc02fc00000001" "NX" "PX" "30000"
1700000005.000000 [0 10.0.0.1:1] "GET" "lock"
1700000010.000000 [0 10.0.0.1:1] "EVALSHA" "c3f8721cbb97f72bc19e972846bd7aaf91901658" "1" "lock" "abc32ceeeb6911f198cc02fc00000001"
1700000010.000010 [0 lua] "get" "lock"
1700000010.000020 [0 lua] "del" "lock"
1700000020.000000 [0 10.0.0.1:1] "SET" "lock" "abc32ceeeb6911f198cc02fc00000002" "NX" "PX" "30000"
1700000021.000000 [0 10.0.0.1:1] "GET" "lock"
1700000022.000000 [0 10.0.0.1:1] "EVALSHA" "c3f8721cbb97f72bc19e972846bd7aaf91901658" "1" "lock" "abc32ceeeb6911f198cc02fc00000002"
1700000022.000010 [0 lua] "get" "lock"
1700000022.000020 [0 lua] "del" "lock"
1700000099.000000 [0 10.0.0.2:1] "GET" "other"
"#,
    );
    let statistics = &found.locks[0].statistics;
    let counts = (statistics.acquisitions, statistics.releases, statistics.refusals, statistics.unserved);
    assert_eq!(counts, (2, 2, 0, 0), "{statistics:#?}");
    assert!(statistics.waited.quantile(1.0).unwrap() < Duration::from_millis(1), "{statistics:#?}");
}
