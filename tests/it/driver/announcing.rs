//! Every lock that announces its releases wakes its waiters: the leases are an hour, so nothing but a message can do it at once.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::thread::scope;

use lockshift::driver::{Answer, Attempt, Wait};
use lockshift::lock::{Lease, Locker, Mode, Released};
use lockshift::modern::{FencedTokenLock, MultiKeyLock, Publish, ReadWriteLock, ReentrantLock, Semaphore, TokenLock};
use lockshift::wire::Key;
use redis::cmd;

use super::world::{AN_HOUR, BEFORE_A_LOOK, World, in_both_worlds};
use crate::patience::{now, until};
use crate::server::Server;

in_both_worlds! {
    a_release_wakes_a_waiter_of_every_lock_that_announces,
}

/// A holder, and a contender that it keeps out.
fn pairs(announce: Publish) -> Vec<(&'static str, [Arc<dyn Locker>; 2])> {
    let lease = Lease::new(AN_HOUR).unwrap();
    let key = || Key::from("k");
    let rw = |mode| Arc::new(ReadWriteLock::new(key(), mode, lease).announced(announce));
    let multi = |keys: [&str; 2]| Arc::new(MultiKeyLock::new(keys.map(Key::from), lease).unwrap().announced(announce));
    let twice = |locker: Arc<dyn Locker>| [Arc::clone(&locker), locker];
    vec![
        ("token", twice(Arc::new(TokenLock::new(key(), lease).announced(announce)))),
        ("token-fenced", twice(Arc::new(FencedTokenLock::new(key(), lease).announced(announce)))),
        ("reentrant", twice(Arc::new(ReentrantLock::new(key(), lease).announced(announce)))),
        ("reentrant,fence=yes", twice(Arc::new(ReentrantLock::new(key(), lease).fenced().announced(announce)))),
        ("multi-key", [multi(["{k}:2", "k"]), multi(["k", "{k}:3"])]),
        ("a writer, a writer", [rw(Mode::Exclusive), rw(Mode::Exclusive)]),
        ("a writer, a reader", [rw(Mode::Exclusive), rw(Mode::Shared)]),
        ("a reader, a writer", [rw(Mode::Shared), rw(Mode::Exclusive)]),
        ("semaphore", twice(Arc::new(Semaphore::new(key(), NonZeroU32::MIN, lease).announced(announce)))),
    ]
}

fn a_release_wakes_a_waiter_of_every_lock_that_announces<W: World>() {
    let server = Server::start();
    let mut operator = server.connect();
    for announce in [Publish::Everywhere, Publish::InSlot] {
        for (name, [held, wanted]) in pairs(announce) {
            let listener = W::releases(&server);
            let holder = W::open(&server, held);
            let guard = holder.win();
            scope(|scope| {
                let waiting = scope.spawn(|| {
                    let waiter = W::open(&server, wanted).notified_by(&listener);
                    match waiter.acquire(&Wait::notified()) {
                        Ok(Attempt::Won(guard)) => matches!(waiter.release(guard), Ok(Answer::Known(Released::Freed))),
                        other => panic!("{name}: {other:?}"),
                    }
                });
                let numsub = if announce == Publish::InSlot { "SHARDNUMSUB" } else { "NUMSUB" };
                until(format_args!("{name}: the waiter listens"), || {
                    let (_, count): (String, usize) =
                        cmd("PUBSUB").arg(numsub).arg("{k}:released").query(&mut operator).unwrap();
                    (count == 1).then_some(())
                });
                let began = now();
                let released = holder.release(guard);
                assert!(matches!(released, Ok(Answer::Known(Released::Freed))), "{name}: {released:?}");
                assert!(waiting.join().unwrap(), "{name}");
                assert!(began.elapsed() < BEFORE_A_LOOK, "{name}: {:?}", began.elapsed());
            });
            cmd("FLUSHALL").exec(&mut operator).unwrap();
        }
    }
}
