//! Waiting for a lock that another client holds.

use std::time::Duration;

use lockshift::driver::{Answer, Attempt, ErrorKind, Wait};
use lockshift::lock::Released;
use lockshift::modern::Publish;
use redis::cmd;

use super::losing_replies::{Break, Plan};
use super::world::{AN_HOUR, World, in_both_worlds, ms, token};
use crate::monitor::{Line, Monitor};
use crate::patience::{now, until};
use crate::server::Server;

in_both_worlds! {
    a_waiter_wins_when_the_holder_releases,
    a_waiter_wins_when_the_lease_has_expired,
    a_waiter_gives_up_at_the_deadline_after_a_last_try,
    no_patience_is_one_try,
    so_many_tries_and_no_more,
    a_waiter_without_a_place_in_a_queue_pauses_as_it_says,
    a_lost_reply_does_not_end_the_waiting,
    an_error_ends_the_waiting,
}

/// How often `SET` was tried.
fn tries(lines: &[Line]) -> usize {
    lines.iter().filter(|line| line.words[0] == b"SET").count()
}

fn acquire_as_another_owner(server: &Server, lease: Duration) {
    let millis = u64::try_from(lease.as_millis()).unwrap();
    cmd("SET").arg("k").arg("another owner").arg("PX").arg(millis).exec(&mut server.connect()).unwrap();
}

fn a_waiter_wins_when_the_holder_releases<W: World>() {
    let server = Server::start();
    let (alice, bob) = (W::open(&server, token(AN_HOUR)), W::open(&server, token(AN_HOUR)));
    let guard = alice.win();
    let mut monitor = Monitor::on(&server);

    std::thread::scope(|scope| {
        let waiting = scope.spawn(move || {
            assert!(matches!(bob.acquire(&Wait::backoff()), Ok(Attempt::Won(_))));
        });
        let mut tried = 0;
        until("Bob has tried three times", || {
            tried += tries(&monitor.take());
            (tried >= 3).then_some(())
        });
        assert!(matches!(alice.release(guard), Ok(Answer::Known(Released::Freed))));
        waiting.join().unwrap();
    });
}

fn a_waiter_wins_when_the_lease_has_expired<W: World>() {
    let server = Server::start();
    acquire_as_another_owner(&server, ms(50));
    let world = W::open(&server, token(AN_HOUR));
    assert!(matches!(world.acquire(&Wait::every(ms(10))), Ok(Attempt::Won(_))));
}

fn a_waiter_gives_up_at_the_deadline_after_a_last_try<W: World>() {
    let server = Server::start();
    acquire_as_another_owner(&server, AN_HOUR);
    let world = W::open(&server, token(AN_HOUR));
    let mut monitor = Monitor::on(&server);
    let began = now();

    let attempt = world.acquire(&Wait::every(AN_HOUR).for_at_most(ms(80)));

    assert!(matches!(attempt, Ok(Attempt::Held(_))), "{attempt:?}");
    assert!(began.elapsed() >= ms(80));
    assert!(began.elapsed() < AN_HOUR, "the pause was cut at the deadline");
    assert_eq!(tries(&monitor.take()), 2, "the first, and one at the very end");
}

fn no_patience_is_one_try<W: World>() {
    let server = Server::start();
    acquire_as_another_owner(&server, AN_HOUR);
    let world = W::open(&server, token(AN_HOUR));
    let mut monitor = Monitor::on(&server);
    assert!(matches!(world.acquire(&Wait::backoff().for_at_most(Duration::ZERO)), Ok(Attempt::Held(_))));
    assert_eq!(tries(&monitor.take()), 1);
}

fn so_many_tries_and_no_more<W: World>() {
    let server = Server::start();
    acquire_as_another_owner(&server, AN_HOUR);
    let world = W::open(&server, token(AN_HOUR));
    let mut monitor = Monitor::on(&server);
    assert!(matches!(world.acquire(&Wait::every(ms(1)).tries(7)), Ok(Attempt::Held(_))));
    assert_eq!(tries(&monitor.take()), 7);
}

/// The reply says when the lease ends. Only a place in a queue has to be claimed by then.
fn a_waiter_without_a_place_in_a_queue_pauses_as_it_says<W: World>() {
    let server = Server::start();
    acquire_as_another_owner(&server, ms(200));
    let world = W::open(&server, token(AN_HOUR).announced(Publish::Everywhere));
    let began = now();
    assert!(matches!(world.acquire(&Wait::every(ms(1500))), Ok(Attempt::Won(_))));
    assert!(began.elapsed() >= ms(1500), "{:?}", began.elapsed());
}

fn a_lost_reply_does_not_end_the_waiting<W: World>() {
    let server = Server::start();
    let plan = Plan::default();
    let world = W::open_lossy(&server, token(AN_HOUR), plan.clone());
    let mut monitor = Monitor::on(&server);
    plan.set(Break::Reply("SET"));
    assert!(matches!(world.acquire(&Wait::backoff()), Ok(Attempt::Won(_))));
    assert_eq!(tries(&monitor.take()), 2);
}

fn an_error_ends_the_waiting<W: World>() {
    let server = Server::start();
    cmd("HSET").arg(&["k", "field", "value"]).exec(&mut server.connect()).unwrap();
    cmd("ACL").arg(&["SETUSER", "default", "-set"]).exec(&mut server.connect()).unwrap();
    let world = W::open(&server, token(AN_HOUR));
    assert_eq!(world.acquire(&Wait::backoff()).unwrap_err().kind(), ErrorKind::NoPermission);
}
