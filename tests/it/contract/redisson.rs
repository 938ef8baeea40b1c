//! Redisson's locks among themselves, on a real server: what stands there, who is woken, and where they trip.

mod observed_server;

use std::time::Duration;

use lockshift::lock::{Lease, Locker, Mode, Owner, Released, Token};
use lockshift::modern::Publish;
use lockshift::modern::redisson::{Fair, Kind, Mutex, ReadWrite};
use lockshift::wire::Key;
use redis::cmd;

use super::stage::{ALICE, BOB};
use observed_server::{Client, Keys, ObservedServer};

const CAROL: Owner = Owner::new(Token::new([0xcc; 16]), 4713, 9);

fn lease() -> Lease {
    Lease::new(Duration::from_secs(10)).expect("ten seconds are a lease")
}

fn mutex(kind: Kind) -> Mutex {
    Mutex::new(Key::from("k"), lease()).kind(kind)
}

fn side(mode: Mode) -> ReadWrite {
    ReadWrite::new(Key::from("k"), mode, lease())
}

fn fair() -> Fair {
    Fair::new(Key::from("k"), lease())
}

fn keys<const N: usize>(expected: [(&str, &str); N]) -> Keys {
    expected.map(|(name, content)| (name.to_owned(), content.to_owned())).into()
}

#[test]
fn what_stands_on_the_server() {
    let hash = ("k", "hash <alice> 2 for a time");
    let read = |entry: &str| (format!("{{k}}:<alice>:rwlock_timeout:{entry}"), "string 1 for a time".to_owned());
    let table: [(&dyn Fn() -> Client, Keys); 5] = [
        (&|| Client::of(mutex(Kind::Reentrant), ALICE), keys([hash])),
        (&|| Client::of(mutex(Kind::Fenced), ALICE), keys([hash, ("redisson_lock_token:{k}", "string 2 for ever")])),
        (&|| Client::of(fair(), ALICE), keys([hash])),
        (
            &|| Client::of(side(Mode::Shared), ALICE),
            [("k".to_owned(), "hash mode read <alice> 2 for a time".to_owned()), read("1"), read("2")].into(),
        ),
        (&|| Client::of(side(Mode::Exclusive), ALICE), keys([("k", "hash mode write <alice>:write 2 for a time")])),
    ];
    for (client, expected) in table {
        let mut observed = ObservedServer::open();
        let mut alice = client();
        assert!(observed.enters(&mut alice) && observed.enters(&mut alice), "she may enter again");
        assert_eq!(observed.keys(), expected);
        assert_eq!(observed.leaves(&mut alice), Released::StillHeld);
        assert_eq!(observed.leaves(&mut alice), Released::Freed);
        let left: Vec<_> = observed.keys().into_keys().collect();
        let counter = expected.contains_key("redisson_lock_token:{k}");
        assert_eq!(left, if counter { vec!["redisson_lock_token:{k}".to_owned()] } else { vec![] });
    }
}

#[test]
fn a_fence_grows_with_every_entry() {
    let mut observed = ObservedServer::open();
    let [mut alice, mut bob] = [ALICE, BOB].map(|owner| Client::of(mutex(Kind::Fenced), owner));
    assert!(observed.enters(&mut alice) && observed.enters(&mut alice) && !observed.enters(&mut bob));
    let fences: Vec<_> = alice.holds.iter().map(|hold| hold.fence).collect();
    assert_eq!(fences, [Some(1), Some(2)]);
    observed.leaves(&mut alice);
    observed.leaves(&mut alice);
    assert!(observed.enters(&mut bob));
    assert_eq!(bob.holds[0].fence, Some(3));
}

/// Only the last release is announced, and that of a spinning lock is not: a client that listens for another kind sleeps on.
#[test]
fn each_release_wakes_its_kind_of_waiter() {
    let channel = "redisson_lock__channel:{k} 0";
    let table: [(&dyn Fn() -> Client, &[&str]); 6] = [
        (&|| Client::of(mutex(Kind::Reentrant), ALICE), &[channel]),
        (&|| Client::of(mutex(Kind::Fenced), ALICE), &[channel]),
        (&|| Client::of(mutex(Kind::Spin), ALICE), &[]),
        (&|| Client::of(side(Mode::Shared), ALICE), &["redisson_rwlock:{k} 0"]),
        (&|| Client::of(side(Mode::Exclusive), ALICE), &["redisson_rwlock:{k} 1"]),
        (&|| Client::of(fair(), ALICE), &[]),
    ];
    for (client, expected) in table {
        let mut observed = ObservedServer::open();
        let mut alice = client();
        assert!(observed.enters(&mut alice) && observed.enters(&mut alice));
        assert_eq!(observed.leaves(&mut alice), Released::StillHeld);
        assert_eq!(observed.received(), [""; 0], "she is still in");
        assert_eq!(observed.leaves(&mut alice), Released::Freed);
        assert_eq!(observed.received(), expected);
    }
}

