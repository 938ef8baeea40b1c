//! What becomes of a lock, as its counters and the log tell it.

use std::sync::Arc;

use lockshift::driver::{Attempt, Counters, Renewal, Wait};
use log::Level;
use redis::cmd;

use super::logbook;
use super::world::{AN_HOUR, World, in_both_worlds, ms, token, token_on};
use crate::patience::until;
use crate::server::Server;

in_both_worlds! {
    each_end_of_a_try_is_counted,
    a_lost_lock_is_counted_once,
    several_locks_share_their_counters,
    every_event_has_its_target,
}

fn each_end_of_a_try_is_counted<W: World>() {
    let server = Server::start();
    let counters = Arc::new(Counters::default());
    let [alice, bob] = [(); 2].map(|()| W::open(&server, token(AN_HOUR)).counting(&counters));
    let guard = alice.win();
    assert!(matches!(bob.try_acquire(), Ok(Attempt::Held(_))));
    assert!(matches!(bob.acquire(&Wait::every(ms(1)).for_at_most(ms(20))), Ok(Attempt::Held(_))));
    drop(alice.release(guard));
    let counted = counters.counted();
    assert_eq!((counted.acquired, counted.refused, counted.lost, counted.intruded), (1, 2, 0, 0));
    assert!(counted.waited >= ms(20), "{counted:?}");
    assert!(counted.held >= ms(20), "Alice held while Bob waited: {counted:?}");

    counters.note_intrusion();
    assert_eq!(counters.counted().intruded, 1);
}

fn a_lost_lock_is_counted_once<W: World>() {
    let server = Server::start();
    let counters = Arc::new(Counters::default());
    let world = W::open(&server, token(ms(400))).counting(&counters);
    let mut guard = world.win();
    world.renew(&mut guard, Renewal::every(ms(5)));
    cmd("SET").arg("k").arg("another owner").exec(&mut server.connect()).unwrap();
    world.wait_until_lost(&guard);
    drop(world.release(guard));
    assert_eq!(counters.counted().lost, 1);

    // Overrun and abandoned: the server learns nothing, and the counters count it.
    cmd("DEL").arg("k").exec(&mut server.connect()).unwrap();
    let guard = world.win();
    world.wait_until_lost(&guard);
    world.abandon(guard);
    assert_eq!(counters.counted().lost, 2);

    // Found out by the release.
    cmd("DEL").arg("k").exec(&mut server.connect()).unwrap();
    let guard = world.win();
    cmd("SET").arg("k").arg("another owner").exec(&mut server.connect()).unwrap();
    drop(world.release(guard));
    assert_eq!(counters.counted().lost, 3);
}

fn several_locks_share_their_counters<W: World>() {
    let server = Server::start();
    let counters = Arc::new(Counters::default());
    for key in ["one", "other"] {
        let world = W::open(&server, token_on(key, AN_HOUR)).counting(&counters);
        let guard = world.win();
        drop(world.release(guard));
    }
    assert_eq!(counters.counted().acquired, 2);
}

/// The targets that are documented, each with what is logged under it.
fn every_event_has_its_target<W: World>() {
    logbook::open();
    let server = Server::start();
    let key = format!("events {}", std::any::type_name::<W>());
    let logged = |(target, level, text): (&str, Level, &str)| {
        let whole = format!("lock key `{key}`: {text}");
        until(format_args!("{target} tells `{text}`"), || logbook::has(target, level, &whole).then_some(()));
    };
    let [alice, bob] = [(); 2].map(|()| W::open(&server, token_on(&key, AN_HOUR)));
    let mut guard = alice.win();
    logged(("lockshift::driver::acquire", Level::Debug, "acquired"));
    assert!(matches!(bob.try_acquire(), Ok(Attempt::Held(_))));
    logged(("lockshift::driver::acquire", Level::Debug, "not acquired"));
    alice.renew(&mut guard, Renewal::every(ms(5)));
    logged(("lockshift::driver::renew", Level::Debug, "renewed"));
    cmd("SET").arg(&key).arg("another owner").exec(&mut server.connect()).unwrap();
    logged(("lockshift::driver::renew", Level::Warn, "lost, and no longer renewed"));
    alice.wait_until_lost(&guard);
    drop(guard);
    logged(("lockshift::driver::release", Level::Warn, "had been lost before its release"));
}

/// While another waiter of the program speaks for it, it sends nothing.
#[cfg(feature = "tokio")]
#[tokio::test(flavor = "multi_thread")]
async fn a_wait_that_is_given_up_before_its_first_attempt_is_counted() {
    use lockshift::driver::aio::{Lock, ReleaseListener};
    use lockshift::modern::Publish;
    use tokio::time::timeout;

    let server = Server::start();
    let listener = ReleaseListener::new(server.client());
    let connection = server.client().get_multiplexed_async_connection().await.unwrap();
    let lock = Lock::new(connection, token(AN_HOUR).announced(Publish::Everywhere)).notified_by(&listener);
    let Ok(Attempt::Won(guard)) = lock.try_acquire().await else { panic!("the lock is free") };
    let wait = Wait::notified();
    let mut bob = Box::pin(lock.acquire(&wait));
    assert!(timeout(ms(20), &mut bob).await.is_err(), "it is held");
    assert!(timeout(ms(20), lock.acquire(&wait)).await.is_err(), "Carol's turn does not come");
    assert_eq!(lock.counters().counted().refused, 1, "Carol");
    drop(bob);
    let counted = lock.counters().counted();
    assert_eq!((counted.acquired, counted.refused), (1, 2));
    assert!(counted.waited >= ms(60), "40 and 20: {counted:?}");
    drop(guard);
}
