//! Shadow mode: the old lock decides, what the new one says beside it is counted, and nothing else changes for the caller.

use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use lockshift::driver::{Answer, Attempt, Renewal, ShadowSummary, Wait};
use lockshift::legacy;
use lockshift::lock::{Extended, Released};
use lockshift::modern::TokenLock;
use lockshift::wire::Key;
use redis::cmd;

use super::gate::Gate;
use super::world::{AN_HOUR, World, in_both_worlds, ms, token_on};
use crate::patience::{PATIENCE, pause, until, wall};
use crate::server::{Options, Server};

const SHADOW: &str = "{k}:shadow";

in_both_worlds!(
    two_clients_that_follow_the_lock_agree_with_it,
    a_double_hold_is_counted_and_changes_nothing_for_the_caller,
    a_holder_without_a_shadow_is_counted_by_the_clients_that_it_excludes,
    a_shadow_that_is_lost_is_counted_once_when_the_lock_is_extended,
    a_lock_that_is_lost_with_its_shadow_is_no_double_hold,
    a_winner_does_not_wait_until_the_shadow_is_taken,
    a_lock_is_released_after_its_shadow,
    clients_that_hand_the_lock_to_each_other_find_the_shadow_free,
    a_shadow_whose_server_refuses_or_is_gone_disturbs_no_caller,
    a_shadow_whose_server_is_not_there_yet_is_asked_once_it_is,
    a_shadow_that_hangs_is_not_waited_for_and_keeps_up_afterwards,
    a_release_does_not_wait_for_a_shadow_that_has_hung_for_long,
    a_slow_shadow_is_waited_for_as_long_as_was_asked_for,
    an_abandoned_lock_leaves_its_shadow_to_the_lease_as_well,
    a_late_release_leaves_the_shadow_of_the_next_holder,
);

/// PHP's lock on `k`, for an hour.
fn old() -> legacy::Lock {
    let lease = lockshift::lock::Lease::new(AN_HOUR).expect("an hour is a lease");
    legacy::Lock::new(legacy::find("php-getset").expect("a row of the catalogue"), Key::from("k"), lease)
}

fn new() -> TokenLock {
    token_on(SHADOW, AN_HOUR)
}

/// A client: the old lock on one server, its shadow on the same or another, for which it waits however long it takes.
fn client<W: World>(server: &Server, shadows: &Server) -> (W, W::Shadow) {
    impatient(server, shadows, AN_HOUR)
}

fn impatient<W: World>(server: &Server, shadows: &Server, patience: Duration) -> (W, W::Shadow) {
    let shadow = W::shadow(shadows, new(), patience);
    (W::open(server, old()).shadowed(&shadow), shadow)
}

fn keys(server: &Server) -> Vec<String> {
    let mut keys: Vec<String> = cmd("KEYS").arg("*").query(&mut server.connect()).expect("it answers");
    keys.sort();
    keys
}

fn until_there_are(server: &Server, expected: &[&str]) {
    until(format_args!("the keys are {expected:?}"), || (keys(server) == expected).then_some(()));
}

/// The summary follows the caller, who waits for nothing.
fn until_counted<W: World>(shadow: &W::Shadow, expected: ShadowSummary) {
    until(format_args!("the summary is {expected:?}"), || (W::summary(shadow) == expected).then_some(()));
}

/// Longer than a shadow is waited for by default.
fn a_slow_shadow_is_waited_for_as_long_as_was_asked_for<W: World>() {
    let [server, shadows] = [(); 2].map(|()| Server::start());
    let (client, shadow) = client::<W>(&server, &shadows);
    let guard = client.win();
    until_counted::<W>(&shadow, ShadowSummary { agreed: 1, ..ShadowSummary::default() });
    cmd("CLIENT").arg("PAUSE").arg(400).exec(&mut shadows.connect()).unwrap();
    release(&client, guard);
    assert_eq!(keys(&shadows), [""; 0], "the release has waited for it");
}

fn release<W: World>(client: &W, guard: W::Guard) {
    let released = client.release(guard);
    assert!(matches!(released, Ok(Answer::Known(Released::Freed))), "{released:?}");
}