/// What is announced by SPUBLISH does not reach a client that has subscribed otherwise.
#[test]
fn two_ways_to_announce_do_not_meet() {
    let mut observed = ObservedServer::open();
    let mut alice = Client::of(mutex(Kind::Reentrant).publish(Publish::InSlot), ALICE);
    assert!(observed.enters(&mut alice));
    let channel = alice.lock.release_channel(&ALICE).expect("it is announced");
    assert!(channel.sharded);
    let subscribe = cmd("SSUBSCRIBE").arg(&channel.channel).get_packed_command();
    observed.messages.send_packed_command(&subscribe).expect("the server listens");
    observed.messages.recv_response().expect("it confirms");
    assert_eq!(observed.leaves(&mut alice), Released::Freed);
    let message: (String, String, String) =
        redis::from_redis_value(observed.messages.recv_response().expect("a message")).expect("of a shard");
    assert_eq!(message, ("smessage".into(), "redisson_lock__channel:{k}".into(), "0".into()));
    assert_eq!(observed.received(), [""; 0], "PSUBSCRIBE receives nothing of it");
}

/// The second time, the latch answers, and nothing else happens.
#[test]
fn a_release_whose_reply_was_lost_can_be_sent_again() {
    let table: [&dyn Fn() -> Client; 5] = [
        &|| Client::of(mutex(Kind::Reentrant), ALICE),
        &|| Client::of(mutex(Kind::Spin), ALICE),
        &|| Client::of(fair(), ALICE),
        &|| Client::of(side(Mode::Shared), ALICE),
        &|| Client::of(side(Mode::Exclusive), ALICE),
    ];
    for client in table {
        let mut observed = ObservedServer::open();
        let mut alice = client();
        assert!(observed.enters(&mut alice) && observed.enters(&mut alice));
        observed.loses_the_reply_of_leaving(&alice);
        assert_eq!(observed.keys()["redisson_unlock_latch:{k}:<alice's>"], "string 0 for a time");
        assert_eq!(observed.leaves(&mut alice), Released::StillHeld, "she has left once, not twice");
        assert!(
            observed.keys().contains_key("k") && !observed.keys().contains_key("redisson_unlock_latch:{k}:<alice's>")
        );
        assert_eq!(observed.leaves(&mut alice), Released::Freed);
    }
}

/// A release of a read/write lock that is gone fails, and succeeds when it is sent again.
#[test]
fn a_latch_of_a_deleted_lock_answers_yes() {
    for mode in [Mode::Shared, Mode::Exclusive] {
        let mut observed = ObservedServer::open();
        let mut alice = Client::of(side(mode), ALICE);
        assert!(observed.enters(&mut alice));
        cmd("FLUSHALL").exec(&mut observed.connection).expect("the server answers");
        let again = alice.holds.clone();
        observed.loses_the_reply_of_leaving(&alice);
        assert_eq!(observed.leaves(&mut alice), Released::Freed, "{mode:?}");
        alice.holds = again;
        assert_eq!(observed.leaves(&mut alice), Released::Lost, "{mode:?}: without a latch the reply is the truth");
    }
}

/// A writer that becomes a reader first publishes nothing: readers that wait sleep until the lease has expired.
#[test]
fn a_writer_that_stays_as_a_reader_wakes_no_waiter() {
    let mut observed = ObservedServer::open();
    let mut writing = Client::of(side(Mode::Exclusive), ALICE);
    let mut reading = Client::of(side(Mode::Shared), ALICE);
    let mut bob = Client::of(side(Mode::Shared), BOB);
    assert!(observed.enters(&mut writing) && observed.enters(&mut reading) && !observed.enters(&mut bob));
    assert_eq!(observed.leaves(&mut writing), Released::Freed);
    assert_eq!(observed.received(), [""; 0]);
    assert_eq!(observed.keys()["k"], "hash mode read <alice> 1 for a time");
    assert!(observed.enters(&mut bob), "though it could");
    assert_eq!(observed.leaves(&mut reading), Released::StillHeld, "it reads on");
    assert_eq!(observed.leaves(&mut bob), Released::Freed);
    assert_eq!(observed.received(), ["redisson_rwlock:{k} 0"]);
}

