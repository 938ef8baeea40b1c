//! The semaphore: as many holders as it has permits, each with a lease of its own; on a real server and in every schedule.

use std::num::NonZeroU32;
use std::time::Duration;

use lockshift::driver::blocking::run;
use lockshift::driver::host;
use lockshift::lock::{Acquired, Extended, Hold, Lease, Locker, Ownership, Released};
use lockshift::modern::Semaphore;
use lockshift::wire::{Key, Transcript};
use redis::{Connection, cmd};

use crate::cli::{done, lockshift_at};
use crate::server::Server;

fn permits(permits: u32, lease: Duration) -> Semaphore {
    Semaphore::new(Key::from("k"), NonZeroU32::new(permits).unwrap(), Lease::new(lease).unwrap())
}

fn attempt(semaphore: &Semaphore, connection: &mut Connection) -> Acquired {
    let owner = host::owner(1).unwrap();
    run(connection, &|redis: &mut Transcript| semaphore.acquire(&owner, redis)).expect("the server answers")
}

fn win(semaphore: &Semaphore, connection: &mut Connection) -> Hold {
    match attempt(semaphore, connection) {
        Acquired::Won(hold) => hold,
        Acquired::Held(held) => panic!("a permit is free, but: {held:?}"),
    }
}

#[test]
fn as_many_hold_as_there_are_permits() {
    let server = Server::start();
    let mut redis = server.connect();
    let semaphore = permits(3, Duration::from_secs(600));
    let [first, second, third] = [(); 3].map(|()| win(&semaphore, &mut redis));
    let Acquired::Held(held) = attempt(&semaphore, &mut redis) else { panic!("three hold already") };
    assert!(held.retry_in.is_some_and(|left| left > Duration::from_secs(500)), "{held:?}");

    let released = run(&mut redis, &|redis: &mut Transcript| semaphore.release(&second, redis)).unwrap();
    assert_eq!(released, Released::Freed);
    let again = run(&mut redis, &|redis: &mut Transcript| semaphore.release(&second, redis)).unwrap();
    assert_eq!(again, Released::Lost, "it was released before");
    let fourth = win(&semaphore, &mut redis);
    assert!(matches!(attempt(&semaphore, &mut redis), Acquired::Held(_)));

    for hold in [&first, &third, &fourth] {
        let ours = run(&mut redis, &|redis: &mut Transcript| semaphore.ownership(hold, redis)).unwrap();
        assert!(matches!(ours, Ownership::Ours { left: Some(_) }), "{ours:?}");
        run(&mut redis, &|redis: &mut Transcript| semaphore.release(hold, redis)).unwrap();
    }
    assert_eq!(cmd("EXISTS").arg("k").query(&mut redis), Ok(0), "nothing is left");
}

/// A holder that dies gives its permit back with its lease; one that renews keeps its own.
#[test]
fn a_permit_whose_lease_ends_is_free_and_one_that_is_extended_is_not() {
    let server = Server::start();
    let mut redis = server.connect();
    let (short, long) = (permits(2, Duration::from_millis(300)), permits(2, Duration::from_secs(600)));
    let dead = win(&short, &mut redis);
    let renewed = win(&short, &mut redis);
    let extended = run(&mut redis, &|redis: &mut Transcript| long.extend(&renewed, redis)).unwrap();
    assert!(matches!(extended, Extended::Until(_)), "{extended:?}");
    crate::patience::until("the dead holder's lease has ended", || match attempt(&long, &mut redis) {
        Acquired::Won(hold) => Some(hold),
        Acquired::Held(_) => None,
    });
    assert!(matches!(attempt(&long, &mut redis), Acquired::Held(_)), "the renewed one still holds");
    let lost = run(&mut redis, &|redis: &mut Transcript| short.extend(&dead, redis)).unwrap();
    assert_eq!(lost, Extended::Lost);
    let released = run(&mut redis, &|redis: &mut Transcript| short.release(&dead, redis)).unwrap();
    assert_eq!(released, Released::Lost);
}

#[test]
fn run_holds_a_permit_while_its_command_runs() {
    let server = Server::start();
    let mut redis = server.connect();
    let semaphore = permits(2, Duration::from_secs(600));
    let [first, _second] = [(); 2].map(|()| win(&semaphore, &mut redis));
    let flags = ["run", "k", "--nonblock", "--protocol", "semaphore,permits=2", "--", "redis-cli", "-p"];
    let port = server.address().port().to_string();
    let args = || [&flags[..], &[port.as_str(), "zcard", "k"]].concat();
    let refused = done(lockshift_at(&server), args());
    assert_eq!((refused.code, refused.stdout.as_str()), (Some(1), ""), "{refused:?}");

    run(&mut redis, &|redis: &mut Transcript| semaphore.release(&first, redis)).unwrap();
    let ran = done(lockshift_at(&server), args());
    assert_eq!((ran.code, ran.stdout.trim()), (Some(0), "2"), "{ran:?}");
    assert_eq!(cmd("ZCARD").arg("k").query(&mut redis), Ok(1), "the second one still holds");
}

#[test]
fn a_key_of_another_type_is_refused() {
    let server = Server::start();
    let mut redis = server.connect();
    cmd("SET").arg("k").arg("a token").exec(&mut redis).unwrap();
    let semaphore = permits(2, Duration::from_secs(600));
    let owner = host::owner(1).unwrap();
    let refused = run(&mut redis, &|redis: &mut Transcript| semaphore.acquire(&owner, redis));
    assert!(format!("{refused:?}").contains("WRONGTYPE"), "{refused:?}");
}
