//! Who a client is: by its token before its connection; connections that are shared, and pools, are seen and counted.

use std::fmt::Write;

use lockshift::audit::{Audit, Auditor, Certainty, ClientsBy, Evidence, LockSummary};
use lockshift::monitor::Parser;
use lockshift::race_id::RaceId;
use lockshift::wire::script_file;

use super::written::{audit, races};

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

/// One of 1,800 random tokens of eight bytes in hexadecimal has digits only, and one of 3.4 million of sixteen bytes.
#[test]
fn a_token_that_has_digits_only_is_a_token() {
    for token in ["6098124437150926", "60981244371509265517843309127754", "00000000000000000000000000000042"] {
        let commands: &[(u64, &str, &[&str])] = &[
            (0, "10.0.0.1:1", &["DEL", "lock"]),
            (1, "10.0.0.1:1", &["SET", "lock", token, "NX", "PX", "30000"]),
            (2, "10.0.0.1:2", &["SET", "lock", BOB, "NX", "PX", "30000"]),
            (3, "10.0.0.1:1", &release(token)),
            (3, "lua", &["GET", "lock"]),
            (3, "lua", &["DEL", "lock"]),
        ];
        let audit = audited(commands, ClientsBy::Token);
        let lock = lock(&audit);
        let statistics = &lock.statistics;
        let counted = [statistics.acquisitions, statistics.refusals, statistics.releases, statistics.unrecognised];
        assert_eq!(counted, [1, 1, 1, 0], "{token}: {lock:#?}");
        assert_eq!(lock.dialects, ["token"], "{token}");
    }
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

/// What each finding shows, in a word, and how sure it is.
fn shown(audit: &Audit) -> Vec<(&'static str, Certainty)> {
    let word = |evidence: &Evidence| match evidence {
        Evidence::DeletedFromOutside { .. } => "deleted from outside",
        Evidence::Vanished { .. } => "vanished",
        Evidence::Overrun { .. } => "overrun",
        Evidence::DoubleHold { .. } => "double hold",
        _ => "other",
    };
    audit.findings.iter().map(|finding| (word(&finding.verdict.evidence), finding.verdict.certainty)).collect()
}

const A: &str = "10.0.0.1:50";
const B: &str = "10.0.0.2:50";
const OPERATOR: &str = "10.0.0.9:50";

/// A client acquires with its token and releases; the key is known from then on.
const ROUND: [(u64, &str, &[&str]); 4] = [
    (0, A, &["SET", "lock", "0123456789abcdef0123456789abcdef", "NX", "PX", "30000"]),
    (
        1,
        A,
        &[
            "EVAL",
            script_file!("../../../modern/src/lua/release.lua").text(),
            "1",
            "lock",
            "0123456789abcdef0123456789abcdef",
        ],
    ),
    (1, "lua", &["GET", "lock"]),
    (1, "lua", &["DEL", "lock"]),
];

#[test]
fn a_del_of_an_operator_is_no_release() {
    let release = release(ALICE);
    let commands = [
        ROUND.to_vec(),
        vec![
            (10, A, &["SET", "lock", ALICE, "NX", "PX", "30000"]),
            (20, OPERATOR, &["DEL", "lock"]),
            (30, B, &["SET", "lock", BOB, "NX", "PX", "30000"]),
            (40, A, &release),
            (40, "lua", &["GET", "lock"]),
        ],
    ]
    .concat();
    let audit = audited(&commands, ClientsBy::Token);
    assert_eq!(shown(&audit), [("deleted from outside", Certainty::Possible)], "{audit:#?}");
}

#[test]
fn an_evicted_lock_is_seen_when_its_next_holder_releases() {
    let release = release(BOB);
    let commands = [
        ROUND.to_vec(),
        vec![
            (10, A, &["SET", "lock", ALICE, "NX", "PX", "30000"]),
            (30, B, &["SET", "lock", BOB, "NX", "PX", "30000"]),
            (40, B, &release),
            (40, "lua", &["GET", "lock"]),
            (40, "lua", &["DEL", "lock"]),
        ],
    ]
    .concat();
    let audit = audited(&commands, ClientsBy::Token);
    assert_eq!(shown(&audit), [("vanished", Certainty::Possible)], "{audit:#?}");
    assert_eq!((lock(&audit).statistics.acquisitions, lock(&audit).statistics.refusals), (3, 0), "{audit:#?}");
}

#[test]
fn commands_that_delete_a_lock_along_with_other_keys_are_understood() {
    for command in [&["FLUSHALL"][..], &["FLUSHDB", "ASYNC"], &["SWAPDB", "1", "0"], &["RENAME", "lock", "other"]] {
        let commands = [
            ROUND.to_vec(),
            vec![
                (10, A, &["SET", "lock", ALICE, "NX", "PX", "30000"]),
                (20, OPERATOR, command),
                (30, B, &["SET", "lock", BOB, "NX", "PX", "30000"]),
            ],
        ]
        .concat();
        let audit = audited(&commands, ClientsBy::Token);
        assert_eq!(shown(&audit), [("deleted from outside", Certainty::Certain)], "{command:?}: {audit:#?}");
        assert_eq!(lock(&audit).statistics.acquisitions, 3, "{command:?}: {audit:#?}");
    }
    let elsewhere = [
        ROUND.to_vec(),
        vec![(10, A, &["SET", "lock", ALICE, "NX", "PX", "30000"]), (20, OPERATOR, &["SWAPDB", "1", "2"])],
    ];
    assert_eq!(shown(&audited(&elsewhere.concat(), ClientsBy::Token)), []);
}

#[test]
fn a_key_that_is_renamed_to_a_lock_occupies_it() {
    let commands: &[(u64, &str, &[&str])] = &[
        (0, A, &["SETNX", "one", "1700000030"]),
        (1, B, &["SETNX", "two", "1700000030"]),
        (2, B, &["DEL", "two"]),
        (3, OPERATOR, &["RENAME", "one", "two"]),
        (4, B, &["SETNX", "two", "1700000030"]),
        (5, B, &["GET", "two"]),
    ];
    let audit = audited(commands, ClientsBy::Token);
    let two = audit.locks.iter().find(|lock| lock.key.as_bytes() == b"two").unwrap();
    assert_eq!((two.statistics.acquisitions, two.statistics.refusals), (1, 1), "{audit:#?}");
}

#[test]
fn set_nx_get_and_functions_acquire_and_release() {
    let commands: &[(u64, &str, &[&str])] = &[
        (0, A, &["SET", "lock", ALICE, "NX", "GET", "PX", "30000"]),
        (1, B, &["SET", "lock", BOB, "NX", "GET", "PX", "30000"]),
        (2, A, &release(ALICE)),
        (2, "lua", &["GET", "lock"]),
        (2, "lua", &["DEL", "lock"]),
        (3, B, &["FCALL", "acquire", "1", "lock", BOB]),
        (3, "lua", &["SET", "lock", BOB, "NX", "PX", "30000"]),
    ];
    let audit = audited(commands, ClientsBy::Token);
    let statistics = &lock(&audit).statistics;
    assert_eq!(
        (statistics.acquisitions, statistics.refusals, statistics.releases, statistics.unrecognised),
        (2, 1, 1, 0),
        "{audit:#?}"
    );
}

#[test]
fn overruns_of_stamps_on_a_shared_connection_are_possible() {
    let shared = "10.0.0.1:50";
    let mut lines: Vec<(u64, [String; 3])> = Vec::new();
    let mut say = |at: u64, words: [&str; 3]| lines.push((at, words.map(str::to_owned)));
    say(0, ["SETNX", "lock", "1700000001"]);
    for round in 1..=7_u64 {
        let at = 1_100 + (round - 1) * 2_200;
        let stamp = |ms: u64| (1_700_000_000 + ms.div_ceil(1_000)).to_string();
        let now = stamp(at + 1_000);
        // Another client finds the lock expired and takes it over; the late holder then releases, and it, too.
        say(at, ["SETNX", "lock", &now]);
        say(at + 1, ["GET", "lock", ""]);
        say(at + 2, ["GETSET", "lock", &now]);
        say(at + 300, ["DEL", "lock", ""]);
        say(at + 400, ["DEL", "lock", ""]);
        say(at + 500, ["SETNX", "lock", &stamp(at + 550)]);
    }
    let words: Vec<Vec<&str>> = lines
        .iter()
        .map(|(_, words)| words.iter().map(String::as_str).filter(|word| !word.is_empty()).collect())
        .collect();
    let commands: Vec<(u64, &str, &[&str])> =
        lines.iter().zip(&words).map(|((at, _), words)| (*at, shared, words.as_slice())).collect();
    let audit = audited(&commands, ClientsBy::Token);
    assert_eq!(shown(&audit), [("overrun", Certainty::Possible); 7], "{audit:#?}");
    assert!(lock(&audit).statistics.guessed > 0, "{audit:#?}");
}

#[test]
fn stamps_over_a_connection_per_command_are_no_certain_race() {
    let commands: &[(u64, &str, &[&str])] = &[
        (0, "10.0.0.1:1", &["DEL", "lock"]),
        (1, "10.0.0.1:1", &["SETNX", "lock", "1700000002"]),
        (100, "10.0.0.1:2", &["SETNX", "lock", "1700000003"]),
        (101, "10.0.0.1:3", &["GET", "lock"]),
        (500, "10.0.0.1:2", &["DEL", "lock"]),
        (600, "10.0.0.1:3", &["SETNX", "lock", "1700000003"]),
        (700, "10.0.0.1:1", &["SETNX", "lock", "1700000003"]),
        (701, "10.0.0.1:2", &["GET", "lock"]),
        (900, "10.0.0.1:1", &["DEL", "lock"]),
        (1_000, "10.0.0.1:2", &["SETNX", "lock", "1700000004"]),
        (1_100, "10.0.0.1:3", &["DEL", "lock"]),
    ];
    let audit = audited(commands, ClientsBy::Token);
    assert!(shown(&audit).iter().all(|(_, certainty)| *certainty == Certainty::Possible), "{audit:#?}");
    assert_eq!(lock(&audit).statistics.acquisitions, 3, "{audit:#?}");
    assert!(lock(&audit).statistics.guessed > 0, "{audit:#?}");
}

#[test]
fn a_client_that_reconnects_before_its_del_is_followed() {
    let commands: &[(u64, &str, &[&str])] = &[
        (0, "10.0.0.1:1", &["DEL", "lock"]),
        (1, "10.0.0.1:1", &["SETNX", "lock", "1700000001"]),
        (2_500, "10.0.0.1:2", &["DEL", "lock"]),
    ];
    let audit = audited(commands, ClientsBy::Token);
    assert_eq!(shown(&audit), [("overrun", Certainty::Possible)], "{audit:#?}");
    assert_eq!(lock(&audit).statistics.releases, 1, "{audit:#?}");
}

#[test]
fn the_owner_of_a_hash_lock_tells_clients_of_one_connection_apart() {
    let shared = "10.0.0.1:50";
    let acquire = script_file!("../../../modern/src/lua/redisson/acquire.lua").text();
    let first = "0badc0de-0bad-c0de-0bad-c0de0badc0de:1";
    let second = "0badc0de-0bad-c0de-0bad-c0de0badc0de:2";
    let commands: &[(u64, &str, &[&str])] = &[
        (0, shared, &["DEL", "lock"]),
        (1, shared, &["EVAL", acquire, "1", "lock", "1000", first]),
        (1, "lua", &["EXISTS", "lock"]),
        (1, "lua", &["HINCRBY", "lock", first, "1"]),
        (1, "lua", &["PEXPIRE", "lock", "1000"]),
        (1_500, shared, &["EVAL", acquire, "1", "lock", "30000", second]),
        (1_500, "lua", &["EXISTS", "lock"]),
        (1_500, "lua", &["HINCRBY", "lock", second, "1"]),
        (1_500, "lua", &["PEXPIRE", "lock", "30000"]),
        (1_600, shared, &["EVAL", acquire, "1", "lock", "30000", first]),
        (1_600, "lua", &["EXISTS", "lock"]),
        (1_600, "lua", &["HEXISTS", "lock", first]),
        (1_600, "lua", &["PTTL", "lock"]),
    ];
    let audit = audited(commands, ClientsBy::Token);
    let statistics = &lock(&audit).statistics;
    assert_eq!((statistics.acquisitions, statistics.refusals, statistics.guessed), (2, 1, 0), "{audit:#?}");
    assert!(statistics.multiplexed > 0, "{audit:#?}");
}

/// A process id beside a stamp says which process wrote it, but the DEL that releases it names none.
#[test]
fn a_process_id_in_a_value_leaves_the_client_a_guess() {
    let (one, other) = ("1700000030:4711", "1700000030:4712");
    let on_connections = |[first, second, third]: [&str; 3]| {
        let commands: &[(u64, &str, &[&str])] = &[
            (0, first, &["DEL", "lock"]),
            (1, first, &["SETNX", "lock", one]),
            (100, second, &["SETNX", "lock", other]),
            (101, second, &["GET", "lock"]),
            (500, third, &["DEL", "lock"]),
        ];
        let audit = audited(commands, ClientsBy::Token);
        assert_eq!(shown(&audit), [], "{audit:#?}");
        let statistics = &lock(&audit).statistics;
        assert_eq!((statistics.acquisitions, statistics.releases), (1, 1), "{audit:#?}");
        [statistics.multiplexed, statistics.pooled, statistics.guessed].map(|count| count > 0)
    };
    assert_eq!(on_connections([A, B, A]), [false, false, false]);
    assert_eq!(on_connections([A, A, A]), [true, false, true]);
    assert_eq!(on_connections([A, B, OPERATOR]), [false, true, true]);
}

/// A program that sends SETNX with EXPIRE, and its release, as scripts of its own.
#[test]
fn a_release_by_an_unknown_script_is_no_sign_of_a_shared_connection() {
    let acquire = ["EVALSHA", "0123456789abcdef0123456789abcdef01234567", "1", "lock"];
    let release = ["EVALSHA", "89abcdef0123456789abcdef0123456789abcdef", "1", "lock"];
    let with = |words: [&'static str; 4], more: &[&'static str]| [words.as_slice(), more].concat();
    let (alice, bob) = (with(acquire, &[ALICE, "60"]), with(acquire, &[BOB, "60"]));
    let (alice_releases, bob_releases) = (with(release, &[ALICE]), with(release, &[BOB]));
    let commands: &[(u64, &str, &[&str])] = &[
        (0, A, &alice),
        (0, "lua", &["SETNX", "lock", ALICE]),
        (0, "lua", &["EXPIRE", "lock", "60"]),
        (10, B, &bob),
        (10, "lua", &["SETNX", "lock", BOB]),
        (50, A, &alice_releases),
        (50, "lua", &["GET", "lock"]),
        (50, "lua", &["DEL", "lock"]),
        (60, B, &bob),
        (60, "lua", &["SETNX", "lock", BOB]),
        (60, "lua", &["EXPIRE", "lock", "60"]),
        (90, B, &bob_releases),
        (90, "lua", &["GET", "lock"]),
        (90, "lua", &["DEL", "lock"]),
    ];
    let audit = audited(commands, ClientsBy::Token);
    assert_eq!(shown(&audit), [], "{audit:#?}");
    let statistics = &lock(&audit).statistics;
    assert_eq!((statistics.acquisitions, statistics.refusals, statistics.releases), (2, 1, 2), "{audit:#?}");
    assert_eq!((statistics.multiplexed, statistics.pooled, statistics.guessed), (0, 0, 0), "{audit:#?}");
}

/// Some release by DEL what they have acquired with a token.
#[test]
fn a_holder_that_deletes_its_lock_without_comparing_shares_no_connection() {
    let cycle = |from: &str, second: u32, token: char| {
        let token = token.to_string().repeat(32);
        format!(
            "17000000{second:02}.000000 [0 {from}] \"SET\" \"lock\" \"{token}\" \"NX\" \"PX\" \"3000\"\n\
             17000000{second:02}.500000 [0 {from}] \"DEL\" \"lock\"\n"
        )
    };
    let found =
        audit(&[cycle("10.0.0.1:1", 10, 'a'), cycle("10.0.0.1:1", 11, 'b'), cycle("10.0.0.2:1", 12, 'c')].concat());
    let statistics = &found.locks[0].statistics;
    assert_eq!((statistics.acquisitions, statistics.multiplexed, statistics.pooled), (3, 0, 0), "{statistics:#?}");
    assert!(found.findings.is_empty(), "{:?}", found.findings);
}

/// A mark that is set once, as it seems: no protocol of the catalogue writes such a value.
#[test]
fn an_attempt_that_no_known_protocol_sends_is_counted_though_nothing_else_happens() {
    let found = audit("1700000000.000000 [0 10.0.0.1:1] \"SET\" \"lock\" \"worker 7\" \"NX\"\n");
    let counts = |lock: &LockSummary| (lock.statistics.acquisitions, lock.statistics.unrecognised);
    assert_eq!(found.locks.iter().map(counts).collect::<Vec<_>>(), [(0, 1)]);
}
