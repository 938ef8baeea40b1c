//! The rows as a whole.

use std::collections::BTreeSet;
use std::time::Duration;

use lockshift_legacy::catalogue::{catalogue, find};
use lockshift_legacy::{Family, KeyName, Lock, Number};
use lockshift_lock::{LateRelease, Lease, Locker};
use lockshift_wire::{Key, UnixTime};

#[test]
fn every_name_leads_to_one_row() {
    let mut seen = BTreeSet::new();
    for row in catalogue() {
        for name in [row.name].iter().chain(row.also) {
            assert!(seen.insert(*name), "{name} is the name of two rows");
            assert_eq!(find(name), Some(row), "{name} leads elsewhere");
            assert!(
                name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.".contains(&byte)),
                "{name}"
            );
        }
    }
    assert_eq!(find("no-such-lock"), None);
}

#[test]
fn no_two_rows_are_the_same_lock() {
    let rows: Vec<_> = catalogue().collect();
    for (index, row) in rows.iter().enumerate() {
        for other in &rows[..index] {
            let same = lockshift_legacy::Dialect {
                name: row.name,
                also: row.also,
                family: row.family,
                language: row.language,
                source: row.source,
                retry: row.retry,
                ..**other
            };
            assert_ne!(same, **row, "{} behaves as {} does", row.name, other.name);
        }
    }
}

#[test]
fn every_wire_dialect_has_a_row() {
    use Family::*;
    let spoken: BTreeSet<_> = catalogue().map(|row| row.family).collect();
    let all = [S1, S2, S3, F1, F2, F3, M1, M2, M3, M4, N1, B1, B2, X1, X2, J1, T1, W1, G1, A1, K2, E0, N0];
    assert_eq!(spoken, BTreeSet::from(all));
}

#[test]
fn every_lock_of_the_articles_has_its_name() {
    let articles = [
        "php-setnx",
        "php-del-takeover",
        "php-getset",
        "php7-getset",
        "java-setnx-expire",
        "java-getset",
        "java-lua",
        "java-token",
        "naive-exists-set",
        "naive-setnx",
        "naive-setnx-expire",
        "naive-set-ex-nx",
        "redis-distributed-lock",
    ];
    for name in articles {
        assert!(find(name).is_some(), "{name}");
    }
}

#[test]
fn a_row_describes_its_value_and_its_steps() {
    let encodings = [
        ("setnx-page", "decimal s, now + lease + 1s"),
        ("java-getset", "8 bytes big-endian ms, now + lease + 1s"),
        ("java-setnx-expire", "\"1\""),
        ("redis-objects-1.4.3", "\"\""),
        ("redis-lock-gem", "<stamp>-<pid>-<thread>: decimal s, now + lease + 1s"),
        ("jedis-lock-2015", "<uuid>:<stamp>: decimal ms, now + lease + 1ms"),
        ("php-json-expire", "{\"expire\":<stamp>,\"guid\":\"<uuid>\"}: decimal s, now + lease"),
        ("node-resque", "decimal s, nearest now + lease + 1s"),
        ("php-acquired-at", "decimal s, now"),
        ("mlanett-redis-lock", "<host>:<pid> in lock:owner:NAME, decimal s, now + lease in lock:expire:NAME"),
    ];
    for (name, encoding) in encodings {
        assert_eq!(find(name).expect(name).encoding(), encoding, "{name}");
    }
    assert_eq!(
        find("php-getset").expect("a row").options(),
        [
            "claim: SETNX",
            "look: PHP 8 <: expired if < now; unreadable raises; nil is expired; clock read after each reply",
            "takeover: GETSET, wins if the old is still expired, nil wins",
            "ttl: EXPIRE when claimed, EXPIRE when taken",
            "release: TTL, DEL unless it is 0",
            "clock: local",
            "retry: every 2s, for ever",
            "errors: false, as nil",
        ]
    );
}

#[test]
fn a_row_recognises_the_values_that_it_writes_and_when_they_expire() {
    let over = UnixTime::from_millis(1_700_000_011_500);
    let values = [
        ("redis-objects", "1700000011.5", true, over),
        ("redis-objects", "1700000011", false, None),
        ("jedis-lock", "1700000011500", true, over),
        ("servicestack", "1700000011500", true, over),
        ("servicestack", "\"1700000011500\"", true, over),
        ("servicestack", "\"1700000011500", false, None),
        ("servicestack-4.0.34", "\"1700000011500\"", false, None),
        ("mlanett-redis-lock", "web-3.example.org:4711", true, None),
        ("mlanett-redis-lock", "11111111-1111-4111-9111-111111111111", true, None),
        ("mlanett-redis-lock", "web 3:4711", false, None),
        ("mlanett-redis-lock", ":4711", false, None),
        ("mlanett-redis-lock", "web-3:", false, None),
        ("naive-check-del", "11111111-1111-4111-9111-111111111111", true, None),
        ("naive-check-del", "11111111-1111-4111-9111-11111111111g", false, None),
        ("naive-check-del", "11111111-1111-4111-91111-11111111111", false, None),
        ("jedis-lock-2015", "11111111-1111-4111-9111-111111111111:1700000011500", true, over),
        ("jedis-lock-2015", "1700000011500", false, None),
        ("gorlock", "1700000011500000000", true, over),
        ("stackexchange-ticks", "638355968115000000", true, over),
        ("newlife-2017", "2023-11-14 22:13:31.500", true, over),
        ("redis-lock-gem-0.1", "1700000011-77", true, UnixTime::from_secs(1_700_000_011)),
        ("redis-lock-gem-0.1", "1700000011-77-3", false, None),
        ("java-token", "11111111-1111-4111-9111-111111111111.1700000011500", true, None),
        ("java-setnx-expire", "1", true, None),
        ("java-setnx-expire", "2", false, None),
        ("redis-objects-1.4.3", "", true, None),
    ];
    for (name, value, matches, over_at) in values {
        let row = find(name).expect(name);
        assert_eq!(row.form.matches(value.as_bytes()), matches, "{name}: {value}");
        assert_eq!(row.expires_at(value.as_bytes()), over_at, "{name}: {value}");
    }
}

