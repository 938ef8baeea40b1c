//! Winning, holding, looking, extending and releasing.

use std::time::Duration;

use lockshift::driver::{Answer, Attempt, ErrorKind, Loss};
use lockshift::legacy;
use lockshift::lock::{Extended, Held, Lease, Ownership, Refusal, Released};
use lockshift::wire::Key;
use redis::cmd;

use super::gate::Gate;
use super::lockers::Watched;
use super::world::{AN_HOUR, World, in_both_worlds, ms, token};
use crate::monitor::Monitor;
use crate::patience::pause;
use crate::server::{Options, Server};

in_both_worlds! {
    one_holds_the_other_is_refused_and_then_it_is_free,
    every_acquisition_has_a_token_of_its_own,
    the_server_says_whose_it_is,
    a_late_release_leaves_the_next_holder_alone,
    an_extension_counts_from_its_sending,
    a_lock_that_was_taken_is_lost_once_it_is_extended,
    a_lock_that_has_expired_by_our_own_clock_is_not_asked_for_again,
    a_lock_won_after_its_lease_has_expired_is_released,
    a_lock_that_never_expires_is_held_beyond_its_lease,
    a_protocol_with_watch_runs_on_a_connection_of_its_own,
    a_transaction_that_was_refused_leaves_the_connection_usable,
}

fn one_holds_the_other_is_refused_and_then_it_is_free<W: World>() {
    let server = Server::start();
    let (alice, bob) = (W::open(&server, token(AN_HOUR)), W::open(&server, token(AN_HOUR)));

    let guard = alice.win();
    let live = Held::because(Refusal::Live);
    assert!(matches!(bob.try_acquire(), Ok(Attempt::Held(held)) if held == live));
    assert!(matches!(alice.try_acquire(), Ok(Attempt::Held(held)) if held == live), "not even to herself");

    assert!(matches!(alice.release(guard), Ok(Answer::Known(Released::Freed))));
    bob.win();
}

fn every_acquisition_has_a_token_of_its_own<W: World>() {
    let server = Server::start();
    let world = W::open(&server, token(AN_HOUR));
    let mut operator = server.connect();
    let mut tokens: Vec<_> = (0..20)
        .map(|_| {
            let guard = world.win();
            let value: String = cmd("GET").arg("k").query(&mut operator).unwrap();
            assert!(matches!(world.release(guard), Ok(Answer::Known(Released::Freed))));
            value
        })
        .collect();
    tokens.sort();
    tokens.dedup();
    assert_eq!(tokens.len(), 20);
    assert!(tokens.iter().all(|token| token.len() == 32), "128 bits: {tokens:?}");
}

fn the_server_says_whose_it_is<W: World>() {
    let server = Server::start();
    let world = W::open(&server, token(AN_HOUR));
    let mut operator = server.connect();
    let guard = world.win();

    let Ok(Ownership::Ours { left: Some(left) }) = world.ownership(&guard) else { panic!("it is ours") };
    assert!(left <= AN_HOUR && left > AN_HOUR / 2, "{left:?}");
    cmd("SET").arg("k").arg("stolen").exec(&mut operator).unwrap();
    assert_eq!(world.ownership(&guard).unwrap(), Ownership::Theirs);
    cmd("DEL").arg("k").exec(&mut operator).unwrap();
    assert_eq!(world.ownership(&guard).unwrap(), Ownership::Free);
}

fn a_late_release_leaves_the_next_holder_alone<W: World>() {
    let server = Server::start();
    let world = W::open(&server, token(AN_HOUR));
    let mut operator = server.connect();
    let guard = world.win();
    cmd("SET").arg("k").arg("another owner").exec(&mut operator).unwrap();

    assert!(matches!(world.release(guard), Ok(Answer::Known(Released::Lost))));

    assert_eq!(cmd("GET").arg("k").query(&mut operator), Ok("another owner".to_owned()));
}

