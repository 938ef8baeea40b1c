//! A holder and many waiters on clones of its lock, while one of the servers hangs.

use std::num::NonZeroU8;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::scope;
use std::time::Duration;

use lockshift::driver::blocking::{Lock, Masters};
use lockshift::driver::{Answer, Attempt, Renewal, Wait};
use lockshift::lock::{Lease, Released};
use lockshift::modern::Redlock;
use lockshift::wire::Key;

use super::fleet::{Fleet, KEY};
use crate::patience::until;

#[test]
fn a_crowd_of_waiters_does_not_keep_a_holder_from_renewing() {
    let fleet = Fleet::of(3);
    let three = NonZeroU8::new(3).unwrap();
    let locker = Redlock::new(Key::from(KEY), Lease::new(Duration::from_secs(3)).unwrap(), three);
    let lock = Lock::new(Masters::new(fleet.clients(), Duration::from_millis(100)), locker);
    let Ok(Attempt::Won(mut guard)) = lock.try_acquire() else { panic!("the lock is free") };
    fleet.servers[2].pause();
    guard.renew(Renewal::every_third()).unwrap();

    let stop = AtomicBool::new(false);
    scope(|scope| {
        for _ in 0..20 {
            let lock = lock.clone();
            let stop = &stop;
            scope.spawn(move || {
                let wait = Wait::every(Duration::from_millis(1));
                drop(lock.acquire_while(&wait, |_, _| !stop.load(Ordering::Relaxed)));
            });
        }
        let mut since = guard.hold().since.mono;
        for renewal in 1..=4 {
            until(format_args!("renewal {renewal} or the loss of the lock"), || {
                let now = guard.hold().since.mono;
                (now > since || guard.lost().is_some()).then(|| since = now)
            });
            if guard.lost().is_some() {
                break;
            }
        }
        stop.store(true, Ordering::Relaxed);
        assert_eq!(guard.lost(), None, "two servers are healthy");
    });
    fleet.servers[2].resume();
    assert!(matches!(guard.release(), Ok(Answer::Known(Released::Freed))));
}
