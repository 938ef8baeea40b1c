//! Who a client is: by its token before its connection; connections that are shared, and pools, are seen and counted.

use std::fmt::Write;

use lockshift::audit::{Audit, Auditor, Certainty, ClientsBy, LockSummary};
use lockshift::monitor::Parser;
use lockshift::race_id::RaceId;
use lockshift::wire::script_file;

const ALICE: &str = "a11ce000a11ce000a11ce000a11ce000";
const BOB: &str = "b0b00000b0b00000b0b00000b0b00000";

/// Audits commands: the millisecond, the connection and the words.
fn audited(commands: &[(u64, &str, &[&str])], by: ClientsBy) -> Audit {
    let (mut auditor, mut parser) = (Auditor::new().with_clients_by(by), Parser::new());
    for (number, (at, connection, words)) in (1..).zip(commands) {
        let mut line = format!("{}.{:03}000 [0 {connection}]", 1_700_000_000 + at / 1000, at % 1000);
        words.iter().for_each(|word| write!(line, " \"{}\"", word.replace('"', "\\\"").replace('\n', "\\n")).unwrap());
        auditor.read(number, &parser.parse(line.as_bytes()).unwrap());
    }
    auditor.finish()
}

fn lock(audit: &Audit) -> &LockSummary {
    let [lock] = audit.locks.as_slice() else { panic!("one lock: {audit:#?}") };
    lock
}

fn races(audit: &Audit) -> Vec<(Option<RaceId>, Certainty)> {
    audit.findings.iter().map(|finding| (finding.verdict.race, finding.verdict.certainty)).collect()
}

fn release(token: &str) -> [&str; 5] {
    ["EVAL", script_file!("../../../modern/src/lua/release.lua").text(), "1", "lock", token]
}

#[test]
fn an_overrun_on_a_shared_connection_is_found_by_its_token() {
    let shared = "10.0.0.1:50";
    let commands: &[(u64, &str, &[&str])] = &[
        (0, shared, &["DEL", "lock"]),
        (1, shared, &["SET", "lock", ALICE, "NX", "PX", "1000"]),
        (1_500, shared, &["SET", "lock", BOB, "NX", "PX", "30000"]),
        (2_000, shared, &release(ALICE)),
        (2_000, "lua", &["GET", "lock"]),
        (2_500, shared, &release(BOB)),
        (2_500, "lua", &["GET", "lock"]),
        (2_500, "lua", &["DEL", "lock"]),
    ];
    let audit = audited(commands, ClientsBy::Token);
    assert_eq!(races(&audit), [(Some(RaceId::Overrun), Certainty::Possible)], "{audit:#?}");
    let lock = lock(&audit);
    let statistics = &lock.statistics;
    assert_eq!((statistics.acquisitions, statistics.releases, statistics.overruns), (2, 2, 1), "{lock:#?}");
    assert!(statistics.multiplexed > 0, "{lock:#?}");
    assert_eq!((lock.clients, lock.busiest.len(), statistics.pooled), (1, 1, 0), "{lock:#?}");
}

#[test]
fn a_pool_that_lends_a_connection_per_command_is_no_race() {
    let commands: &[(u64, &str, &[&str])] = &[
        (0, "10.0.0.1:1", &["DEL", "lock"]),
        (1, "10.0.0.1:2", &["SET", "lock", ALICE, "NX", "PX", "30000"]),
        (500, "10.0.0.1:3", &release(ALICE)),
        (500, "lua", &["GET", "lock"]),
        (500, "lua", &["DEL", "lock"]),
        (600, "10.0.0.1:4", &["SETNX", "lock", "1700000030"]),
        (700, "10.0.0.1:5", &["DEL", "lock"]),
    ];
    let audit = audited(commands, ClientsBy::Token);
    assert_eq!(races(&audit), [], "{audit:#?}");
    let statistics = &lock(&audit).statistics;
    assert_eq!((statistics.acquisitions, statistics.pooled, statistics.multiplexed), (2, 2, 0), "{audit:#?}");

    let audit = audited(commands, ClientsBy::Address);
    let lock = lock(&audit);
    assert_eq!((lock.clients, lock.statistics.pooled, lock.statistics.releases), (1, 0, 2), "{audit:#?}");
    assert_eq!(lock.busiest[0].client, "10.0.0.1");
}

#[test]
fn what_no_protocol_sends_is_counted() {
    let commands: &[(u64, &str, &[&str])] = &[
        (0, "10.0.0.1:1", &["SET", "lock", ALICE, "NX", "PX", "30000"]),
        (1, "10.0.0.2:1", &["SET", "lock", "on", "XX", "GET", "KEEPTTL"]),
    ];
    let audit = audited(commands, ClientsBy::Token);
    assert_eq!(lock(&audit).statistics.unrecognised, 1, "{audit:#?}");
}