fn an_extension_counts_from_its_sending<W: World>() {
    let server = Server::start();
    let world = W::open(&server, token(AN_HOUR));
    let mut operator = server.connect();
    let guard = world.win();
    cmd("PEXPIRE").arg("k").arg(60_000).exec(&mut operator).unwrap();
    // More than the extension takes on a busy machine.
    pause(ms(500));
    let left_before = W::left(&guard);

    let Ok(Answer::Known(Extended::Until(hold))) = world.extend(&guard) else { panic!("it is ours") };

    assert!(W::left(&guard) > left_before);
    assert!(W::left(&guard) <= hold.lease.validity(), "less the drift");
    let ttl_ms: u64 = cmd("PTTL").arg("k").query(&mut operator).unwrap();
    assert!(ms(ttl_ms) > AN_HOUR / 2, "the server knows too");
}

fn a_lock_that_was_taken_is_lost_once_it_is_extended<W: World>() {
    let server = Server::start();
    let world = W::open(&server, token(AN_HOUR));
    let guard = world.win();
    cmd("SET").arg("k").arg("stolen").exec(&mut server.connect()).unwrap();
    assert_eq!(W::lost(&guard), None, "no one has notified us");

    assert!(matches!(world.extend(&guard), Ok(Answer::Known(Extended::Lost))));

    assert_eq!(W::lost(&guard), Some(Loss::Taken));
    assert_eq!(world.wait_until_lost(&guard), Some(Loss::Taken));
    assert_eq!(W::left(&guard), ms(0));
}

fn a_lock_that_has_expired_by_our_own_clock_is_not_asked_for_again<W: World>() {
    let server = Server::start();
    let world = W::open(&server, token(ms(50)));
    let guard = world.win();
    assert_eq!(world.wait_until_lost(&guard), Some(Loss::Overrun));
    let mut monitor = Monitor::on(&server);

    assert!(matches!(world.extend(&guard), Ok(Answer::Known(Extended::Lost))));

    assert_eq!(monitor.take(), []);
    assert_eq!(W::lost(&guard), Some(Loss::Overrun));
}

fn a_lock_won_after_its_lease_has_expired_is_released<W: World>() {
    let server = Server::start();
    let world = W::open(&server, token(ms(100)));
    let mut gate = Gate::shut(&server);
    let mut monitor = Monitor::on(&server);

    let attempt = std::thread::scope(|scope| {
        let trying = scope.spawn(move || (world.try_acquire(), world));
        gate.until_waiting(1);
        pause(ms(100));
        gate.open();
        trying.join().unwrap().0
    });

    assert!(matches!(attempt, Ok(Attempt::TooLate)), "{attempt:?}");
    let sent: Vec<_> = monitor.take().iter().map(|line| line.words[0].clone()).collect();
    assert!(sent.iter().any(|name| name == b"EVAL"), "released at once");
}

fn a_lock_that_never_expires_is_held_beyond_its_lease<W: World>() {
    let server = Server::start();
    let dialect = legacy::find("naive-setnx").unwrap();
    let world = W::open(&server, legacy::Lock::new(dialect, Key::from("k"), Lease::new(ms(1)).unwrap()));
    let guard = world.win();
    pause(ms(10));
    assert_eq!((W::lost(&guard), W::left(&guard)), (None, Duration::MAX));
    assert!(matches!(world.release(guard), Ok(Answer::Known(Released::Freed))));
}

fn a_protocol_with_watch_runs_on_a_connection_of_its_own<W: World>() {
    let server = Server::start();
    let (alice, bob) = (W::open(&server, Watched(Key::from("k"))), W::open(&server, Watched(Key::from("k"))));
    for _ in 0..2 {
        let guard = alice.win();
        assert!(matches!(bob.try_acquire(), Ok(Attempt::Held(_))));
        assert!(matches!(alice.release(guard), Ok(Answer::Known(Released::Freed))));
    }
    bob.win();
}

fn a_transaction_that_was_refused_leaves_the_connection_usable<W: World>() {
    let server = Server::with(&Options::new().max_memory(1));
    let world = W::open(&server, Watched(Key::from("k")));

    assert_eq!(world.try_acquire().unwrap_err().kind(), ErrorKind::OutOfMemory);

    cmd("CONFIG").arg(&["SET", "maxmemory", "0"]).exec(&mut server.connect()).unwrap();
    world.win();
}
