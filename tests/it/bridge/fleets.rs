//! Which fleets can be bridged, and with whose stamp.

#[cfg(feature = "sim")]
use std::collections::BTreeSet;
#[cfg(feature = "sim")]
use std::sync::Arc;
use std::time::Duration;

use lockshift::bridge::{Bridge, StolenStamp, Unbridgeable, new_key};
use lockshift::legacy::{self, Dialect};
use lockshift::lock::{Acquired, Lease, Locker, Owner, Token};
#[cfg(feature = "sim")]
use lockshift::matrix::meet;
use lockshift::protocols::Choice;
use lockshift::wire::{Key, MonoTime, Pending, Reading, Reply, Transcript, UnixTime};

use super::{bridge, fleet, seconds};

#[test]
fn every_dialect_except_these_can_be_bridged() {
    let refused =
        legacy::catalogue().filter_map(|dialect| bridge(dialect.name, 10).err().map(|why| (dialect.name, why)));
    let refused: Vec<_> = refused.map(|(name, why)| format!("{name}: {why}")).collect();
    assert_eq!(
        refused,
        [
            "redis-objects-1.4.2: no stamp keeps them all out: \
             redis-objects-1.4.2 takes 01d7d7d7d7d7d7d7d7d7d7d7d7d7d7d7 as token writes it",
            "redis-objects-1.4.3: no stamp keeps them all out: \
             redis-objects-1.4.3 takes 01d7d7d7d7d7d7d7d7d7d7d7d7d7d7d7 as token writes it",
            "mlanett-redis-lock: mlanett-redis-lock keeps owner and stamp in two keys",
            "newlife: newlife counts the uptime of its own machine, which no other client can write",
            "l2met: no stamp keeps them all out: l2met takes 1800000011 as l2met writes it, \
             l2met takes 00d7d7d7d7d7d7d7d7d7d7d7d7d7d7d7 as token writes it",
        ]
    );
}

/// The bridge of a mixed fleet writes in the form of the first dialect that the others leave alone, whether they can read
/// it or not.
#[test]
fn a_mixed_fleet_gets_a_stamp_that_every_dialect_leaves_alone() {
    for (names, stamp_of) in [
        ("php-getset+php7-getset", "php-getset"),
        ("php-getset+java-getset", "php-getset"),
        ("java-getset+php-getset", "php-getset"),
        ("php-getset+jedis-lock", "jedis-lock"),
        ("redis-py-2.8+php-getset", "redis-py-2.8"),
        ("redis-objects-1.4.2+redis-objects", "redis-objects"),
        ("php-acquired-at+php-getset", "php-getset"),
        ("jedis-lock+java-getset", "jedis-lock"),
    ] {
        assert_eq!(bridge(names, 10).map(|bridge| bridge.stamp_of().name), Ok(stamp_of), "{names}");
    }
}

#[test]
fn a_fleet_that_nothing_keeps_out_is_refused_with_the_values_that_show_it() {
    let Err(Unbridgeable::NoStamp(stolen)) = bridge("php-getset+jedis-lock-2015", 10) else { panic!("it is bridged") };
    let php = StolenStamp { value: b"1800000010".to_vec(), form_of: "php-getset", by: "jedis-lock-2015" };
    assert_eq!(stolen[0], php, "without a uuid it is invalid to jedis-lock");
    assert_eq!((stolen[1].form_of, stolen[1].by), ("jedis-lock-2015", "php-getset"));
    assert!(stolen[1].value.starts_with(b"00"), "a uuid that PHP 8 puts below the time");
    assert_eq!(Bridge::new(&[], Key::from("k"), seconds(10)).unwrap_err(), Unbridgeable::EmptyFleet);
}

/// Of a millisecond's lease its holder relies on too little for l2met to take it over in a trial.
#[test]
fn a_fleet_that_nothing_keeps_out_is_refused_for_the_shortest_lease_too() {
    let shortest = Lease::new(Lease::MIN).expect("it is a lease");
    let refused = Bridge::new(&fleet("l2met"), Key::from("k"), shortest).map(drop);
    assert!(matches!(refused, Err(Unbridgeable::NoStamp(_))), "{refused:?}");
}

