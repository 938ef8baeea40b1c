//! What wakes one waiter, a thread or a task.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::Duration;

use super::host;

/// What wakes one waiter. It stays woken until it is cleared, so that a waiter that does not sleep just then misses nothing.
/// Clones are the same.
#[derive(Clone, Debug, Default)]
pub(super) struct WakeUp(Arc<SharedWakeUp>);

#[derive(Debug, Default)]
struct SharedWakeUp {
    state: Mutex<Waking>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Waking {
    is_woken: bool,
    /// The message that is for this waiter alone and says more than that it is to try.
    message: Option<Vec<u8>>,
    /// Whether a thread sleeps: waking none would still be a system call.
    sleeps: bool,
    /// The task that waits.
    task: Option<Waker>,
}

impl WakeUp {
    pub(super) fn wake(&self) {
        self.wake_by(None);
    }

    /// Wakes it with a message for it alone.
    pub(super) fn wake_with(&self, message: &[u8]) {
        self.wake_by(Some(message.to_vec()));
    }

    fn wake_by(&self, message: Option<Vec<u8>>) {
        let mut state = self.state();
        state.is_woken = true;
        if message.is_some() {
            state.message = message;
        }
        if state.sleeps {
            self.0.changed.notify_one();
        }
        if let Some(task) = state.task.take() {
            drop(state);
            task.wake();
        }
    }

    /// Whether it has been woken since it was cleared.
    pub(super) fn is_woken(&self) -> bool {
        self.state().is_woken
    }

    /// Forgets the wake-ups until now, and what their messages were.
    pub(super) fn clear(&self) {
        let mut state = self.state();
        state.is_woken = false;
        state.message = None;
    }

    /// The message that it was woken with, once.
    pub(super) fn take_message(&self) -> Option<Vec<u8>> {
        self.state().message.take()
    }

    /// Blocks the thread until it is woken, but not longer than that: whether it was.
    pub(super) fn wait(&self, at_most: Duration) -> bool {
        let until = host::mono().saturating_add(at_most);
        let mut state = self.state();
        loop {
            let left = until.saturating_since(host::mono());
            if state.is_woken || left.is_zero() {
                return state.is_woken;
            }
            state.sleeps = true;
            state = self.0.changed.wait_timeout(state, host::nap(left)).unwrap_or_else(PoisonError::into_inner).0;
            state.sleeps = false;
        }
    }

    /// Suspends the task until it is woken, but not longer than that.
    #[cfg(feature = "tokio")]
    pub(super) async fn wait_async(&self, at_most: Duration) {
        let woken = std::future::poll_fn(|context| {
            let mut state = self.state();
            if state.is_woken {
                return std::task::Poll::Ready(());
            }
            state.task = Some(context.waker().clone());
            std::task::Poll::Pending
        });
        tokio::select! {
            // A waiter that is woken already sets no timer.
            biased;
            () = woken => {}
            () = host::sleep_async(at_most) => {}
        }
    }

    /// Whether no other clone is left: no waiter waits for it any more.
    pub(super) fn is_abandoned(&self) -> bool {
        Arc::strong_count(&self.0) == 1
    }

    /// Whether both are the same.
    pub(super) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    fn state(&self) -> MutexGuard<'_, Waking> {
        // It is changed in single steps.
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
