//! The locks that notify their waiters: in every schedule one holder at a time, and no dead waiter keeps the others out.

use std::sync::Arc;
use std::time::Duration;

use lockshift::explore::{Bounds, End, Property};
use lockshift::lock::{Lease, Locker};
use lockshift::modern::{FairLock, Publish, TokenLock};
use lockshift::wire::Key;

use super::locks::lease;
use super::{crowd, search, violated};

/// Three clients, four ticks and a crash, explored to the end; how many worlds that are.
fn is_clean(locker: &Arc<dyn Locker>) -> usize {
    let scene = crowd(locker, 3, Bounds::ticks(4).crashes(1));
    let found = search(&scene, &Property::ALL[..7]);
    assert_eq!((violated(&found), found.end), (vec![], End::Exhausted));
    found.states
}

#[test]
fn the_lock_that_announces_its_release() {
    let locker: Arc<dyn Locker> = Arc::new(TokenLock::new(Key::from("k"), lease(2)).announced(Publish::Everywhere));
    assert_eq!(is_clean(&locker), 78_409);
}

/// A place is kept for a tick, which is twice this time: who dies in the queue is passed over within the bounds.
#[test]
fn the_lock_with_a_queue() {
    let half_a_tick = Lease::new(Duration::from_millis(500)).unwrap();
    let locker: Arc<dyn Locker> = Arc::new(FairLock::new(Key::from("k"), lease(2)).keeping_places_for(half_a_tick));
    assert_eq!(is_clean(&locker), 200_259);
}
