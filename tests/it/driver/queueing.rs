//! Ownership in a queue: first come, first served, and a client that leaves removes its entry.

use std::sync::{Barrier, mpsc::channel};
use std::thread::scope;
use std::time::Duration;

use lockshift::driver::{Answer, Attempt, Renewal, Wait, blocking::run, host};
use lockshift::lock::{Acquired, Lease, Locker, Owner, Released, Token};
use lockshift::modern::FairLock;
use lockshift::wire::{Key, Script, Transcript, script_file};
use redis::{Connection, cmd};

use super::logbook;
use super::world::{AN_HOUR, World, in_both_worlds, ms};
use crate::monitor::{Line, Monitor};
use crate::patience::until;
use crate::server::Server;

in_both_worlds! {
    the_first_waiter_is_served_first,
    a_later_client_is_not_served_before,
    a_dead_waiter_does_not_block_the_queue,
    a_first_waiter_that_does_not_come_is_passed_over,
    a_notified_place_is_kept_for_a_shorter_time,
    a_waiter_that_listens_needs_fewer_attempts_to_keep_its_place,
    a_waiter_that_gives_up_leaves_no_place,
    a_waiter_that_pauses_longer_than_its_place_lives_keeps_it,
    a_place_that_could_not_be_left_is_logged,
    an_attempt_without_a_wait_leaves_no_place,
    all_attempts_of_a_waiter_are_made_from_one_place,
    each_waiter_costs_two_commands,
    those_that_begin_at_once_take_a_place_each,
    a_release_hands_the_lock_to_the_first_waiter_for_a_whole_lease,
    a_waiter_for_whom_little_would_be_left_tries_and_gets_a_whole_lease,
    a_waiter_that_has_waited_for_long_is_handed_a_whole_lease_from_its_last_attempt,
    a_waiter_that_listens_and_hangs_delays_the_others_as_a_holder_does,
    a_waiter_that_gives_up_as_it_is_handed_the_lock_passes_it_on,
}

fn lease(millis: u64) -> Lease {
    Lease::new(ms(millis)).unwrap()
}

/// Places are kept for an hour: only what the test is about can free one.
fn fair() -> FairLock {
    FairLock::new(Key::from("k"), Lease::new(AN_HOUR).unwrap()).keeping_places_for(Lease::new(AN_HOUR).unwrap())
}

fn places(operator: &mut Connection) -> usize {
    cmd("ZCARD").arg("{k}:queue").query(operator).unwrap()
}

/// A queue entry of a program that has crashed.
fn die_in_the_queue(server: &Server, locker: &FairLock) {
    let owner = Owner { instance: Token::new([9; 16]), ..host::owner(0).unwrap() };
    let tried = run(&mut server.connect(), &|redis: &mut Transcript| locker.acquire(&owner, redis));
    assert!(matches!(tried, Ok(Acquired::Held(_))), "{tried:?}");
}

