//! Fences grow with every acquisition, also when their counter is lost or falls back; an invalid counter is refused before
//! a lock is acquired.

use std::time::Duration;

use lockshift::bridge::{Bridge, new_key};
use lockshift::driver::blocking::run;
use lockshift::driver::host;
use lockshift::legacy;
use lockshift::lock::{Acquired, Hold, Lease, Locker, Owner};
use lockshift::modern::{FencedTokenLock, ReentrantLock};
use lockshift::wire::{Key, Transcript};
use redis::{Connection, cmd};

use crate::server::Server;

const COUNTER: &str = "{k}:fence";

/// The first number that Lua cannot tell from its successor.
const TWO_TO_THE_53: u64 = 1 << 53;

/// All locks that count in [`COUNTER`].
fn fenced() -> [(&'static str, Box<dyn Locker>); 3] {
    let lease = Lease::new(Duration::from_secs(600)).unwrap();
    // Its new key is `{k}:token`, and the counter of that has the same hash tag.
    let bridge = Bridge::new(&[legacy::find("php-getset").unwrap()], Key::from("k"), lease).unwrap().fenced();
    [
        ("token-fenced", Box::new(FencedTokenLock::new(Key::from("k"), lease))),
        ("reentrant,fence=yes", Box::new(ReentrantLock::new(Key::from("k"), lease).fenced())),
        ("bridge,fence=yes", Box::new(bridge)),
    ]
}

fn counter_of(name: &str) -> Key {
    if name.starts_with("bridge") { new_key(&Key::from("k")).sibling("fence") } else { Key::from(COUNTER) }
}

fn win(locker: &dyn Locker, owner: &Owner, connection: &mut Connection) -> Hold {
    match run(connection, &|redis: &mut Transcript| locker.acquire(owner, redis)) {
        Ok(Acquired::Won(hold)) => hold,
        other => panic!("the lock should be free: {other:?}"),
    }
}

fn next_fence(locker: &dyn Locker, connection: &mut Connection) -> u64 {
    let hold = win(locker, &host::owner(1).unwrap(), connection);
    run(connection, &|redis: &mut Transcript| locker.release(&hold, redis)).unwrap();
    hold.fence.expect("it is fenced")
}

#[test]
fn a_fence_grows_when_its_counter_is_lost_or_falls_back() {
    let server = Server::start();
    let mut connection = server.connect();
    for (name, locker) in fenced() {
        let counter = counter_of(name);
        let first = next_fence(&*locker, &mut connection);
        let second = next_fence(&*locker, &mut connection);
        assert!(second > first, "{name}: {first}, {second}");

        cmd("DEL").arg(counter.as_bytes()).exec(&mut connection).unwrap();
        let after_loss = next_fence(&*locker, &mut connection);
        assert!(after_loss > second, "{name}: {second}, and after the counter was lost {after_loss}");

        cmd("SET").arg(counter.as_bytes()).arg(first).exec(&mut connection).unwrap();
        let after_fallback = next_fence(&*locker, &mut connection);
        assert!(after_fallback > after_loss, "{name}: {after_loss}, and after a fallback {after_fallback}");
        cmd("FLUSHALL").exec(&mut connection).unwrap();
    }
}

/// A clock that was set back, or the count of a clock that was ahead.
#[test]
fn a_fence_grows_when_the_clock_is_behind_its_counter() {
    let server = Server::start();
    let mut connection = server.connect();
    for (name, locker) in fenced() {
        let ahead = TWO_TO_THE_53 - 10;
        cmd("SET").arg(counter_of(name).as_bytes()).arg(ahead).exec(&mut connection).unwrap();
        assert_eq!(next_fence(&*locker, &mut connection), ahead + 1, "{name}");
        assert_eq!(next_fence(&*locker, &mut connection), ahead + 2, "{name}");
        cmd("FLUSHALL").exec(&mut connection).unwrap();
    }
}

/// The reply is below 2^53, so it is exact; the next one might not be.
#[test]
fn an_invalid_counter_is_refused_and_no_lock_is_acquired() {
    let server = Server::start();
    let mut connection = server.connect();
    let ruined = ["-5", "1.5", "1e3", "0x10", "", "apples", "9007199254740992", "18446744073709551615"];
    for (name, locker) in fenced() {
        let counter = counter_of(name);
        for value in ruined {
            cmd("SET").arg(counter.as_bytes()).arg(value).exec(&mut connection).unwrap();
            let owner = host::owner(1).unwrap();
            let refused = run(&mut connection, &|redis: &mut Transcript| locker.acquire(&owner, redis));
            let refused = format!("{:?}", refused.map(drop));
            assert!(refused.contains("NOFENCE"), "{name}, `{value}`: {refused}");
            let left: Vec<String> = cmd("KEYS").arg("*").query(&mut connection).unwrap();
            assert_eq!(left, [String::from_utf8_lossy(counter.as_bytes())], "{name}, `{value}`");
        }
        cmd("FLUSHALL").exec(&mut connection).unwrap();
    }
}

#[test]
fn the_scripts_that_count_share_one_text() {
    let texts = [
        include_str!("../../modern/src/lua/fenced/acquire.lua"),
        include_str!("../../modern/src/lua/reentrant/acquire_fenced.lua"),
        include_str!("../../src/bridge/lua/acquire.lua"),
    ];
    let [one, two, three] = texts.map(|text| {
        let lines = text
            .lines()
            .map(|line| line.trim_start().replace("KEYS[3]", "KEYS[2]").replacen("local fence", "fence", 1));
        let counting = lines.skip_while(|line| !line.starts_with("-- The next fence"));
        let mut counting: Vec<String> = counting.take_while(|line| !line.contains("string.format")).collect();
        counting.retain(|line| line != "end");
        counting
    });
    assert!(one.len() > 5, "{one:?}");
    assert_eq!((&one, &one), (&two, &three));
}
