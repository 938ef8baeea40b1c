//! The bridge lock through both drivers, on a real server, beside old clients that do what they do.

use std::time::Duration;

use lockshift::bridge::{Bridge, new_key};
use lockshift::driver::{Answer, Attempt, Loss, Renewal, blocking};
use lockshift::legacy;
use lockshift::lock::{Extended, Lease, Ownership, Refusal, Released};
use lockshift::modern::{FencedTokenLock, TokenLock};
use lockshift::wire::Key;
use redis::{Connection, cmd};

use super::losing_replies::{Break, Plan};
use super::world::{AN_HOUR, World, in_both_worlds, ms};
use crate::patience::until;
use crate::server::{Cluster, Server};

const OLD: &str = "invoices";
const NEW: &str = "{invoices}:token";
/// A stamp in the year 2100.
const ANOTHERS: &str = "4102444800";

fn lease(length: Duration) -> Lease {
    Lease::new(length).expect("a lease")
}

fn bridge_on(key: &str) -> Bridge {
    let php = legacy::find("php-getset").expect("a row of the catalogue");
    Bridge::new(&[php], Key::from(key), lease(AN_HOUR)).expect("PHP can be bridged")
}

fn bridge() -> Bridge {
    bridge_on(OLD)
}

/// What stands in the old key and in the new one.
fn stands(operator: &mut Connection) -> [Option<String>; 2] {
    [OLD, NEW].map(|key| cmd("GET").arg(key).query(operator).expect("a string, or nothing"))
}

fn pttl(operator: &mut Connection, key: &str) -> i64 {
    cmd("PTTL").arg(key).query(operator).expect("it answers")
}

in_both_worlds! {
    a_holder_learns_of_an_intrusion_and_leaves_the_intruders_lock_to_its_end,
    a_renewal_tells_of_an_intrusion_at_once,
    a_lock_that_a_late_del_has_freed_is_closed_again,
    an_unnoticed_intrusion_is_reported_by_the_release,
    a_try_whose_reply_is_lost_leaves_neither_key_behind,
    an_extension_whose_reply_is_lost_is_no_intrusion,
    both_keys_end_with_the_lease,
    a_key_of_another_type_is_left_alone,
    a_client_of_the_token_lock_alone_is_excluded_and_excludes,
}

fn a_holder_learns_of_an_intrusion_and_leaves_the_intruders_lock_to_its_end<W: World>() {
    let server = Server::start();
    let mut operator = server.connect();
    let world = W::open(&server, bridge());
    let guard = world.win();
    cmd("GETSET").arg(OLD).arg(ANOTHERS).exec(&mut operator).unwrap();

    assert!(matches!(world.ownership(&guard), Ok(Ownership::Intruded { left: Some(_) })));
    assert!(matches!(world.extend(&guard), Ok(Answer::Known(Extended::Intruded(_)))));

    assert_eq!(W::lost(&guard), Some(Loss::Intruded));
    assert_eq!(world.wait_until_lost(&guard), Some(Loss::Intruded), "waiters are notified at once");
    assert_eq!(W::left(&guard), Duration::ZERO);
    assert!(matches!(world.release(guard), Ok(Answer::Known(Released::Intruded))));
    assert_eq!(stands(&mut operator), [Some(ANOTHERS.to_owned()), None], "it keeps others out");
}

fn a_renewal_tells_of_an_intrusion_at_once<W: World>() {
    let server = Server::start();
    let mut operator = server.connect();
    let world = W::open(&server, bridge());
    let mut guard = world.win();
    world.renew(&mut guard, Renewal::every(ms(5)));
    cmd("GETSET").arg(OLD).arg(ANOTHERS).exec(&mut operator).unwrap();
    assert_eq!(until("the renewal has met it", || W::lost(&guard)), Loss::Intruded);
}

fn a_lock_that_a_late_del_has_freed_is_closed_again<W: World>() {
    let server = Server::start();
    let mut operator = server.connect();
    let world = W::open(&server, bridge());
    let guard = world.win();
    cmd("DEL").arg(OLD).exec(&mut operator).unwrap();

    assert!(matches!(world.extend(&guard), Ok(Answer::Known(Extended::Intruded(_)))));

    assert!(stands(&mut operator)[0].is_some());
    assert!(matches!(world.release(guard), Ok(Answer::Known(Released::Freed))), "no other client's was overwritten");
    assert_eq!(stands(&mut operator), [None, None]);
}

fn an_unnoticed_intrusion_is_reported_by_the_release<W: World>() {
    let server = Server::start();
    let mut operator = server.connect();
    let world = W::open(&server, bridge());
    let guard = world.win();
    cmd("SET").arg(OLD).arg(ANOTHERS).exec(&mut operator).unwrap();
    assert!(matches!(world.release(guard), Ok(Answer::Known(Released::Intruded))));
    assert_eq!(stands(&mut operator), [Some(ANOTHERS.to_owned()), None], "the lock of another owner stays");
}

