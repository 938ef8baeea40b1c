//! How a holder learns that its lock is lost, whatever the server and the connection do meanwhile.

use std::time::Duration;

use lockshift_wire::MonoTime;

use crate::driver::lease_state::{LeaseState, Loss, Watched};
use crate::driver::wake_up::WakeUp;
use crate::driver::watched_lease::WatchedLease;

/// Tells when a lock is lost, or about to be. Made by [`Guard::watch`](super::Guard::watch); it may be sent to other threads and
/// outlive the guard.
///
/// ```no_run
/// # fn watch(guard: lockshift::driver::blocking::Guard<redis::Connection>) {
/// let watch = guard.watch();
/// std::thread::spawn(move || {
///     if let Some(loss) = watch.wait() {
///         eprintln!("the lock is lost ({loss:?}), stop writing");
///     }
/// });
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct LossWatch(pub(super) WatchedLease);

impl LossWatch {
    /// How the lock was lost, if it was. What is lost stays lost; what was released in time never is.
    pub fn lost(&self) -> Option<Loss> {
        self.0.read(LeaseState::lost)
    }

    /// For how long the holder may still work, by its own clock: zero once the lock is lost or released.
    pub fn remaining(&self) -> Duration {
        self.0.read(LeaseState::remaining)
    }

    /// Waits until the lock is lost, and says how, or until it is released: `None`.
    pub fn wait(&self) -> Option<Loss> {
        self.wait_for(LeaseState::watch_for_loss)
    }

    /// Waits until the lock is about to be lost: until at most `margin` of its lease remains, because no renewal was
    /// confirmed. Returns how much remains, zero if the lock is lost already, or `None` once it is released.
    ///
    /// ```no_run
    /// # use std::time::Duration;
    /// # fn watch(guard: lockshift::driver::blocking::Guard<redis::Connection>) {
    /// let watch = guard.watch();
    /// std::thread::spawn(move || {
    ///     if let Some(remaining) = watch.about_to_be_lost(Duration::from_secs(5)) {
    ///         eprintln!("{remaining:?} remain to bring the work to a safe end");
    ///     }
    /// });
    /// # }
    /// ```
    pub fn about_to_be_lost(&self, margin: Duration) -> Option<Duration> {
        self.wait_for(|state, now| state.watch_for_end(margin, now))
    }

    fn wait_for<T>(&self, look: impl Fn(&LeaseState, MonoTime) -> Watched<T>) -> T {
        let watcher = WakeUp::default();
        loop {
            let left = match self.0.look(&watcher, &look) {
                Watched::Known(known) => return known,
                Watched::In(left) => left,
            };
            watcher.wait(left);
        }
    }
}

#[test]
fn a_lease_that_ends_while_the_machine_is_suspended_is_lost_soon_after_it_resumes() {
    use std::sync::mpsc::channel;

    use lockshift_lock::{Hold, Lease};

    use crate::driver::host;

    let lease = Lease::new(Duration::from_secs(3600)).unwrap();
    let hold = Hold { value: Vec::new(), since: host::reading(), lease, fence: None };
    let watch = LossWatch(WatchedLease::new(LeaseState::new(hold, true, std::sync::Arc::default(), host::mono())));
    let (event, tells) = channel();
    let (waiting, warned) = ((watch.clone(), event.clone()), (watch.clone(), event));
    std::thread::spawn(move || waiting.1.send(waiting.0.wait().is_some()));
    std::thread::spawn(move || warned.1.send(warned.0.about_to_be_lost(Duration::ZERO).is_some()));
    // Another test may pretend the same meanwhile: then they find the lease ended, and need not wait.
    while watch.0.watchers() < 2 && !watch.0.has_ended(host::mono()) {
        std::thread::yield_now();
    }
    host::pretend_suspended_for_ms(7_200_000);
    // Two naps of half a second, on a busy machine.
    let answers = [(); 2].map(|()| tells.recv_timeout(Duration::from_secs(20)));
    assert_eq!(answers, [Ok(true), Ok(true)]);
}