fn the_first_waiter_is_served_first<W: World>() {
    let server = Server::start();
    let releases = W::releases(&server);
    let open = || W::open(&server, fair()).notified_by(&releases);
    let mut operator = server.connect();
    let alice = open();
    let guard = alice.win();
    let (won, winners) = channel();
    scope(|scope| {
        for number in 0..5 {
            let (world, won) = (open(), won.clone());
            scope.spawn(move || match world.acquire(&Wait::notified()) {
                Ok(Attempt::Won(guard)) => {
                    won.send(number).unwrap();
                    drop(world.release(guard));
                }
                other => panic!("it waits for as long as it takes: {other:?}"),
            });
            until("it stands in the queue", || (places(&mut operator) == number + 1).then_some(()));
        }
        drop((alice.release(guard), won));
        assert_eq!(winners.iter().collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
    });
    assert_eq!(cmd("KEYS").arg("*").query(&mut operator), Ok(Vec::<String>::new()));
}

fn a_later_client_is_not_served_before<W: World>() {
    let server = Server::start();
    let alice = W::open(&server, fair());
    let guard = alice.win();
    die_in_the_queue(&server, &fair());
    drop(alice.release(guard));
    let bob = W::open(&server, fair());
    assert!(matches!(bob.acquire(&Wait::every(ms(1)).tries(20)), Ok(Attempt::Held(_))), "it is kept for the first");
    assert_eq!(cmd("EXISTS").arg("k").query(&mut server.connect()), Ok(false));
}

fn a_dead_waiter_does_not_block_the_queue<W: World>() {
    let server = Server::start();
    let short = || fair().keeping_places_for(lease(300));
    let releases = W::releases(&server);
    let [alice, bob] = [(); 2].map(|()| W::open(&server, short()).notified_by(&releases));
    let guard = alice.win();
    let mut operator = server.connect();
    die_in_the_queue(&server, &short());
    scope(|scope| {
        let waiting = scope.spawn(move || matches!(bob.acquire(&Wait::notified()), Ok(Attempt::Won(_))));
        until("both stand in the queue", || (places(&mut operator) == 2).then_some(()));
        drop(alice.release(guard));
        assert!(waiting.join().unwrap());
    });
}

fn a_first_waiter_that_does_not_come_is_passed_over<W: World>() {
    let server = Server::start();
    let short = || fair().keeping_places_for(lease(300));
    let alice = W::open(&server, short());
    let guard = alice.win();
    die_in_the_queue(&server, &short());
    drop(alice.release(guard));
    let bob = W::open(&server, short());
    assert!(matches!(bob.acquire(&Wait::backoff()), Ok(Attempt::Won(_))));
}

/// For how long the place of the first waiter is still kept.
fn kept(operator: &mut Connection) -> Duration {
    let (_, until_ms): (String, u64) =
        cmd("ZRANGE").arg("{k}:places").arg(0).arg(0).arg("WITHSCORES").query::<Vec<_>>(operator).unwrap().remove(0);
    let (secs, micros): (u64, u64) = cmd("TIME").query(operator).unwrap();
    ms(until_ms) - Duration::from_secs(secs) - Duration::from_micros(micros)
}

fn a_notified_place_is_kept_for_a_shorter_time<W: World>() {
    for is_released in [true, false] {
        let server = Server::start();
        let [alice, bob] = [(); 2].map(|()| W::open(&server, fair()));
        let mut operator = server.connect();
        let guard = alice.win();
        die_in_the_queue(&server, &fair());
        assert!(kept(&mut operator) > AN_HOUR, "until it is notified");
        if is_released {
            drop(alice.release(guard));
        } else {
            cmd("DEL").arg("k").exec(&mut operator).unwrap();
            assert!(kept(&mut operator) > AN_HOUR, "no client has notified it");
            assert!(matches!(bob.try_acquire(), Ok(Attempt::Held(_))));
        }
        let left = kept(&mut operator);
        assert!(left <= AN_HOUR, "{left:?}");
        assert!(matches!(bob.try_acquire(), Ok(Attempt::Held(_))));
        assert!(kept(&mut operator) <= left, "another notification does not keep it for longer");
    }
}

/// It relies on the notification, and a waiter that does not listen is to find out by itself that it is the first.
fn a_waiter_that_listens_needs_fewer_attempts_to_keep_its_place<W: World>() {
    let server = Server::start();
    let releases = W::releases(&server);
    let short = || fair().keeping_places_for(lease(400));
    let alice = W::open(&server, short());
    let _guard = alice.win();
    let attempts = |world: W, wait: Wait| {
        let mut monitor = Monitor::on(&server);
        let began = host::mono();
        assert!(matches!(world.acquire(&wait.for_at_most(ms(1600))), Ok(Attempt::Held(_))));
        let took = host::mono().saturating_since(began);
        let lines = monitor.take();
        let attempts = lines.iter().filter(|line| line.words[0] == b"zadd" && line.words[1] == b"{k}:places").count();
        (attempts, took)
    };
    let (polling, took) = attempts(W::open(&server, short()), Wait::every(AN_HOUR));
    // Every third of the time for which a place is kept, so that it comes in time when it is the first.
    assert!(polling > 6 && polling as u128 <= took.as_millis() / 133 + 2, "{polling} in {took:?}");
    let (listening, took) = attempts(W::open(&server, short()).notified_by(&releases), Wait::notified());
    // Two before the subscription is confirmed, one at the end, and some while it is not confirmed yet.
    let most = took.as_millis() / 600 + 6;
    assert!(listening as u128 <= most, "{listening} in {took:?}");
}

/// Bob waits first and would pause for an hour, Carol comes after him.
fn a_waiter_that_pauses_longer_than_its_place_lives_keeps_it<W: World>() {
    for wait in [Wait::every(AN_HOUR), Wait::backoff_between(AN_HOUR, AN_HOUR, 1)] {
        let server = Server::start();
        let short = || fair().keeping_places_for(lease(3000));
        let [alice, bob, carol] = [(); 3].map(|()| W::open(&server, short()));
        let guard = alice.win();
        let mut operator = server.connect();
        let (won, winners) = channel();
        scope(|scope| {
            for (world, name, wait) in [(bob, "bob", wait), (carol, "carol", Wait::every(ms(100)))] {
                let won = won.clone();
                scope.spawn(move || match world.acquire(&wait) {
                    Ok(Attempt::Won(guard)) => {
                        won.send(name).unwrap();
                        drop(world.release(guard));
                    }
                    other => panic!("it waits for as long as it takes: {other:?}"),
                });
                until("it stands in the queue", || {
                    let first: Vec<String> = cmd("ZRANGE").arg("{k}:queue").arg(0).arg(-1).query(&mut operator).ok()?;
                    (first.len() == if name == "bob" { 1 } else { 2 }).then_some(())
                });
            }
            let queue = |operator: &mut Connection| -> Vec<String> {
                cmd("ZRANGE").arg("{k}:queue").arg(0).arg(-1).query(operator).unwrap()
            };
            let before = queue(&mut operator);
            // Longer than a place is kept.
            host::sleep(ms(4500));
            assert_eq!(queue(&mut operator), before, "both have kept their places");
            drop((alice.release(guard), won));
            assert_eq!(winners.iter().collect::<Vec<_>>(), ["bob", "carol"]);
        });
    }
}

fn a_waiter_that_gives_up_leaves_no_place<W: World>() {
    let server = Server::start();
    let releases = W::releases(&server);
    let [alice, bob] = [(); 2].map(|()| W::open(&server, fair()).notified_by(&releases));
    let guard = alice.win();
    let mut operator = server.connect();
    for wait in [Wait::notified().for_at_most(ms(30)), Wait::backoff().tries(3)] {
        assert!(matches!(bob.acquire(&wait), Ok(Attempt::Held(_))));
        until("its place is free", || (places(&mut operator) == 0).then_some(()));
    }
    drop(alice.release(guard));
    assert!(matches!(bob.try_acquire(), Ok(Attempt::Won(_))));
}

fn a_place_that_could_not_be_left_is_logged<W: World>() {
    logbook::open();
    let server = Server::start();
    let key = format!("queue of {}", std::any::type_name::<W>());
    let [alice, bob] = [(); 2].map(|()| W::open(&server, FairLock::new(Key::from(key.as_str()), lease(60_000))));
    let _guard = alice.win();
    cmd("ACL").arg(&["SETUSER", "default", "-zrem"]).exec(&mut server.connect()).unwrap();
    assert!(matches!(bob.try_acquire(), Ok(Attempt::Held(_))));
    let warnings = logbook::warnings_about(&key);
    assert!(warnings.iter().any(|text| text.contains("could not leave the queue")), "{warnings:?}");
}

fn an_attempt_without_a_wait_leaves_no_place<W: World>() {
    let server = Server::start();
    let [alice, bob] = [(); 2].map(|()| W::open(&server, fair()));
    let _guard = alice.win();
    assert!(matches!(bob.try_acquire(), Ok(Attempt::Held(_))));
    let mut operator = server.connect();
    until("its place is free", || (places(&mut operator) == 0).then_some(()));
}

fn all_attempts_of_a_waiter_are_made_from_one_place<W: World>() {
    let server = Server::start();
    let [alice, bob] = [(); 2].map(|()| W::open(&server, fair()));
    let _guard = alice.win();
    let mut monitor = Monitor::on(&server);
    assert!(matches!(bob.acquire(&Wait::every(ms(1)).tries(5)), Ok(Attempt::Held(_))));
    let lines = monitor.take();
    let taken = lines.iter().filter(|line| line.words[0] == b"zadd" && line.words[1] == b"{k}:queue").count();
    assert_eq!(taken, 1);
}

/// Taking a place, and releasing: whichever client waits, and however many do.
fn each_waiter_costs_two_commands<W: World>() {
    const MANY: usize = 40;
    let server = Server::start();
    let releases = W::releases(&server);
    let open = || W::open(&server, fair()).notified_by(&releases);
    let alice = open();
    let guard = alice.win();
    let mut operator = server.connect();
    scope(|scope| {
        let mut monitor = Monitor::on(&server);
        let waiting: Vec<_> = (0..MANY)
            .map(|number| {
                let world = open();
                let waiting = scope.spawn(move || match world.acquire(&Wait::notified()) {
                    Ok(Attempt::Won(guard)) => {
                        drop(world.release(guard));
                        world
                    }
                    other => panic!("it waits for as long as it takes: {other:?}"),
                });
                until("it stands in the queue", || (places(&mut operator) == number + 1).then_some(()));
                if number == 0 {
                    until_it_listens(&mut monitor);
                }
                waiting
            })
            .collect();
        drop(alice.release(guard));
        let worlds: Vec<_> = waiting.into_iter().map(|waiting| waiting.join().unwrap()).collect();
        let scripts = monitor.take().into_iter().filter(|line| line.words[0] == b"EVALSHA").count();
        // The first has tried before, and Alice's release is one of them.
        assert_eq!(scripts, 2 * MANY);
        drop(worlds);
    });
}

/// Before their program has subscribed. Then one of them tries once more, for all; a server that takes its time for that is asked
/// more often.
fn those_that_begin_at_once_take_a_place_each<W: World>() {
    const MANY: usize = 40;
    let attempts = || {
        let server = Server::start();
        let releases = W::releases(&server);
        let open = || W::open(&server, fair()).notified_by(&releases);
        let alice = open();
        let guard = alice.win();
        let mut monitor = Monitor::on(&server);
        let mut operator = server.connect();
        let (begin, worlds) = (Barrier::new(MANY), (0..MANY).map(|_| open()).collect::<Vec<_>>());
        let wait = |world: W| {
            begin.wait();
            let Ok(Attempt::Won(guard)) = world.acquire(&Wait::notified()) else { panic!("for as long as it takes") };
            drop(world.release(guard));
            world
        };
        scope(|scope| {
            let waiting: Vec<_> = worlds.into_iter().map(|world| scope.spawn(|| wait(world))).collect();
            until("all stand in the queue", || (places(&mut operator) == MANY).then_some(()));
            host::sleep(ms(300));
            drop(alice.release(guard));
            // One of them may listen for all.
            drop(waiting.into_iter().map(|waiting| waiting.join().unwrap()).collect::<Vec<_>>());
        });
        let scripts = |line: &&Line| [&b"EVALSHA"[..], b"EVAL"].contains(&&*line.words[0]);
        // A release for each and for Alice.
        monitor.take().iter().filter(scripts).count() - (MANY + 1)
    };
    let mut counts = Vec::new();
    let is_few = (0..5).any(|_| {
        let count = attempts();
        counts.push(count);
        count < MANY + MANY / 4
    });
    assert!(is_few, "attempts: {counts:?}");
}

/// Until the first waiter of a program has tried, has subscribed, and has tried once more.
fn until_it_listens(monitor: &mut Monitor) {
    until_tries(monitor, 2);
}

fn until_tries(monitor: &mut Monitor, count: usize) {
    let mut tries = 0;
    until("it tries so often", || {
        tries += monitor.take().iter().filter(|line| is_try(line)).count();
        (tries >= count).then_some(())
    });
}

fn is_try(line: &Line) -> bool {
    line.words[0] == b"EVALSHA" && line.words[1] == ACQUIRE.sha1_hex().as_bytes()
}

/// For how long Bob holds what he wins after Alice has held for so long, and whether he tried once more for it.
fn won_after<W: World>(lockers: [FairLock; 2], holds: Duration) -> (Duration, bool) {
    let server = Server::start();
    let releases = W::releases(&server);
    let [alice, bob] = lockers.map(|locker| W::open(&server, locker).notified_by(&releases));
    let mut guard = alice.win();
    alice.renew(&mut guard, Renewal::every_third());
    let mut monitor = Monitor::on(&server);
    scope(|scope| {
        let waiting = scope.spawn(move || match bob.acquire(&Wait::notified()) {
            Ok(Attempt::Won(guard)) => (W::left(&guard), bob.release(guard)),
            other => panic!("it waits for as long as it takes: {other:?}"),
        });
        until_it_listens(&mut monitor);
        host::sleep(holds);
        monitor.skip();
        drop(alice.release(guard));
        let (remaining, released) = waiting.join().unwrap();
        assert!(matches!(released, Ok(Answer::Known(Released::Freed))), "{released:?}");
        (remaining, monitor.take().iter().any(is_try))
    })
}

const ACQUIRE: Script = script_file!("../../../modern/src/lua/fair/acquire.lua");

fn a_release_hands_the_lock_to_the_first_waiter_for_a_whole_lease<W: World>() {
    let lock = || FairLock::new(Key::from("k"), lease(60_000)).keeping_places_for(lease(60_000));
    let (remaining, has_tried) = won_after::<W>([lock(), lock()], ms(200));
    assert!(!has_tried && remaining >= ms(53_000), "{has_tried}, {remaining:?}");
}

/// The time for which it is handed the lock is added to its last attempt, and counts from its first.
fn a_waiter_for_whom_little_would_be_left_tries_and_gets_a_whole_lease<W: World>() {
    let lock = |lease_ms| FairLock::new(Key::from("k"), lease(lease_ms)).keeping_places_for(lease(1000));
    for (leases_ms, holds) in [([2000, 2000], ms(3700)), ([2000, 60_000], ms(100))] {
        let (remaining, has_tried) = won_after::<W>(leases_ms.map(lock), holds);
        let whole = ms(leases_ms[1]) * 9 / 10;
        assert!(has_tried && remaining >= whole, "{leases_ms:?}: {has_tried}, {remaining:?}");
    }
}

/// It tries for the third time after 1.5 s, to keep its place.
fn a_waiter_that_has_waited_for_long_is_handed_a_whole_lease_from_its_last_attempt<W: World>() {
    let lock = || FairLock::new(Key::from("k"), lease(4000)).keeping_places_for(lease(1000));
    let server = Server::start();
    let releases = W::releases(&server);
    let [alice, bob] = [lock(), lock()].map(|locker| W::open(&server, locker).notified_by(&releases));
    let guard = alice.win();
    let mut monitor = Monitor::on(&server);
    scope(|scope| {
        let waiting = scope.spawn(move || match bob.acquire(&Wait::notified()) {
            Ok(Attempt::Won(guard)) => W::left(&guard),
            other => panic!("it waits for as long as it takes: {other:?}"),
        });
        until_tries(&mut monitor, 3);
        drop(alice.release(guard));
        let left = waiting.join().unwrap();
        assert!(left >= ms(4000) * 8 / 10, "{left:?}");
        assert!(!monitor.take().iter().any(is_try), "it tries once more");
    });
}

fn a_waiter_that_listens_and_hangs_delays_the_others_as_a_holder_does<W: World>() {
    let server = Server::start();
    let lock = || FairLock::new(Key::from("k"), lease(600)).keeping_places_for(lease(60_000));
    let hangs = Owner { instance: Token::new([9; 16]), ..host::owner(0).unwrap() };
    let [alice, bob] = [(); 2].map(|()| W::open(&server, lock()));
    let guard = alice.win();
    let mut subscribed = server.connect();
    let channel = lock().release_channel(&hangs).unwrap();
    cmd("SUBSCRIBE").arg(&channel.channel).exec(&mut subscribed).unwrap();
    let tried = run(&mut server.connect(), &|redis: &mut Transcript| lock().acquire(&hangs, redis));
    assert!(matches!(tried, Ok(Acquired::Held(_))), "{tried:?}");
    let mut operator = server.connect();
    drop(alice.release(guard));
    assert_eq!(cmd("GET").arg("k").query(&mut operator), Ok(hangs.token.hex()));
    let left: u64 = cmd("PTTL").arg("k").query(&mut operator).unwrap();
    assert!((1..1000).contains(&left), "{left}");
    assert!(matches!(bob.acquire(&Wait::every(ms(20))), Ok(Attempt::Won(_))));
}

fn a_waiter_that_gives_up_as_it_is_handed_the_lock_passes_it_on<W: World>() {
    let server = Server::start();
    let alice = W::open(&server, fair());
    let mut operator = server.connect();
    let owners = [8, 9].map(|instance| Owner { instance: Token::new([instance; 16]), ..host::owner(0).unwrap() });
    let guard = alice.win();
    let mut subscribed = server.connect();
    for owner in &owners {
        let channel = fair().release_channel(owner).unwrap();
        cmd("SUBSCRIBE").arg(&channel.channel).exec(&mut subscribed).unwrap();
        let tried = run(&mut server.connect(), &|redis: &mut Transcript| fair().acquire(owner, redis));
        assert!(matches!(tried, Ok(Acquired::Held(_))), "{tried:?}");
    }
    drop(alice.release(guard));
    for owner in &owners {
        assert_eq!(cmd("GET").arg("k").query(&mut operator), Ok(owner.token.hex()));
        run(&mut server.connect(), &|redis: &mut Transcript| fair().withdraw(owner, redis)).unwrap();
    }
    assert_eq!(cmd("KEYS").arg("*").query(&mut operator), Ok(Vec::<String>::new()));
}
