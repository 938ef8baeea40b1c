//! How a holder learns that its lock is lost, whatever the server and the connection do meanwhile.

use std::sync::Arc;
use std::time::Duration;

use lockshift_lock::Hold;
use tokio::select;
use tokio::sync::watch::Sender;

use crate::driver::host;
use crate::driver::lease_state::{LeaseState, Loss, Over};

/// Tells when a lock is lost. Made by [`Guard::watch`](super::Guard::watch); it may be sent to other tasks and outlive
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
pub struct LossWatch(Arc<Sender<LeaseState>>);

impl LossWatch {
    pub(super) fn new(hold: Hold) -> Self {
        Self(Arc::new(Sender::new(LeaseState::new(hold))))
    }

    /// How the lock was lost, if it was. What is lost stays lost; what was given back in time never is.
    pub fn lost(&self) -> Option<Loss> {
        loss(self.0.borrow().over(host::mono()))
    }

    /// For how long the holder may still work, by its own clock: zero once the lock is lost or given back.
    pub fn left(&self) -> Duration {
        self.0.borrow().left(host::mono())
    }

    /// Waits until the lock is lost, and says how, or until it is given back: `None`.
    pub async fn wait(&self) -> Option<Loss> {
        let mut changes = self.0.subscribe();
        loop {
            let now = host::mono();
            let (over, left) = {
                let term = changes.borrow_and_update();
                (term.over(now), term.left(now))
            };
            if over.is_some() {
                return loss(over);
            }
            select! {
                _ = changes.changed() => {}
                () = host::sleep_async(left) => {}
            }
        }
    }

    /// What is held, as of the last confirmation.
    pub(super) fn hold(&self) -> Hold {
        self.0.borrow().hold().clone()
    }

    /// Ends the term, and says what was held until now.
    pub(super) fn end(&self) -> Hold {
        self.change(|term| {
            term.end(host::mono());
            term.hold().clone()
        })
    }

    /// Changes the term, and wakes those who wait.
    pub(super) fn change<T>(&self, change: impl FnOnce(&mut LeaseState) -> T) -> T {
        let mut outcome = None;
        self.0.send_modify(|term| outcome = Some(change(term)));
        outcome.expect("send_modify calls what it is given")
    }
}

fn loss(over: Option<Over>) -> Option<Loss> {
    match over {
        Some(Over::Lost(loss)) => Some(loss),
        Some(Over::Ended) | None => None,
    }
}