/// PHP reads Java's eight bytes as an expired stamp, so both can hold at once; a release by one then deletes a bridge's
/// stamp.
#[test]
fn a_fleet_whose_members_do_not_exclude_each_other_is_refused_unless_that_is_accepted() {
    let new = |names: &str| Bridge::new(&fleet(names), Key::from("k"), seconds(10)).map(drop);
    let Err(Unbridgeable::NotExclusive(stolen)) = new("php-getset+java-getset") else { panic!("it is bridged") };
    // Java adds a second of its own.
    let eight_bytes = 1_800_000_061_000_i64.to_be_bytes().to_vec();
    assert_eq!(stolen, [StolenStamp { value: eight_bytes, form_of: "java-getset", by: "php-getset" }]);
    assert!(bridge("php-getset+java-getset", 10).is_ok());
    for exclusive in ["php-getset", "php-getset+php7-getset", "java-getset", "php-getset+redis-py-2.8"] {
        assert_eq!(new(exclusive), Ok(()), "{exclusive}");
    }
    let named = "bridge:php-getset+java-getset".parse::<Choice>().unwrap_err().to_string();
    assert!(named.starts_with("cannot bridge `bridge:php-getset+java-getset`: these dialects do not"), "{named}");
    assert!(named.ends_with("or accept double holds with `,fleet=any`"), "{named}");
    assert!("bridge:php-getset+java-getset,fleet=any".parse::<Choice>().is_ok());
}

/// Every kind of dialect that writes a token beside every reader of it: if the matrix shows that a holder's lock is taken over,
/// whatever its token begins with, then the fleet does not exclude itself.
#[cfg(feature = "sim")]
#[test]
fn a_token_that_only_some_heads_let_another_dialect_steal_is_stolen() {
    let lock = |name: &str| -> Arc<dyn Locker> { Arc::new(legacy::Lock::new(fleet(name)[0], "k".into(), seconds(60))) };
    let now = UnixTime::from_secs(1_800_000_000).expect("before 2262");
    let (kinds, mut shown) = (kinds(), BTreeSet::new());
    for writer in kinds.iter().filter(|dialect| dialect.form.names_token()) {
        for reader in kinds.iter().filter(|reader| reader.name != writer.name) {
            let accepting = Bridge::accepting_double_holds(&[writer, reader], Key::from("k"), seconds(60));
            if accepting.is_err() || meet(&lock(writer.name), &lock(reader.name), now).steals.is_none() {
                continue;
            }
            let refused = Bridge::new(&[writer, reader], Key::from("k"), seconds(60)).map(drop);
            let Err(Unbridgeable::NotExclusive(stolen)) = refused else {
                panic!("{} steals from {}: {refused:?}", reader.name, writer.name)
            };
            assert!(stolen.iter().any(|it| (it.form_of, it.by) == (writer.name, reader.name)), "{stolen:?}");
            shown.extend(stolen.into_iter().filter(|it| !it.value.starts_with(b"d7")).map(|it| it.form_of));
        }
    }
    assert!(!shown.is_empty(), "no reader tells tokens apart by their heads");
}

#[test]
fn whether_a_fleet_can_be_bridged_does_not_depend_on_the_lease() {
    let names: Vec<&str> = legacy::catalogue().map(|dialect| dialect.name).collect();
    let pairs = names.windows(2).map(|pair| pair.join("+"));
    let fleets: Vec<String> = names.iter().map(|name| (*name).to_owned()).chain(pairs).collect();
    for names in fleets {
        let by_lease = LEASES_MS.map(|millis| {
            let lease = Lease::new(Duration::from_millis(millis)).expect("it is a lease");
            let bridge =
                [Bridge::new, Bridge::accepting_double_holds].map(|new| new(&fleet(&names), Key::from("k"), lease));
            bridge.map(|bridge| bridge.is_ok())
        });
        assert!(by_lease.iter().all(|can| *can == by_lease[0]), "{names}: {by_lease:?}");
    }
}

/// The shortest lease, two in between, and a century.
const LEASES_MS: [u64; 4] = [1, 999, 60_000, 100 * 365 * 24 * 3_600_000];

/// Whether a bridge to this fleet takes over a lock with this value in the old key at this second.
fn takes(names: &str, value: &str, now_secs: i64) -> bool {
    let bridge = bridge(names, 10).expect("it can be bridged");
    let me = Owner::new(Token::new([7; 16]), 77, 1);
    let wall = UnixTime::from_secs(now_secs).expect("before 2262");
    let reading = Reading { wall, mono: MonoTime::since_origin(Duration::ZERO) };
    let mut redis = Transcript::new();
    let mut asked = 0;
    loop {
        match bridge.acquire(&me, redis.rewind()) {
            Ok(Acquired::Held(_)) => return false,
            Err(Pending::Clock) => redis.record_clock(reading),
            Err(Pending::Send(_)) if asked == 0 => {
                redis.record_reply(Reply::Array(vec![Reply::Int(2), Reply::bulk(value)]));
                asked += 1;
            }
            Err(Pending::Send(_)) => return true,
            other => panic!("{other:?}"),
        }
    }
}

