//! A lease that a guard, its renewal and any number of watchers share.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lockshift_lock::Released;
use lockshift_wire::MonoTime;

use super::host;
use super::lease_state::{LeaseState, Watched};
use super::wake_up::WakeUp;

/// A lease that is watched. Clones are the same.
#[derive(Clone, Debug)]
pub(super) struct WatchedLease(Arc<Mutex<SharedLease>>);

#[derive(Debug)]
struct SharedLease {
    state: LeaseState,
    /// The watchers that look again when it changes.
    watchers: Vec<WakeUp>,
}

impl WatchedLease {
    pub(super) fn new(state: LeaseState) -> Self {
        Self(Arc::new(Mutex::new(SharedLease { state, watchers: Vec::new() })))
    }

    /// Whether it has ended by then.
    pub(super) fn has_ended(&self, now: MonoTime) -> bool {
        self.inner().state.ending(now).is_some()
    }

    /// For how long the holder may still work then.
    pub(super) fn remaining(&self, now: MonoTime) -> Duration {
        self.inner().state.remaining(now)
    }

    /// What is asked of it, now.
    pub(super) fn read<T>(&self, read: impl FnOnce(&LeaseState, MonoTime) -> T) -> T {
        read(&self.inner().state, host::mono())
    }

    /// Changes it, now, and wakes its watchers.
    pub(super) fn change<T>(&self, change: impl FnOnce(&mut LeaseState, MonoTime) -> T) -> T {
        let mut inner = self.inner();
        let outcome = change(&mut inner.state, host::mono());
        let watchers = std::mem::take(&mut inner.watchers);
        drop(inner);
        watchers.iter().for_each(WakeUp::wake);
        outcome
    }

    /// Takes note of how the release ended, which no watcher waits for.
    pub(super) fn note_released(&self, released: Released) {
        self.inner().state.note_released(released);
    }

    /// What a watcher does next. If it is to look again, it is woken by the next change.
    pub(super) fn look<T>(
        &self,
        watcher: &WakeUp,
        look: impl FnOnce(&LeaseState, MonoTime) -> Watched<T>,
    ) -> Watched<T> {
        let mut inner = self.inner();
        watcher.clear();
        let watched = look(&inner.state, host::mono());
        if matches!(watched, Watched::In(_)) {
            inner.watchers.retain(|other| !other.is_abandoned() && !other.is(watcher));
            inner.watchers.push(watcher.clone());
        }
        watched
    }

    /// How many watch it.
    #[cfg(test)]
    pub(super) fn watchers(&self) -> usize {
        self.inner().watchers.len()
    }

    fn inner(&self) -> MutexGuard<'_, SharedLease> {
        // It is changed in one step and so is sound even after a panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[test]
fn a_change_wakes_every_watcher_that_still_waits() {
    use lockshift_lock::{Hold, Lease};

    let hour = Duration::from_secs(3600);
    let hold = Hold { value: Vec::new(), since: host::reading(), lease: Lease::new(hour).unwrap(), fence: None };
    let lease = WatchedLease::new(LeaseState::new(hold, true, Arc::default(), host::mono()));
    let [first, second, gone] = [(); 3].map(|()| WakeUp::default());
    for watcher in [&gone, &first, &second, &first] {
        let watched = lease.look(watcher, |_, _| Watched::<()>::In(hour));
        assert!(matches!(watched, Watched::In(_)));
    }
    drop(gone);
    lease.look(&second, |_, _| Watched::<()>::In(hour));
    assert_eq!(lease.watchers(), 2, "one that waits no more is forgotten");
    lease.change(|_, _| ());
    assert!(first.is_woken() && second.is_woken());
}
