//! An attempt whose script runs twice (its reply was lost, a proxy repeated it) finds itself, and wins as if it had run
//! once: every lock whose script can tell.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use lockshift::bridge::Bridge;
use lockshift::driver::{blocking::run, host};
use lockshift::legacy;
use lockshift::lock::{Acquired, Lease, Locker, Mode, Ownership, Released};
use lockshift::modern::{FairLock, FencedTokenLock, MultiKeyLock, ReadWriteLock, Semaphore};
use lockshift::wire::{Key, Transcript};
use redis::cmd;

use crate::server::Server;

fn lockers() -> Vec<(&'static str, Arc<dyn Locker>)> {
    let key = || Key::from("k");
    let lease = Lease::new(Duration::from_secs(600)).unwrap();
    let bridge = Bridge::new(&[legacy::find("php-getset").unwrap()], key(), lease).unwrap();
    let keys = ["k", "{k}:2"].map(Key::from);
    vec![
        ("token-fenced", Arc::new(FencedTokenLock::new(key(), lease))),
        ("fair", Arc::new(FairLock::new(key(), lease))),
        ("multi-key", Arc::new(MultiKeyLock::new(keys, lease).unwrap())),
        ("read-write,side=writer", Arc::new(ReadWriteLock::new(key(), Mode::Exclusive, lease))),
        ("read-write,side=reader", Arc::new(ReadWriteLock::new(key(), Mode::Shared, lease))),
        ("semaphore", Arc::new(Semaphore::new(key(), NonZeroU32::MIN, lease))),
        ("bridge", Arc::new(bridge.clone())),
        ("bridge,fence=yes", Arc::new(bridge.fenced())),
    ]
}

#[test]
fn an_attempt_that_runs_twice_wins_once() {
    let server = Server::start();
    let mut connection = server.connect();
    for (name, locker) in lockers() {
        let [owner, other] = [1, 2].map(|thread| host::owner(thread).unwrap());
        let mut attempt = |owner| run(&mut connection, &|redis: &mut Transcript| locker.acquire(owner, redis));
        let Ok(Acquired::Won(first)) = attempt(&owner) else { panic!("{name}: the lock is free") };
        let second = match attempt(&owner) {
            Ok(Acquired::Won(second)) => second,
            again => panic!("{name}: its own attempt, but: {again:?}"),
        };
        assert_eq!(second.fence, first.fence, "{name}");
        assert!(second.since.mono > first.since.mono, "{name}: its lease counts from the second run");
        if locker.mode() == Mode::Exclusive {
            assert!(matches!(attempt(&other), Ok(Acquired::Held(_))), "{name}");
            run(&mut connection, &|redis: &mut Transcript| locker.withdraw(&other, redis)).unwrap();
        }
        let ours = run(&mut connection, &|redis: &mut Transcript| locker.ownership(&second, redis));
        assert!(matches!(ours, Ok(Ownership::Ours { left: Some(_) })), "{name}: {ours:?}");
        let released = run(&mut connection, &|redis: &mut Transcript| locker.release(&second, redis));
        assert!(matches!(released, Ok(Released::Freed)), "{name}: {released:?}");
        let left: Vec<String> = cmd("KEYS").arg("*").query(&mut connection).unwrap();
        assert!(left.iter().all(|key| key.ends_with(":fence")), "{name}: {left:?}");
        cmd("FLUSHALL").exec(&mut connection).unwrap();
    }
}
