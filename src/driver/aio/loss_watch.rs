//! How a holder learns that its lock is lost, whatever the server and the connection do meanwhile.

use std::time::Duration;

use lockshift_wire::MonoTime;

use crate::driver::lease_state::{LeaseState, Loss, Watched};
use crate::driver::wake_up::WakeUp;
use crate::driver::watched_lease::WatchedLease;

/// Tells when a lock is lost, or about to be. Made by [`Guard::watch`](super::Guard::watch); it may be sent to other tasks and outlive
/// the guard.
///
/// ```no_run
/// # async fn work() {}
/// # async fn watch(guard: lockshift::driver::aio::Guard<redis::aio::MultiplexedConnection>) {
/// let watch = guard.watch();
/// tokio::select! {
///     () = work() => {}
///     Some(loss) = watch.wait() => eprintln!("the lock is lost ({loss:?}), the work is dropped"),
/// }
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
    pub async fn wait(&self) -> Option<Loss> {
        self.wait_for(LeaseState::watch_for_loss).await
    }

    /// Waits until the lock is about to be lost: until at most `margin` of its lease remains, because no renewal was
    /// confirmed. Returns how much remains, zero if the lock is lost already, or `None` once it is released.
    ///
    /// ```no_run
    /// # use std::time::Duration;
    /// # async fn work() {}
    /// # async fn watch(guard: lockshift::driver::aio::Guard<redis::aio::MultiplexedConnection>) {
    /// let watch = guard.watch();
    /// tokio::select! {
    ///     () = work() => {}
    ///     Some(remaining) = watch.about_to_be_lost(Duration::from_secs(5)) => {
    ///         eprintln!("{remaining:?} remain to bring the work to a safe end");
    ///     }
    /// }
    /// # }
    /// ```
    pub async fn about_to_be_lost(&self, margin: Duration) -> Option<Duration> {
        self.wait_for(|state, now| state.watch_for_end(margin, now)).await
    }

    async fn wait_for<T>(&self, look: impl Fn(&LeaseState, MonoTime) -> Watched<T>) -> T {
        let watcher = WakeUp::default();
        loop {
            let left = match self.0.look(&watcher, &look) {
                Watched::Known(known) => return known,
                Watched::In(left) => left,
            };
            watcher.wait_async(left).await;
        }
    }
}

#[tokio::test]
async fn a_lease_that_ends_while_the_machine_is_suspended_is_lost_soon_after_it_resumes() {
    use lockshift_lock::{Hold, Lease};

    use crate::driver::host;

    let lease = Lease::new(Duration::from_secs(3600)).unwrap();
    let hold = Hold { value: Vec::new(), since: host::reading(), lease, fence: None };
    let watch = LossWatch(WatchedLease::new(LeaseState::new(hold, true, std::sync::Arc::default(), host::mono())));
    let suspend = async {
        // Polled after the other one, which sleeps by now.
        host::pretend_suspended_for_ms(7_200_000);
    };
    // Two naps of half a second, on a busy machine.
    let lost = host::within(Duration::from_secs(20), async { tokio::join!(biased; watch.wait(), suspend) }).await;
    assert_eq!(lost, Some((Some(Loss::Overrun), ())));
    assert_eq!(watch.lost(), Some(Loss::Overrun));
}
