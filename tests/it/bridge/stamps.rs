//! The stamps that bridges write, and how others know them.

use lockshift::inspect::{Finding, Sight};
use lockshift::lock::{Acquired, Locker};
use lockshift::rehearsal::Rehearsal;
use lockshift::sim::{Session, Value};
use lockshift::wire::{Key, Ttl, UnixTime};

use super::{ME, bridge, now};

#[test]
fn the_stamp_of_a_moment_is_what_is_written_then() {
    for (names, stamp) in [
        ("php-getset", &b"01800000010"[..]),
        ("setnx-page", b"01800000011"),
        ("jedis-lock", b"01800000010001"),
        ("predis-lock", b"01800000011:77"),
    ] {
        let bridge = bridge(names, 10).expect("it can be bridged");
        assert_eq!(bridge.stamp(&ME, now()), stamp, "{names}");
        let mut server = Rehearsal::at(now());
        let acquired = server.run(Session(1), |redis| bridge.acquire(&ME, redis));
        assert!(matches!(acquired, Some(Acquired::Won(_))), "{acquired:?}");
        let written = server.server().peek(&Key::from("k"), now()).expect("the old key is held");
        assert_eq!(written.value, Value::Text(stamp.to_vec()), "{names}");
    }
}

#[test]
fn a_marked_stamp_is_known_as_a_bridges() {
    for (names, ends_ms) in [
        ("php-getset", 10_000),
        ("setnx-page", 11_000),
        ("jedis-lock", 10_001),
        ("predis-lock", 11_000),
        ("redis-lock-gem", 11_000),
        ("redis-lock-gem-0.1", 11_000),
        ("ohm-lock", 10_000),
        ("servicestack-distributed-lock", 11_000),
    ] {
        let value = bridge(names, 10).expect("it can be bridged").stamp(&ME, now());
        let sight = Sight {
            key: Key::from("k"),
            at: now(),
            server_at: None,
            kind: "string".to_owned(),
            value: Some(value),
            fields: Vec::new(),
            is_too_large: false,
            ttl: Ttl::NO_EXPIRY,
        };
        let finding = Finding::of(sight);
        let writers: Vec<&str> = finding.writers.iter().map(|writer| writer.name()).collect();
        assert_eq!(writers, ["bridge:php-getset"], "{names}");
        assert_eq!(finding.expires_at, UnixTime::from_millis(1_800_000_000_000 + ends_ms), "{names}");
    }
}

/// Beside clients that read no mark a bridge writes two centuries more, and moments end with the year 2262.
#[test]
fn a_stamp_beyond_every_lease_is_known_whatever_its_lease_and_eight_letters_are_none() {
    let finding = |value: Vec<u8>| {
        Finding::of(Sight {
            key: Key::from("k"),
            at: now(),
            server_at: None,
            kind: "string".to_owned(),
            value: Some(value),
            fields: Vec::new(),
            is_too_large: false,
            ttl: Ttl(60_000),
        })
    };
    const CENTURY_SECS: u64 = 100 * 365 * 24 * 3600;
    for lease_secs in [1, CENTURY_SECS / 3, CENTURY_SECS] {
        for (names, margin_ms) in [("java-getset", 1_000), ("newlife-2017", 0)] {
            let value = bridge(names, lease_secs).expect("it can be bridged").stamp(&ME, now());
            let ends_ms = now().as_millis() + i64::try_from(lease_secs * 1_000).unwrap() + margin_ms;
            assert_eq!(finding(value).expires_at, UnixTime::from_millis(ends_ms), "{names} {lease_secs}");
        }
    }
    for value in [&b"password"[..], b"deadbeef", b"\x7f\xff\xff\xff\xff\xff\xff\xff", b"\0\x01\0\0\0\0\0\0"] {
        assert_eq!(finding(value.to_vec()).writers, [], "{}", value.escape_ascii());
    }
    // Digits may count the uptime of a host.
    let digits = finding(b"12345678".to_vec()).writers;
    assert_eq!(digits.iter().map(|writer| writer.name()).collect::<Vec<_>>(), ["newlife"]);
}
