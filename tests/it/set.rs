//! The typed SET on a real server: the effect of each option on value and expiry, and its reply.

use std::time::Duration;

use lockshift::driver::blocking::run;
use lockshift::wire::{Expiry, Key, Only, Set, Transcript, UnixTime};
use redis::Connection;

use crate::server::Server;

/// In 2096.
const FAR: UnixTime = UnixTime::from_nanos(4_000_000_000_000_000_000);

/// The key before or after a SET: its value and whether it has an expiry.
type State = Option<(&'static str, bool)>;

const MISSING: State = None;
const OLD: State = Some(("old", true));
const NEW: State = Some(("new", false));
const NEW_EXPIRES: State = Some(("new", true));

fn put(connection: &mut Connection, state: State) {
    redis::cmd("FLUSHALL").exec(connection).unwrap();
    if let Some((value, expires)) = state {
        let mut set = redis::cmd("SET");
        set.arg("k").arg(value);
        if expires {
            set.arg("PX").arg(60_000);
        }
        set.exec(connection).unwrap();
    }
}

fn assert_stands(connection: &mut Connection, expected: State, case: &Set<'_>) {
    let value: Option<String> = redis::cmd("GET").arg("k").query(connection).unwrap();
    let ttl: i64 = redis::cmd("PTTL").arg("k").query(connection).unwrap();
    let found = value.as_deref().map(|value| (value, ttl > 0));
    assert_eq!(found, expected, "{} left a TTL of {ttl}", case.command());
}

/// The key before, the condition, the expiry, whether it is written, the key after.
#[test]
fn every_option_does_what_its_name_says() {
    let minute = Duration::from_secs(60);
    let table = [
        (MISSING, None, None, true, NEW),
        (OLD, None, None, true, NEW),
        (MISSING, Some(Only::IfMissing), None, true, NEW),
        (OLD, Some(Only::IfMissing), None, false, OLD),
        (MISSING, Some(Only::IfExists), None, false, MISSING),
        (OLD, Some(Only::IfExists), None, true, NEW),
        (OLD, None, Some(Expiry::KeepTtl), true, NEW_EXPIRES),
        (OLD, Some(Only::IfExists), Some(Expiry::KeepTtl), true, NEW_EXPIRES),
        (MISSING, None, Some(Expiry::KeepTtl), true, NEW),
        (MISSING, Some(Only::IfMissing), Some(Expiry::Px(minute)), true, NEW_EXPIRES),
        (MISSING, Some(Only::IfMissing), Some(Expiry::Ex(minute)), true, NEW_EXPIRES),
        (MISSING, Some(Only::IfMissing), Some(Expiry::PxAt(FAR)), true, NEW_EXPIRES),
        (MISSING, Some(Only::IfMissing), Some(Expiry::ExAt(FAR)), true, NEW_EXPIRES),
        (MISSING, Some(Only::IfMissing), Some(Expiry::PxAt(UnixTime::from_nanos(1))), true, MISSING),
    ];
    let server = Server::start();
    let mut connection = server.connect();
    let key = Key::from("k");
    for (before, only, expiry, written, after) in table {
        let set = only.into_iter().fold(Set::new(&key, b"new"), Set::only);
        let set = expiry.into_iter().fold(set, Set::expiry);
        for set in [set, set.expiry_first()] {
            put(&mut connection, before);
            let answer = run(&mut connection, &|redis: &mut Transcript| redis.set(&set));
            assert_eq!(answer.unwrap(), written, "{}", set.command());
            assert_stands(&mut connection, after, &set);

            put(&mut connection, before);
            let answer = run(&mut connection, &|redis: &mut Transcript| redis.set_get(&set)).unwrap();
            let old = before.map(|(value, _)| value.as_bytes().to_vec());
            assert_eq!(answer, old, "{} GET returns the old value, written or not", set.command());
            assert_stands(&mut connection, after, &set);
        }
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let server = Server::start();
    let mut connection = server.connect();
    let key = Key::from("k");
    let set = Set::new(&key, b"new");
    for expiry in [Expiry::Px(Duration::ZERO), Expiry::Ex(Duration::MAX), Expiry::PxAt(UnixTime::from_nanos(-1))] {
        let refused = run(&mut connection, &|redis: &mut Transcript| redis.set(&set.expiry(expiry)));
        let cause = refused.unwrap_err().cause.to_string();
        assert!(cause.ends_with("ERR invalid expire time in 'set' command"), "{cause}");
    }
    redis::cmd("HSET").arg("k").arg("field").arg("value").exec(&mut connection).unwrap();
    let refused = run(&mut connection, &|redis: &mut Transcript| redis.set_get(&set));
    assert!(refused.unwrap_err().cause.to_string().contains("WRONGTYPE"), "with GET, another type is left alone");
    let written = run(&mut connection, &|redis: &mut Transcript| redis.set(&set));
    assert!(written.unwrap(), "without, it is overwritten");
}