fn a_try_whose_reply_is_lost_leaves_neither_key_behind<W: World>() {
    let server = Server::start();
    let plan = Plan::default();
    let world = W::open_lossy(&server, bridge(), plan.clone());
    drop(world.release(world.win()));

    plan.set(Break::Reply("EVALSHA"));
    assert!(matches!(world.try_acquire(), Ok(Attempt::Unknown(_))));
    assert_eq!(stands(&mut server.connect()), [None, None]);
    world.win();
}

fn an_extension_whose_reply_is_lost_is_no_intrusion<W: World>() {
    let server = Server::start();
    let plan = Plan::default();
    let world = W::open_lossy(&server, bridge(), plan.clone());
    let guard = world.win();
    assert!(matches!(world.extend(&guard), Ok(Answer::Known(Extended::Until(_)))));

    plan.set(Break::Reply("EVALSHA"));
    assert!(matches!(world.extend(&guard), Ok(Answer::Unknown(_))));

    assert!(matches!(world.extend(&guard), Ok(Answer::Known(Extended::Until(_)))));
    assert!(matches!(world.release(guard), Ok(Answer::Known(Released::Freed))));
    assert_eq!(stands(&mut server.connect()), [None, None]);
}

fn both_keys_end_with_the_lease<W: World>() {
    let server = Server::start();
    let mut operator = server.connect();
    let world = W::open(&server, bridge());
    let guard = world.win();
    let hour = 3_600_000;
    assert!([OLD, NEW].iter().all(|key| (1..=hour).contains(&pttl(&mut operator, key))));
    cmd("PERSIST").arg(OLD).exec(&mut operator).unwrap();
    let extended = world.extend(&guard);
    assert!(matches!(extended, Ok(Answer::Known(Extended::Intruded(_)))), "an old client may have written it back");
    assert!([OLD, NEW].iter().all(|key| (1..=hour).contains(&pttl(&mut operator, key))));
}

fn a_key_of_another_type_is_left_alone<W: World>() {
    let server = Server::start();
    let mut operator = server.connect();
    cmd("RPUSH").arg(OLD).arg("x").exec(&mut operator).unwrap();
    let Ok(Attempt::Held(held)) = W::open(&server, bridge()).try_acquire() else { panic!("it is no lock") };
    assert_eq!(held.reason, Refusal::Unreadable);
    assert_eq!(cmd("DBSIZE").query(&mut operator), Ok(1), "only the list");
}

fn a_client_of_the_token_lock_alone_is_excluded_and_excludes<W: World>() {
    let server = Server::start();
    let bridge = W::open(&server, bridge());
    let token = W::open(&server, TokenLock::new(new_key(&Key::from(OLD)), lease(AN_HOUR)));
    for [one, other] in [[&bridge, &token], [&token, &bridge]] {
        let guard = one.win();
        let Ok(Attempt::Held(held)) = other.try_acquire() else { panic!("it is held") };
        assert_eq!(held.reason, Refusal::Live);
        assert!(matches!(one.release(guard), Ok(Answer::Known(Released::Freed))));
    }
}

/// Whatever braces a key has, both keys and the counter are in one slot.
#[test]
fn on_a_cluster() {
    let cluster = Cluster::start();
    for key in ["invoices", "user:{7}", "a}b", "{}x", "{", ""] {
        let connection = cluster.target().connect().unwrap();
        let lock = blocking::Lock::new(connection, bridge_on(key).fenced());
        let Ok(Attempt::Won(guard)) = lock.try_acquire() else { panic!("`{key}`: the lock is free") };
        assert!(matches!(lock.try_acquire(), Ok(Attempt::Held(_))), "`{key}`");
        assert!(matches!(guard.extend(), Ok(Answer::Known(Extended::Until(_)))), "`{key}`");
        assert!(matches!(guard.release(), Ok(Answer::Known(Released::Freed))), "`{key}`");
    }
}

#[test]
fn fences_grow_across_bridges_and_new_clients() {
    let server = Server::start();
    let bridge = blocking::Lock::new(server.connect(), bridge().fenced());
    let token = FencedTokenLock::new(new_key(&Key::from(OLD)), lease(AN_HOUR));
    let token = blocking::Lock::new(server.connect(), token);
    let fences = [&bridge, &token, &bridge].map(|lock| {
        let Ok(Attempt::Won(guard)) = lock.try_acquire() else { panic!("the lock is free") };
        let fence = guard.hold().fence;
        drop(guard.release());
        fence
    });
    assert!(fences.is_sorted_by(|one, next| one < next) && fences[0].is_some(), "{fences:?}");
}
