//! Shadow mode: the old lock decides, and what the new one says beside it is counted.

use lockshift::driver::blocking::{Guard, Lock, Shadow};
use lockshift::driver::{Answer, Attempt, Renewal, Tally};
use lockshift::legacy;
use lockshift::lock::{Extended, Released};
use lockshift::modern::TokenLock;
use lockshift::wire::Key;
use redis::{Connection, cmd};

use super::world::{AN_HOUR, ms, token_on};
use crate::patience::until;
use crate::server::{Options, Server};

const SHADOW: &str = "{k}:shadow";

/// PHP's lock on `k`, for an hour.
fn old() -> legacy::Lock {
    let lease = lockshift::lock::Lease::new(AN_HOUR).expect("an hour is a lease");
    legacy::Lock::new(legacy::find("php-getset").expect("a row of the catalogue"), Key::from("k"), lease)
}

fn new() -> TokenLock {
    token_on(SHADOW, AN_HOUR)
}

/// A client: the old lock on one server, its shadow on the same or another.
fn client(server: &Server, shadows: &Server) -> (Lock<Connection>, Shadow) {
    let shadow = Shadow::new(shadows.connect(), new());
    (Lock::new(server.connect(), old()).shadowed(&shadow), shadow)
}

fn won(lock: &Lock<Connection>) -> Guard<Connection> {
    match lock.try_acquire() {
        Ok(Attempt::Won(guard)) => guard,
        other => panic!("nobody has it, but: {other:?}"),
    }
}

fn keys(server: &Server) -> Vec<String> {
    let mut keys: Vec<String> = cmd("KEYS").arg("*").query(&mut server.connect()).expect("it answers");
    keys.sort();
    keys
}

#[test]
fn two_clients_that_follow_the_lock_agree_with_it() {
    let server = Server::start();
    let ((alice, alices), (bob, bobs)) = (client(&server, &server), client(&server, &server));

    let guard = won(&alice);
    assert_eq!(keys(&server), ["k", SHADOW]);
    assert!(matches!(bob.try_acquire(), Ok(Attempt::Held(_))));
    assert!(matches!(guard.extend(), Ok(Answer::Known(Extended::Until(_)))));
    assert!(matches!(guard.release(), Ok(Answer::Known(Released::Freed))));
    assert_eq!(keys(&server), [""; 0]);
    drop(won(&bob));
    assert_eq!(keys(&server), [""; 0], "a guard that is dropped gives both back");

    assert_eq!(alices.tally(), Tally { agreed: 1, ..Tally::default() });
    assert_eq!(bobs.tally(), Tally { agreed: 2, ..Tally::default() });
}

/// An old client deletes a lock that is not its own: the next one is let in, and the shadow has seen it.
#[test]
fn a_double_hold_is_counted_and_changes_nothing_for_the_caller() {
    let server = Server::start();
    let ((alice, _), (bob, bobs)) = (client(&server, &server), client(&server, &server));
    let alices = won(&alice);
    cmd("DEL").arg("k").exec(&mut server.connect()).unwrap();

    let guard = won(&bob);

    assert_eq!(bobs.tally(), Tally { doubled: 1, ..Tally::default() });
    assert!(matches!(guard.extend(), Ok(Answer::Known(Extended::Until(_)))));
    assert!(matches!(guard.release(), Ok(Answer::Known(Released::Freed))));
    assert_eq!(keys(&server), [SHADOW], "the shadow that is somebody else's stays");
    drop(alices);
    assert_eq!(keys(&server), [""; 0]);
}

#[test]
fn a_holder_without_a_shadow_is_counted_by_whoever_it_keeps_out() {
    let server = Server::start();
    let (bob, bobs) = client(&server, &server);
    let _guard = won(&Lock::new(server.connect(), old()));
    assert!(matches!(bob.try_acquire(), Ok(Attempt::Held(_))));
    assert_eq!(bobs.tally(), Tally { unmatched: 1, ..Tally::default() });
    assert_eq!(keys(&server), ["k"], "who is refused looks, and takes nothing");
}

#[test]
fn a_shadow_that_is_lost_is_counted_when_the_lock_is_extended() {
    let server = Server::start();
    let (alice, alices) = client(&server, &server);
    let mut guard = won(&alice);
    cmd("SET").arg(SHADOW).arg("somebody").exec(&mut server.connect()).unwrap();
    guard.renew(Renewal::every(ms(5))).unwrap();
    until("the renewal has met it", || (alices.tally().doubled > 0).then_some(()));
    assert_eq!(guard.lost(), None);
    assert!(matches!(guard.release(), Ok(Answer::Known(Released::Freed))));
}

#[test]
fn a_shadow_whose_server_refuses_or_is_gone_troubles_nobody() {
    let server = Server::start();
    let full = Server::with(&Options::new().max_memory(1));
    let mut gone = Server::start();
    for shadows in [&full, &gone] {
        let (alice, alices) = client(&server, shadows);
        let guard = won(&alice);
        assert!(matches!(guard.extend(), Ok(Answer::Known(Extended::Until(_)))));
        assert!(matches!(guard.release(), Ok(Answer::Known(Released::Freed))));
        let refused = u64::from(std::ptr::eq(shadows, &full));
        assert_eq!((alices.tally().failed, alices.tally().agreed), (refused, 1 - refused));
    }
    let (alice, alices) = client(&server, &gone);
    let guard = won(&alice);
    gone.kill();
    assert!(matches!(guard.extend(), Ok(Answer::Known(Extended::Until(_)))), "the shadow's failure is not the lock's");
    assert!(matches!(guard.release(), Ok(Answer::Known(Released::Freed))));
    assert!(matches!(alice.try_acquire(), Ok(Attempt::Won(_))));
    assert_eq!(alices.tally(), Tally { agreed: 1, failed: 2, ..Tally::default() });
}

#[test]
fn an_abandoned_lock_leaves_its_shadow_to_the_lease_as_well() {
    let server = Server::start();
    let (alice, _) = client(&server, &server);
    won(&alice).abandon();
    assert_eq!(keys(&server), ["k", SHADOW]);
}
