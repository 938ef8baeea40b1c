//! The classes of the articles that have a state of their own, on a real server: what they say, and what they do not.

use std::time::Duration;

use lockshift::driver::blocking::run;
use lockshift::legacy::clients::{AlreadyLocked, JedisLocks, NotLockedYet, Polling, Renewed, Step, TokenObject};
use lockshift::lock::{Lease, Owner};
use lockshift::wire::{Key, Transcript, Turn, UnixTime};
use redis::Connection;

use super::stage::{ALICE, BOB};
use super::telling;
use crate::monitor::Monitor;
use crate::server::Server;

/// A client's connection, and what the server hears on it.
struct Wire {
    connection: Connection,
    monitor: Monitor,
    _server: Server,
}

impl Wire {
    fn open() -> Self {
        let server = Server::start();
        Self { connection: server.connect(), monitor: Monitor::on(&server), _server: server }
    }

    fn ask<T>(&mut self, question: impl Fn(&mut Transcript) -> Turn<T>) -> T {
        run(&mut self.connection, &question).expect("the server answers")
    }

    /// What was said since the last look.
    fn said(&mut self) -> String {
        telling::wire(&self.monitor.take())
    }
}

fn key() -> Key {
    Key::from("k")
}

fn lease() -> Lease {
    Lease::new(Duration::from_secs(10)).expect("ten seconds are a lease")
}

#[test]
fn the_jedis_class_enters_again_without_a_word_and_renews_until_any_of_its_locks_is_left() {
    let mut wire = Wire::open();
    let locks = JedisLocks::default();

    let entered = wire.ask(|redis| locks.lock(1, &key(), b"v", lease(), true, redis));
    assert!(entered.answer);
    assert_eq!(wire.said(), "SET k v NX EX 10");

    let again = wire.ask(|redis| entered.locks.lock(1, &key(), b"other", lease(), true, redis));
    assert!(again.answer && again.locks.count(1, &key()) == 2);
    assert_eq!(wire.said(), "", "nor is the value compared with anything");

    let other_thread = wire.ask(|redis| again.locks.lock(2, &key(), b"w", lease(), false, redis));
    assert!(!other_thread.answer);
    assert_eq!(wire.said(), "SET k w NX EX 10");

    let renewal = entered.renewal.expect("it was asked to renew");
    let Renewed::ThenSleeps { pause, next } = wire.ask(|redis| renewal.turn(&again.locks, redis)) else {
        panic!("it renews at once");
    };
    assert_eq!(pause, Duration::from_secs(10), "a whole lease: too late");
    assert_eq!(wire.said(), "eval 1 k v 10; > get k; > expire k 10");

    let left_once = wire.ask(|redis| again.locks.unlock(1, &key(), b"v", redis));
    assert_eq!(wire.said(), "");
    let left = wire.ask(|redis| left_once.locks.unlock(1, &key(), b"v", redis));
    assert!(left.answer && !left.locks.renews());
    assert_eq!(wire.said(), "eval 1 k v; > get k; > del k");

    assert_eq!(wire.ask(|redis| next.turn(&left.locks, redis)), Renewed::Ended);
    assert!(!wire.ask(|redis| left.locks.unlock(1, &key(), b"v", redis)).answer, "it holds nothing");
    assert_eq!(wire.said(), "");
}

#[test]
fn the_token_object_of_the_java_article_knows_whether_it_has_locked() {
    let mut wire = Wire::open();
    let made = UnixTime::from_millis(4_000_000_000_891).expect("before 2262");
    let object = |owner: &Owner| TokenObject::new(key(), owner, made);

    let alice = wire.ask(|redis| object(&ALICE).try_lock(lease(), redis)).expect("a new object has not locked");
    assert!(alice.is_locked());
    let value = "<alice-uuid>.4000000000891";
    assert_eq!(wire.said(), format!("script 1 k {value} 10; > setnx k {value}; > expire k 10"));

    assert_eq!(wire.ask(|redis| alice.try_lock(lease(), redis)), Err(AlreadyLocked));
    let bob = wire.ask(|redis| object(&BOB).try_lock(lease(), redis)).expect("a new object has not locked");
    assert!(!bob.is_locked());
    assert_eq!(wire.ask(|redis| bob.unlock(redis)), Err(NotLockedYet));
    assert_eq!(wire.said(), "script 1 k <bob-uuid>.4000000000891 10; > setnx k <bob-uuid>.4000000000891");

    let alice = wire.ask(|redis| alice.unlock(redis)).expect("it has locked");
    assert!(!alice.is_locked());
    assert_eq!(wire.said(), format!("script 1 k {value}; > get k; > del k"));
}

#[test]
fn the_polling_of_the_java_article_tries_one_time_fewer_than_it_is_told() {
    let mut wire = Wire::open();
    let made = UnixTime::from_millis(0).expect("before 2262");
    let held = wire.ask(|redis| TokenObject::new(key(), &ALICE, made).try_lock(lease(), redis));
    assert!(held.is_ok_and(|alice| alice.is_locked()));
    wire.said();

    let bob = TokenObject::new(key(), &BOB, made);
    for step in Polling::new(Duration::from_millis(100), 4) {
        if step == Step::Try {
            let tried = wire.ask(|redis| bob.try_lock(lease(), redis)).expect("it has never locked");
            assert!(!tried.is_locked());
        }
    }

    assert_eq!(wire.said().matches("setnx").count(), 3);
}