#[test]
fn a_new_stamp_leaves_the_owner_and_the_quotes_in_place() {
    let stamped = [
        ("servicestack", "1700000011500", Some("7")),
        ("servicestack", "\"1700000011500\"", Some("\"7\"")),
        ("jedis-lock", "\"1700000011500\"", None),
        ("redis-lock-gem", "1700000011-77-3", Some("7-77-3")),
        ("redis-lock-gem", "1700000011--3", None),
        ("redis-lock-gem", "1700000011-77-", None),
    ];
    for (name, value, expected) in stamped {
        let form = find(name).expect(name).form;
        let written = form.restamp(value.as_bytes(), Number::Int(7));
        assert_eq!(written.as_deref(), expected.map(str::as_bytes), "{name}: {value}");
    }
}

#[test]
fn a_program_uses_the_keys_that_begin_and_end_as_its_own_do() {
    let around = KeyName::around("L:{", "}");
    for (key, fits) in [("L:{a}", true), ("L:{}", true), ("L:{a", false), ("a}", false), ("L:{a}b", false), ("", false)]
    {
        assert_eq!(around.fits(key.as_bytes()), fits, "{key}");
    }
    let overlapping = KeyName::around("lock:", ":lock");
    assert!(overlapping.fits(b"lock::lock") && !overlapping.fits(b"lock:lock") && !overlapping.fits(b"lock:"));
    assert!(KeyName::PLAIN.fits(b""));
}

#[test]
fn the_sleeps_of_the_originals() {
    let ms = Duration::from_millis;
    let sleeps = [
        ("php-getset", 1, (ms(2_000), ms(2_000))),
        ("kdyby-redis", 1, (Duration::from_micros(7_500), Duration::from_micros(7_500))),
        ("kdyby-redis", 3, (Duration::from_micros(12_500), Duration::from_micros(12_500))),
        ("servicestack", 5, (ms(25), ms(36))),
        ("resque-concurrent-restriction", 9, (ms(0), ms(100))),
        ("faye-redis", 1, (ms(0), ms(0))),
    ];
    for (name, tries, bounds) in sleeps {
        assert_eq!(find(name).expect(name).retry.pause.bounds(tries), bounds, "{name} after {tries} tries");
    }
}

#[test]
fn leases_are_rounded_up_to_what_the_callers_of_a_dialect_can_say() {
    let leases = [
        ("php-getset", 1_500, 2_000),
        ("jedis-lock", 1_500, 1_500),
        ("redis-py-2.8", 1_500, 1_500),
        ("java-lua", 1, 1_000),
    ];
    for (name, given_ms, taken_ms) in leases {
        let given = Lease::new(Duration::from_millis(given_ms)).expect("a lease");
        let lock = Lock::new(find(name).expect(name), Key::from("k"), given);
        assert_eq!(lock.lease().length().as_millis(), taken_ms, "{name}");
    }
}

/// Those that no client takes over and no TTL ends.
const LASTING: [&str; 5] =
    ["php-setnx", "naive-exists-set", "naive-setnx", "redis-objects-without-expiration", "resque-lock-1.0"];

/// The rows of which this holds, by name.
fn rows_that(holds: impl Fn(&Lock) -> bool) -> Vec<&'static str> {
    let lease = Lease::new(Duration::from_secs(10)).expect("a lease");
    let lock = |row| Lock::new(row, Key::from("k"), lease);
    catalogue().filter(|row| holds(&lock(row))).map(|row| row.name).collect()
}

#[test]
fn a_lock_that_no_client_takes_over_and_no_ttl_ends_outlives_its_lease() {
    assert_eq!(rows_that(|lock| !lock.expires()), LASTING);
}

#[test]
fn clients_that_watch_a_key_need_a_connection_of_their_own() {
    let watching = [
        "mlanett-redis-lock",
        "redis-py-2.10",
        "redisco-transaction",
        "servicestack",
        "servicestack-distributed-lock",
        "redigolock",
    ];
    assert_eq!(rows_that(Locker::needs_own_connection), watching);
    assert_eq!(rows_that(|lock| lock.dialect().needs_own_connection()), watching);
}

/// The lock lasts until it is released, or the release compares in one step with a value that names the hold, or does
/// nothing.
#[test]
fn few_old_releases_are_harmless_after_the_lock_is_lost() {
    let comparing = ["java-token", "redis-distributed-lock", "redis-py-2.10-lua", "retools-0.4"];
    let mut harmless = [&LASTING[..], &comparing, &["l2met"]].concat();
    harmless.sort_unstable();
    let mut found = rows_that(|lock| lock.late_release() == LateRelease::Harmless);
    found.sort_unstable();
    assert_eq!(found, harmless);
    assert_eq!(rows_that(Locker::release_is_repeatable), comparing, "not one that deletes without comparing");
}