fn two_clients_that_follow_the_lock_agree_with_it<W: World>() {
    let server = Server::start();
    let ((alice, alices), (bob, bobs)) = (client::<W>(&server, &server), client::<W>(&server, &server));

    let guard = alice.win();
    until_there_are(&server, &["k", SHADOW]);
    assert!(matches!(bob.try_acquire(), Ok(Attempt::Held(_))));
    until_counted::<W>(&bobs, ShadowSummary { agreed: 1, ..ShadowSummary::default() });
    assert!(matches!(alice.extend(&guard), Ok(Answer::Known(Extended::Until(_)))));
    release(&alice, guard);
    assert_eq!(keys(&server), [""; 0]);
    drop(bob.win());
    until_counted::<W>(&bobs, ShadowSummary { agreed: 2, ..ShadowSummary::default() });
    until_there_are(&server, &[]);

    assert_eq!(W::summary(&alices), ShadowSummary { agreed: 1, ..ShadowSummary::default() });
    assert_eq!(W::summary(&bobs), ShadowSummary { agreed: 2, ..ShadowSummary::default() });
}

/// An old client deletes a lock that is not its own: the next one is let in, and the shadow has seen it.
fn a_double_hold_is_counted_and_changes_nothing_for_the_caller<W: World>() {
    let server = Server::start();
    let ((alice, _a), (bob, bobs)) = (client::<W>(&server, &server), client::<W>(&server, &server));
    let alices = alice.win();
    until_there_are(&server, &["k", SHADOW]);
    cmd("DEL").arg("k").exec(&mut server.connect()).unwrap();

    let guard = bob.win();

    until_counted::<W>(&bobs, ShadowSummary { doubled: 1, ..ShadowSummary::default() });
    assert!(matches!(bob.extend(&guard), Ok(Answer::Known(Extended::Until(_)))));
    release(&bob, guard);
    assert_eq!(keys(&server), [SHADOW], "the shadow of another owner stays");
    drop(alices);
    until_there_are(&server, &[]);
    assert_eq!(W::summary(&bobs), ShadowSummary { doubled: 1, ..ShadowSummary::default() });
}

fn a_holder_without_a_shadow_is_counted_by_the_clients_that_it_excludes<W: World>() {
    let server = Server::start();
    let (bob, bobs) = client::<W>(&server, &server);
    let holder = W::open(&server, old());
    let _guard = holder.win();
    assert!(matches!(bob.try_acquire(), Ok(Attempt::Held(_))));
    until_counted::<W>(&bobs, ShadowSummary { unmatched: 1, ..ShadowSummary::default() });
    assert_eq!(keys(&server), ["k"], "a refused client looks, and takes nothing");
}

fn a_shadow_that_is_lost_is_counted_once_when_the_lock_is_extended<W: World>() {
    let server = Server::start();
    let (alice, alices) = client::<W>(&server, &server);
    let mut guard = alice.win();
    until_there_are(&server, &["k", SHADOW]);
    cmd("SET").arg(SHADOW).arg("another owner").exec(&mut server.connect()).unwrap();
    alice.renew(&mut guard, Renewal::every(ms(5)));
    until_counted::<W>(&alices, ShadowSummary { agreed: 1, doubled: 1, ..ShadowSummary::default() });
    for _ in 0..3 {
        assert!(matches!(alice.extend(&guard), Ok(Answer::Known(Extended::Until(_)))));
    }
    assert_eq!(W::lost(&guard), None);
    release(&alice, guard);
    assert_eq!(W::summary(&alices), ShadowSummary { agreed: 1, doubled: 1, ..ShadowSummary::default() });
}

/// The server forgets all: what the lock says and what the shadow would say are the same.
fn a_lock_that_is_lost_with_its_shadow_is_no_double_hold<W: World>() {
    let server = Server::start();
    let (alice, alices) = client::<W>(&server, &server);
    let guard = alice.win();
    until_there_are(&server, &["k", SHADOW]);
    cmd("FLUSHALL").exec(&mut server.connect()).unwrap();
    assert!(matches!(alice.extend(&guard), Ok(Answer::Known(Extended::Lost))));
    drop(alice.release(guard));
    assert_eq!(W::summary(&alices), ShadowSummary { agreed: 1, ..ShadowSummary::default() });
}

