//! This project's packages in other languages: for every dialect that has a bridge, the stamp keeps the dialect's clients out,
//! and no value is judged expired that the dialect judges live.

use std::sync::Arc;
use std::time::Duration;

use libtest_mimic::Trial;
use lockshift::bridge::tables;
use lockshift::legacy::{self, Dialect, Lock, Looks};
use lockshift::lock::{Lease, Locker, Owner, Token};
use lockshift::sim::{Flavour, Server, Session as SimSession};
use lockshift::wire::{Command, Key, MonoTime, Reading, UnixTime};

use crate::foreign::Session;
use crate::prediction;
use crate::roster::CLIENTS;
use crate::testbed::Testbed;
use crate::wire::At;

/// One of each language: the Redis client underneath does not matter here.
const PACKAGES: &[&str] = &["lockshift-phpredis", "lockshift-python", "lockshift-node", "lockshift-jedis"];

const TOKEN: &str = "d7d7d7d7d7d7d7d7d7d7d7d7d7d7d7d7";
const LEASE: Duration = Duration::from_secs(60);

/// In the middle of 2027.
const NOW_MS: i64 = 1_810_000_000_000;

/// A trial for every package.
pub(crate) fn trials(testbed: &Arc<Testbed>) -> impl Iterator<Item = Trial> + use<> {
    let testbed = Arc::clone(testbed);
    PACKAGES.iter().map(move |name| {
        let testbed = Arc::clone(&testbed);
        Trial::test(format!("with_{}::every_dialect", name.replace('-', "_")), move || {
            let client = CLIENTS.iter().find(|client| client.name == *name).expect("it stands in the roster");
            let session = testbed.session(client);
            let tables = tables();
            let dialects: Vec<_> = tables.dialects.lines().filter_map(|row| row.split('\t').next()).collect();
            assert!(dialects.len() > 90, "the table holds the catalogue: {}", dialects.len());
            for dialect in dialects {
                let dialect = legacy::find(dialect).expect("the table names dialects of the catalogue");
                keeps_out(&session, dialect);
                judges_no_live_value_expired(&session, dialect);
            }
            Ok(())
        })
    })
}

/// A client of this dialect leaves the package's stamp alone from the first moment of the lease to its last.
fn keeps_out(session: &Session, dialect: &'static Dialect) {
    for begin in [NOW_MS, NOW_MS + 501, NOW_MS + 999] {
        let stamp = session.ask(&format!("stamp {} {TOKEN} {} {begin}", dialect.name, LEASE.as_millis()));
        let stamp = bytes(&stamp).unwrap_or_else(|| panic!("{}: {}: {stamp}", session.client, dialect.name));
        for elapsed in [0, 30_000, 59_999] {
            let now = UnixTime::from_millis(begin + elapsed).expect("it is not yet 2262");
            let locker = Lock::new(dialect, Key::from("k"), lease());
            let mut at = At { server: Server::new(Flavour::Redis70), now };
            at.server.call(SimSession(1), &Command::new("SET").arg("k").arg(&stamp).arg("PX").arg("60000"), now);
            assert_eq!(
                prediction::comes_to(at, &locker),
                prediction::Outcome::IsRefused,
                "{}: {} takes {:?} after {elapsed} ms",
                session.client,
                dialect.name,
                String::from_utf8_lossy(&stamp)
            );
        }
    }
}

/// What this dialect's clients write is judged live for as long as they judge so, and expired two units later.
fn judges_no_live_value_expired(session: &Session, dialect: &'static Dialect) {
    if dialect.look.is_none() || !dialect.form.is_stamped() {
        return;
    }
    let (stamp, lock) = (&dialect.form.stamp, Lock::new(dialect, Key::from("k"), lease()));
    let owner = Owner::new(Token::new([0xd7; 16]), 7, 7);
    for fraction in [0, 501, 999] {
        let begin = UnixTime::from_millis(NOW_MS + fraction).expect("it is not yet 2262");
        let value = dialect.form.write(stamp.at(begin, lock.lease().length()), &owner);
        let end = stamp.moment_of(dialect.form.read(&value).expect("its own value"));
        let end_ms = end.as_millis() + i64::try_from(stamp.allowance(LEASE).as_millis()).expect("a minute");
        let unit_ms = i64::try_from(stamp.unit.length().as_millis()).expect("a second").max(1);
        let slack_ms = dialect.look.map_or(0, |look| i64::try_from(look.slack.as_millis()).expect("it is short"));
        for after in [-60_000, -1, 0, 1, unit_ms, 2 * unit_ms + slack_ms + 2] {
            let at = UnixTime::from_millis(end_ms + after).expect("it is not yet 2262");
            let judged = lock.looks(&value, Reading { wall: at, mono: MonoTime::since_origin(Duration::ZERO) });
            let hex: String = value.iter().map(|byte| format!("{byte:02x}")).collect();
            let verdict =
                session.ask(&format!("judge {} {} {} {hex}", dialect.name, LEASE.as_millis(), at.as_millis()));
            let seen =
                format!("{}: {} at {after} ms: {:?}", session.client, dialect.name, String::from_utf8_lossy(&value));
            match verdict.as_str() {
                "expired" => assert_eq!(judged, Looks::Expired, "{seen}"),
                "live" => assert!(after <= unit_ms + slack_ms || judged != Looks::Expired, "{seen} is expired"),
                other => panic!("{seen}: {other}"),
            }
        }
    }
}

fn lease() -> Lease {
    Lease::new(LEASE).expect("a minute is a valid lease")
}

fn bytes(hex: &str) -> Option<Vec<u8>> {
    let pair = |at: usize| u8::from_str_radix(hex.get(at..at + 2)?, 16).ok();
    (0..hex.len()).step_by(2).map(pair).collect()
}
