//! A lock's shadow, as the lock sees it: orders to the thread that keeps it.

use std::fmt;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use super::shared_connection::SharedConnection;
use crate::driver::held_lock::{HeldBeside, HeldLock};
use crate::driver::host;
use crate::driver::shadow::{Question, ShadowComparison, ShadowState, ShadowSummary};

/// A lock that is taken beside another one, which alone decides: see [`Lock::shadowed`](super::Lock::shadowed).
///
/// Its own outcomes and errors go into a [`ShadowSummary`] and the log, and nowhere else. A thread of its own does, one after the
/// other, what follows from what becomes of the lock: the shadow is taken once the lock was won and extended once the lock
/// was, and looked at where the lock was refused. No caller waits for that. Only a release first waits until the shadow is
/// released, so that the next holder of the lock finds the shadow free; but no longer than
/// [a tenth of a second](Self::patient_for). A server that hangs costs that once, and is asked nothing more until it has
/// answered. So the summary is complete a moment after a try has ended, not at once.
///
/// Give it no longer a lease than the lock has: what a dead holder leaves must not outlast the lock. A `redis::Client` in
/// place of a connection connects anew for every command, and so finds a server again that was gone.
///
/// ```no_run
/// use std::time::Duration;
/// use lockshift::driver::{Attempt, blocking};
/// use lockshift::lock::Lease;
/// use lockshift::{legacy, modern};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let client = redis::Client::open("redis://127.0.0.1/")?;
/// let lease = Lease::new(Duration::from_secs(30))?;
/// let old = legacy::Lock::new(legacy::find("php-getset").ok_or("no such dialect")?, "invoices".into(), lease);
/// let new = modern::TokenLock::new("{invoices}:shadow".into(), lease);
///
/// let shadow = blocking::Shadow::new(client.get_connection()?, new);
/// let lock = blocking::Lock::new(client.get_connection()?, old).shadowed(&shadow);
/// if let Attempt::Won(guard) = lock.try_acquire()? {
///     guard.release()?;
/// }
/// println!("{:?}", shadow.summary());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Shadow {
    pub(super) orders: Sender<Order>,
    pub(super) state: Arc<ShadowState>,
    pub(super) patience: Duration,
}

/// What the thread that keeps a shadow is to do. What it is asked to take goes by the number of that question.
pub(super) enum Order {
    /// Take it beside a lock that was won.
    Take(Question),
    /// See whether any client holds it, beside a lock that was refused.
    Look(Question),
    /// Hold on to what was taken, as the lock does.
    Extend(u64, Question),
    /// Release what was acquired, before the lock is released; the waiter for that notices that the sender is dropped.
    Release(u64, Option<Question>, Sender<()>),
    /// Let go of what was taken without telling the server.
    Abandon(u64),
}

/// What a guard and its renewal share.
pub(super) type Held<C> = HeldLock<SharedConnection<C>, ShadowHold>;

/// What is held beside a lock that was won.
pub(super) struct ShadowHold {
    shadow: Shadow,
    number: u64,
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
    pub(super) fn take(&self) -> Option<ShadowHold> {
        let question = self.begin()?;
        let number = question.number();
        self.send(Order::Take(question)).then(|| ShadowHold { shadow: self.clone(), number })
    }

    /// The lock was refused.
    pub(super) fn look(&self) {
        if let Some(question) = self.begin() {
            self.send(Order::Look(question));
        }
    }

    fn begin(&self) -> Option<Question> {
        self.state.begin(self.patience, host::mono())
    }

    /// Whether the thread that does it still runs.
    fn send(&self, order: Order) -> bool {
        let is_sent = self.orders.send(order).is_ok();
        if !is_sent {
            self.state.count(ShadowComparison::Failed);
        }
        is_sent
    }
}

impl HeldBeside for ShadowHold {
    fn extend(&self) {
        if let Some(question) = self.shadow.begin() {
            self.shadow.send(Order::Extend(self.number, question));
        }
    }

    async fn release(&self) {
        let question = self.shadow.begin();
        let is_waited_for = question.is_some();
        let (doing, done) = channel();
        if self.shadow.send(Order::Release(self.number, question, doing)) && is_waited_for {
            // Nothing is ever sent: it is done, or not in time.
            let _ = done.recv_timeout(self.shadow.patience);
        }
    }

    fn abandon(&self) {
        self.shadow.send(Order::Abandon(self.number));
    }
}

impl fmt::Debug for Shadow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shadow").field("summary", &self.summary()).finish_non_exhaustive()
    }
}