fn a_winner_does_not_wait_until_the_shadow_is_taken<W: World + 'static>() {
    let (server, shadows) = (Server::start(), Server::start());
    let (alice, alices) = client::<W>(&server, &shadows);
    let mut gate = Gate::shut(&shadows);
    let (won, winner) = channel();
    thread::spawn(move || {
        let guard = alice.win();
        won.send((alice, guard)).expect("a waiter receives it");
    });
    let (alice, guard) = winner.recv_timeout(PATIENCE).expect("it is won, though its shadow is not");
    gate.until_waiting(1);

    // Who releases early waits for both, in their order.
    let releasing = thread::spawn(move || release(&alice, guard));
    pause(ms(20));
    assert_eq!((keys(&server), keys(&shadows)), (vec!["k".to_owned()], vec![]));
    gate.open();
    releasing.join().expect("it says what went wrong");
    assert_eq!((keys(&server), keys(&shadows)), (vec![], vec![]));
    assert_eq!(W::summary(&alices), ShadowSummary { agreed: 1, ..ShadowSummary::default() });
}

fn a_lock_is_released_after_its_shadow<W: World + 'static>() {
    let (server, shadows) = (Server::start(), Server::start());
    let (alice, alices) = client::<W>(&server, &shadows);
    let guard = alice.win();
    until_there_are(&shadows, &[SHADOW]);
    let mut gate = Gate::shut(&shadows);
    let releasing = thread::spawn(move || release(&alice, guard));

    gate.until_waiting(1);
    pause(ms(20));
    assert_eq!(keys(&server), ["k"], "if it were released, it would be by now");
    gate.open();

    releasing.join().expect("it says what went wrong");
    assert_eq!((keys(&server), keys(&shadows)), (vec![], vec![]));
    assert_eq!(W::summary(&alices), ShadowSummary { agreed: 1, ..ShadowSummary::default() });
}

/// The next holder of the lock finds the shadow released, however quickly it comes.
fn clients_that_hand_the_lock_to_each_other_find_the_shadow_free<W: World>() {
    const ROUNDS: usize = 40;
    let server = Server::start();
    let work = || {
        let (client, shadow) = client::<W>(&server, &server);
        for _ in 0..ROUNDS {
            let Ok(Attempt::Won(guard)) = client.acquire(&Wait::every(ms(1))) else { panic!("a waiter gets it") };
            release(&client, guard);
        }
        let ShadowSummary { agreed, doubled, failed, .. } = W::summary(&shadow);
        assert!(agreed >= ROUNDS as u64);
        assert_eq!((doubled, failed), (0, 0));
    };
    thread::scope(|scope| {
        let workers = [scope.spawn(work), scope.spawn(work), scope.spawn(work)];
        workers.into_iter().for_each(|worker| worker.join().expect("it says what went wrong"));
    });
    assert_eq!(keys(&server), [""; 0]);
}

fn a_shadow_whose_server_refuses_or_is_gone_disturbs_no_caller<W: World>() {
    let server = Server::start();
    let full = Server::with(&Options::new().max_memory(1));
    let (alice, alices) = client::<W>(&server, &full);
    let guard = alice.win();
    until_counted::<W>(&alices, ShadowSummary { failed: 1, ..ShadowSummary::default() });
    assert!(matches!(alice.extend(&guard), Ok(Answer::Known(Extended::Until(_)))));
    release(&alice, guard);
    assert_eq!(W::summary(&alices), ShadowSummary { failed: 1, ..ShadowSummary::default() });

    let mut gone = Server::start();
    let (alice, alices) = client::<W>(&server, &gone);
    let guard = alice.win();
    until_counted::<W>(&alices, ShadowSummary { agreed: 1, ..ShadowSummary::default() });
    gone.kill();
    assert!(
        matches!(alice.extend(&guard), Ok(Answer::Known(Extended::Until(_)))),
        "the shadow's failure is not the lock's"
    );
    release(&alice, guard);
    until_counted::<W>(&alices, ShadowSummary { agreed: 1, failed: 2, ..ShadowSummary::default() });
    release(&alice, alice.win());
    until_counted::<W>(&alices, ShadowSummary { agreed: 1, failed: 3, ..ShadowSummary::default() });
}