#[test]
fn a_reader_cannot_become_a_writer() {
    let mut observed = ObservedServer::open();
    let mut reading = Client::of(side(Mode::Shared), ALICE);
    let mut writing = Client::of(side(Mode::Exclusive), ALICE);
    assert!(observed.enters(&mut reading) && !observed.enters(&mut writing), "she waits for herself");
}

#[test]
fn the_first_waiter_is_served_first() {
    let mut observed = ObservedServer::open();
    let [mut alice, mut bob, mut carol] = [ALICE, BOB, CAROL].map(|owner| Client::of(fair(), owner));
    assert!(
        observed.enters(&mut alice)
            && !observed.enters(&mut bob)
            && !observed.enters(&mut carol)
            && !observed.enters(&mut bob)
    );
    assert_eq!(observed.keys()["redisson_lock_queue:{k}"], "list <bob> <carol> for ever");
    assert!(observed.was_notified(&carol) <= Some(lease().length()), "a queued client receives the lease");

    assert_eq!(observed.leaves(&mut alice), Released::Freed);
    assert_eq!(observed.received(), ["redisson_lock__channel:{k}:<bob> 0"]);
    assert!(!observed.enters(&mut carol), "it is not her turn");
    assert!(!observed.enters(&mut alice), "she came back last");
    assert!(observed.enters(&mut bob));
    assert_eq!(observed.keys()["redisson_lock_queue:{k}"], "list <carol> <alice> for ever");
    assert_eq!(observed.leaves(&mut bob), Released::Freed);
    assert_eq!(observed.received(), ["redisson_lock__channel:{k}:<carol> 0"]);
}

#[test]
fn a_waiter_that_gives_up_leaves_the_queue() {
    let mut observed = ObservedServer::open();
    let [mut alice, bob, carol] = [ALICE, BOB, CAROL].map(|owner| Client::of(fair(), owner));
    assert!(observed.enters(&mut alice));
    assert!(observed.was_notified(&bob) <= Some(lease().length()));
    let behind_bob = observed.was_notified(&carol).expect("a time");
    assert!(behind_bob > Duration::from_secs(300), "all the time that Bob is waited for: {behind_bob:?}");
    let score = |observed: &mut ObservedServer| {
        let command = cmd("ZSCORE").arg("redisson_lock_timeout:{k}").arg(CAROL.thread_name()).take();
        command.query::<f64>(&mut observed.connection).expect("she stands in it")
    };
    let before = score(&mut observed);
    observed.ask(|redis| bob.lock.withdraw(&BOB, redis));
    assert_eq!(observed.keys()["redisson_lock_queue:{k}"], "list <carol> for ever");
    assert!((before - score(&mut observed) - 300_000.0).abs() < 0.5, "she comes five minutes earlier");
    assert_eq!(observed.leaves(&mut alice), Released::Freed);
    assert_eq!(observed.received(), ["redisson_lock__channel:{k}:<carol> 0"]);
}

/// Until when a waiter is waited for is reckoned by clocks of clients: one that is six minutes ahead finds the others late.
#[test]
fn a_clock_that_is_ahead_jumps_the_queue() {
    let mut observed = ObservedServer::open();
    let [mut alice, mut bob] = [ALICE, BOB].map(|owner| Client::of(fair(), owner));
    let mut carol = Client::of(fair(), CAROL).ahead(Duration::from_secs(360));
    assert!(observed.enters(&mut alice) && !observed.enters(&mut bob) && !observed.enters(&mut carol));
    assert_eq!(observed.keys()["redisson_lock_queue:{k}"], "list <carol> for ever", "Bob has been thrown out");
    assert_eq!(observed.leaves(&mut alice), Released::Freed);
    assert_eq!(observed.received(), ["redisson_lock__channel:{k}:<carol> 0"], "and is not notified");
    assert!(observed.enters(&mut carol) && !observed.enters(&mut bob));
}
