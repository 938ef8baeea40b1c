//! Releases of locks that are lost already: what compares nothing but a key or a thread is not sent any more.

use std::time::Duration;

use lockshift::driver::{Answer, Attempt, Error, Loss, Wait};
use lockshift::legacy;
use lockshift::lock::{Lease, Locker, Ownership, Released};
use lockshift::modern::{ReentrantLock, redisson};
use lockshift::wire::Key;
use redis::cmd;

use super::world::{AN_HOUR, World, in_both_worlds, ms};
use crate::monitor::Monitor;
use crate::patience::{pause, until};
use crate::server::Server;

in_both_worlds! {
    a_lost_lock_without_an_owner_is_left_to_its_successor,
    a_lost_reentrant_lock_does_not_end_the_next_one_of_its_thread,
    a_lost_redisson_lock_does_not_end_the_next_one_of_its_thread,
    a_release_that_is_late_after_its_first_step_is_not_carried_on,
    a_late_release_leaves_no_watch_on_its_connection,
}

fn lease(length: Duration) -> Lease {
    Lease::new(length).unwrap()
}

fn legacy(name: &str, length: Duration) -> legacy::Lock {
    legacy::Lock::new(legacy::find(name).unwrap(), Key::from("k"), lease(length))
}

fn a_lost_lock_without_an_owner_is_left_to_its_successor<W: World>() {
    let server = Server::start();
    let alice = W::open(&server, legacy("java-lua", ms(1000)));
    let bob = W::open(&server, legacy("java-lua", AN_HOUR));
    let lost = alice.win();
    assert_eq!(alice.wait_until_lost(&lost), Some(Loss::Overrun));
    let Ok(Attempt::Won(guard)) = bob.acquire(&Wait::every(ms(5))) else { panic!("it has expired") };

    let released = alice.release(lost);

    assert_eq!(cmd("EXISTS").arg("k").query(&mut server.connect()), Ok(true), "Bob holds it");
    assert!(matches!(released, Ok(Answer::Known(Released::Lost))), "{released:?}");
    assert!(matches!(bob.release(guard), Ok(Answer::Known(Released::Freed))));
}

/// One thread acquires a lock, loses it, and acquires it once more before it drops the old guard.
fn acquire_lose_and_acquire_again<W: World>(locker: impl Locker + 'static) {
    let server = Server::start();
    let world = W::open(&server, locker);
    let lost = world.win();
    assert_eq!(world.wait_until_lost(&lost), Some(Loss::Overrun));
    let mut operator = server.connect();
    until("the key has expired", || {
        let exists: bool = cmd("EXISTS").arg("k").query(&mut operator).unwrap();
        (!exists).then_some(())
    });
    let guard = world.win();

    let released = world.release(lost);

    assert!(matches!(world.ownership(&guard), Ok(Ownership::Ours { .. })), "the new lock is another one");
    assert!(matches!(released, Ok(Answer::Known(Released::Lost))), "{released:?}");
}

fn a_lost_reentrant_lock_does_not_end_the_next_one_of_its_thread<W: World>() {
    acquire_lose_and_acquire_again::<W>(ReentrantLock::new(Key::from("k"), lease(ms(1000))));
}

fn a_lost_redisson_lock_does_not_end_the_next_one_of_its_thread<W: World>() {
    acquire_lose_and_acquire_again::<W>(redisson::Mutex::new(Key::from("k"), lease(ms(1000))));
}

fn a_release_that_is_late_after_its_first_step_is_not_carried_on<W: World>() {
    // GET, and DEL if the value is the own one; the key has no TTL.
    let (sent, released) = released_late::<W>("sell-redis-lock");
    assert_eq!(sent, ["GET"], "the reply to GET came after the lease had ended");
    assert!(matches!(released, Ok(Answer::Known(Released::Lost))), "{released:?}");
}

fn a_late_release_leaves_no_watch_on_its_connection<W: World>() {
    let (sent, released) = released_late::<W>("redis-py-2.10");
    assert_eq!(sent, ["WATCH", "GET", "UNWATCH"]);
    assert!(matches!(released, Ok(Answer::Known(Released::Lost))), "{released:?}");
}

/// A release of this dialect whose first reply comes after the lease has ended: what it sends, and its outcome.
fn released_late<W: World>(name: &str) -> (Vec<String>, Result<Answer<Released>, Error>) {
    let server = Server::start();
    let alice = W::open(&server, legacy(name, ms(1000)));
    let guard = alice.win();
    let mut monitor = Monitor::on(&server);
    server.pause();

    let released = std::thread::scope(|scope| {
        let releasing = scope.spawn(move || alice.release(guard));
        pause(ms(1100));
        server.resume();
        releasing.join().unwrap()
    });

    let name = |words: &[Vec<u8>]| String::from_utf8_lossy(&words[0]).into_owned();
    (monitor.take().iter().map(|line| name(&line.words)).collect(), released)
}