fn a_shadow_whose_server_is_not_there_yet_is_asked_once_it_is<W: World>() {
    let server = Server::start();
    let mut late = Server::start();
    late.kill();
    let shadow = W::shadow_to_be(&late, new());
    let alice = W::open(&server, old()).shadowed(&shadow);
    release(&alice, alice.win());
    until_counted::<W>(&shadow, ShadowSummary { failed: 1, ..ShadowSummary::default() });

    late.restart();
    until("it is asked", || {
        release(&alice, alice.win());
        (W::summary(&shadow).agreed > 0).then_some(())
    });
    assert_eq!(keys(&late), [""; 0]);
}

fn a_shadow_that_hangs_is_not_waited_for_and_keeps_up_afterwards<W: World>() {
    let (server, shadows) = (Server::start(), Server::start());
    let (alice, alices) = impatient::<W>(&server, &shadows, ms(1));
    shadows.pause();

    // A wait for the first would never end: nothing resumes that server.
    let rounds = 5;
    for _ in 0..rounds {
        let guard = alice.win();
        assert!(matches!(alice.extend(&guard), Ok(Answer::Known(Extended::Until(_)))));
        release(&alice, guard);
    }
    let ShadowSummary { agreed, failed, .. } = W::summary(&alices);
    assert!(agreed == 0 && failed >= rounds - 1, "it was asked again before it answered: {failed} failed");

    shadows.resume();
    until("it has answered what it was asked, in order", || (W::summary(&alices).failed > failed).then_some(()));
    until_there_are(&shadows, &[]);
}

fn a_release_does_not_wait_for_a_shadow_that_has_hung_for_long<W: World>() {
    let (server, shadows) = (Server::start(), Server::start());
    let (alice, alices) = impatient::<W>(&server, &shadows, ms(2000));
    let guard = alice.win();
    until_counted::<W>(&alices, ShadowSummary { agreed: 1, ..ShadowSummary::default() });
    shadows.pause();
    assert!(matches!(alice.extend(&guard), Ok(Answer::Known(Extended::Until(_)))));
    pause(ms(2100));
    let began = wall();
    release(&alice, guard);
    let took = wall() - began;
    shadows.resume();
    assert!(took < ms(1000), "{took:?}");
}

fn a_late_release_leaves_the_shadow_of_the_next_holder<W: World>() {
    let server = Server::start();
    let (alice, alices) = client::<W>(&server, &server);
    let late = alice.win();
    until_counted::<W>(&alices, ShadowSummary { agreed: 1, ..ShadowSummary::default() });
    // As if both leases had ended.
    cmd("DEL").arg("k").arg(SHADOW).exec(&mut server.connect()).unwrap();
    let next = alice.win();
    until_counted::<W>(&alices, ShadowSummary { agreed: 2, ..ShadowSummary::default() });
    let _ = alice.release(late);
    // The old lock itself deletes what is there.
    cmd("SET").arg("k").arg("4102444800").exec(&mut server.connect()).unwrap();
    assert!(matches!(alice.try_acquire(), Ok(Attempt::Held(_))));
    until_counted::<W>(&alices, ShadowSummary { agreed: 3, ..ShadowSummary::default() });
    assert_eq!(keys(&server), ["k", SHADOW]);
    drop(next);
}

fn an_abandoned_lock_leaves_its_shadow_to_the_lease_as_well<W: World>() {
    let server = Server::start();
    let (alice, alices) = client::<W>(&server, &server);
    let guard = alice.win();
    until_counted::<W>(&alices, ShadowSummary { agreed: 1, ..ShadowSummary::default() });
    alice.abandon(guard);
    assert!(matches!(alice.try_acquire(), Ok(Attempt::Held(_))));
    until_counted::<W>(&alices, ShadowSummary { agreed: 2, ..ShadowSummary::default() });
    pause(ms(20));
    assert_eq!(keys(&server), ["k", SHADOW], "if it were released, it would be by now");
    drop((alice, alices));
    pause(ms(50));
    assert_eq!(keys(&server), ["k", SHADOW], "nor does the end of the shadow release it");
}