/// A value has expired if one of its possible writers considers it expired and none considers it live.
#[test]
fn a_value_is_judged_by_its_possible_writers() {
    let now = 1_700_000_010;
    for (names, value, is_taken, why) in [
        ("php-getset", "1700000009", true, "expired"),
        ("php-getset", "1700000010", false, "to PHP a stamp that equals now is live"),
        ("thinkphp-lockup", "1700000010", true, "to ThinkPHP it has expired"),
        ("php-getset+thinkphp-lockup", "1700000010", false, "one of the two may still hold it"),
        ("php-getset+jedis-lock", "1700000020000", false, "milliseconds, and ahead"),
        (
            "php-getset+jedis-lock",
            "1700000009000",
            true,
            "to PHP these are seconds far ahead, but PHP never writes such",
        ),
        (
            "php-getset+jedis-lock",
            "1700000020",
            false,
            "to jedis-lock these are milliseconds of 1970, but PHP never writes such",
        ),
        ("php-getset+java-getset", "1700000009", true, "Java, which cannot read it, does not count"),
        ("java-getset", "junk", false, "no dialect can read it"),
        ("php7-getset", "junk", true, "to PHP 7 it is 0"),
        ("php-getset+php7-getset", "junk", false, "to PHP 8 it is live"),
    ] {
        assert_eq!(takes(names, value, now), is_taken, "{names}, {value}: {why}");
    }
}

/// A dialect of every kind that can be bridged: of those that write other parts or read otherwise.
#[cfg(feature = "sim")]
fn kinds() -> Vec<&'static Dialect> {
    let mut kinds: Vec<&'static Dialect> = Vec::new();
    for dialect in legacy::catalogue().filter(|dialect| bridge(dialect.name, 10).is_ok()) {
        let reader = |dialect: &Dialect| dialect.look.map(|look| look.reader);
        if !kinds.iter().any(|known| (known.form.parts, reader(known)) == (dialect.form.parts, reader(dialect))) {
            kinds.push(dialect);
        }
    }
    kinds
}

/// Every pair of dialects that write other parts or read otherwise: if the pair is refused, the matrix shows that the one
/// takes over or overwrites the lock of the other.
#[cfg(feature = "sim")]
#[test]
fn the_matrix_confirms_every_refused_pair() {
    let kinds = kinds();
    let lock = |name: &str| -> Arc<dyn Locker> { Arc::new(legacy::Lock::new(fleet(name)[0], "k".into(), seconds(10))) };
    let now = UnixTime::from_secs(1_800_000_000).expect("before 2262");
    let (mut bridged, mut shown) = (0, 0);
    for (place, one) in kinds.iter().enumerate() {
        for other in &kinds[place + 1..] {
            let Err(refused) = Bridge::accepting_double_holds(&[one, other], Key::from("k"), seconds(10)) else {
                bridged += 1;
                continue;
            };
            let Unbridgeable::NoStamp(stolen) = refused else { panic!("{}+{}: {refused}", one.name, other.name) };
            for StolenStamp { form_of, by, .. } in stolen.iter().filter(|stolen| stolen.form_of != "token") {
                let verdict = meet(&lock(form_of), &lock(by), now);
                let is_shown = verdict.steals.is_some() || verdict.clobbers.is_some();
                assert!(is_shown, "{by} takes what {form_of} writes, but not in the matrix: {verdict:?}");
                shown += 1;
            }
        }
    }
    assert!(bridged > shown && shown > 0, "{bridged} pairs have a bridge, {shown} values keep others from one");
}

/// Both keys of a lock are in one slot of a cluster, whatever braces the old one holds.
#[test]
fn the_new_key_is_in_the_slot_of_the_old_one() {
    for (old, new) in [
        (&b"invoices"[..], &b"{invoices}:token"[..]),
        (b"shop:{7}:invoices", b"shop:{7}:invoices:token"),
        (b"{7}", b"{7}:token"),
        (b"a{b", b"{a{b}:token"),
        (b"{{a}}", b"{{a}}:token"),
        (b"{a}{b}", b"{a}{b}:token"),
        (b"\xff\x00\r\n", b"{\xff\x00\r\n}:token"),
    ] {
        let (old, new) = (Key::new(old.to_vec()), Key::new(new.to_vec()));
        assert_eq!(new_key(&old), new, "{old}");
        assert_eq!(new.slot(), old.slot(), "{old}");
    }
    // These cannot be wrapped in a hash tag: the new key begins with a tag that hashes into their slot.
    for old in ["{}", "{}invoices", "a{}b", "}a{", "a}b", "}", ""] {
        let new = new_key(&Key::from(old));
        assert_eq!(new.slot(), Key::from(old).slot(), "{old}");
        assert!(new.as_bytes().ends_with(format!("}}{old}:token").as_bytes()), "{new}");
    }
}
