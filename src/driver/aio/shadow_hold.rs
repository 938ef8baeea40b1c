//! A lock's shadow, as the lock sees it: orders to the task that keeps what was taken.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;

use super::shared_connection::SharedConnection;
use crate::driver::held_lock::{HeldBeside, HeldLock};
use crate::driver::host;
use crate::driver::shadow::{Question, ShadowState, ShadowSummary};

/// A lock that is taken beside another one, which alone decides: see [`Lock::shadowed`](super::Lock::shadowed).
///
/// Its own outcomes and errors go into a [`ShadowSummary`] and the log, and nowhere else. Tasks of its own do what follows from
/// what becomes of the lock: the shadow is taken once the lock was won and extended once the lock was, and looked at where
/// the lock was refused. No caller waits for that. Only a release first waits until the shadow is released, so that whichever client
/// has the lock next finds the shadow free; but no longer than [a tenth of a second](Self::patient_for). A server that
/// hangs costs that once, and is asked nothing more until it has answered. So the summary is complete a moment after a try
/// has ended, not at once.
///
/// Give it no longer a lease than the lock has: what a dead holder leaves must not outlast the lock. A
/// `ConnectionManager` finds a server again that was gone, and one that is lazy begins with one that is not there yet.
///
/// ```no_run
/// use std::time::Duration;
/// use lockshift::driver::{Attempt, aio};
/// use lockshift::lock::Lease;
/// use lockshift::{legacy, modern};
///
/// # async fn job() -> Result<(), Box<dyn std::error::Error>> {
/// let client = redis::Client::open("redis://127.0.0.1/")?;
/// let lease = Lease::new(Duration::from_secs(30))?;
/// let old = legacy::Lock::new(legacy::find("php-getset").ok_or("no such dialect")?, "invoices".into(), lease);
/// let new = modern::TokenLock::new("{invoices}:shadow".into(), lease);
///
/// let shadow = aio::Shadow::new(client.get_connection_manager().await?, new);
/// let lock = aio::Lock::new(client.get_connection_manager().await?, old).shadowed(&shadow);
/// if let Attempt::Won(guard) = lock.try_acquire().await? {
///     guard.release().await?;
/// }
/// println!("{:?}", shadow.summary());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Shadow {
    pub(super) beside: Arc<dyn Beside>,
    pub(super) state: Arc<ShadowState>,
    pub(super) patience: Duration,
}

/// What a task does.
pub(super) type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A shadow's lock, over whatever connection.
pub(super) trait Beside: Send + Sync {
    /// Acquires it beside a lock that was won, and keeps it as ordered.
    fn keep(&self, taking: Question, orders: UnboundedReceiver<Order>) -> Work;
    /// Sees whether any client holds it, beside a lock that was refused.
    fn look(&self, question: Question) -> Work;
}

/// What the task that keeps what was taken is to do, one after the other.
pub(super) enum Order {
    /// Hold on, as the lock does.
    Extend(Question),
    /// Release, before the lock is released; the waiter for that notices that the sender is dropped.
    Release(Option<Question>, oneshot::Sender<()>),
    /// Let go without telling the server.
    Abandon,
}

/// What a guard and its renewal share.
pub(super) type Held<C> = HeldLock<SharedConnection<C>, ShadowHold>;

/// What is held beside a lock that was won.
pub(super) struct ShadowHold {
    shadow: Shadow,
    orders: UnboundedSender<Order>,
}

impl Shadow {
    /// The same shadow, whose callers wait for it so long at most: more than the way to its server and back takes, and
    /// what a release may be late by where that server hangs.
    #[must_use]
    pub fn patient_for(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// How often the two have agreed so far, and how often not.
    pub fn summary(&self) -> ShadowSummary {
        self.state.summary()
    }

    /// The lock was won.
    pub(super) fn take(&self, runtime: &Handle) -> Option<ShadowHold> {
        let question = self.begin()?;
        let (orders, received) = unbounded_channel();
        runtime.spawn(self.beside.keep(question, received));
        Some(ShadowHold { shadow: self.clone(), orders })
    }

    /// The lock was refused.
    pub(super) fn look(&self, runtime: &Handle) {
        if let Some(question) = self.begin() {
            runtime.spawn(self.beside.look(question));
        }
    }

    fn begin(&self) -> Option<Question> {
        self.state.begin(self.patience, host::mono())
    }
}

// Where no task receives the orders, nothing was acquired, and that has been counted.
impl HeldBeside for ShadowHold {
    fn extend(&self) {
        if !self.orders.is_closed()
            && let Some(question) = self.shadow.begin()
        {
            let _ = self.orders.send(Order::Extend(question));
        }
    }

    async fn release(&self) {
        if self.orders.is_closed() {
            return;
        }
        let question = self.shadow.begin();
        let is_waited_for = question.is_some();
        let (doing, done) = oneshot::channel();
        if self.orders.send(Order::Release(question, doing)).is_ok() && is_waited_for {
            // Nothing is ever sent: it is done, or not in time.
            let _ = host::within(self.shadow.patience, done).await;
        }
    }

    fn abandon(&self) {
        let _ = self.orders.send(Order::Abandon);
    }
}

impl fmt::Debug for Shadow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shadow").field("summary", &self.summary()).finish_non_exhaustive()
    }
}
