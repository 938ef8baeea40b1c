//! The tasks that take a lock beside another one, on a connection of its own, to see whether the two agree.

use std::sync::Arc;

use lockshift_lock::{Hold, Locker};
use tokio::sync::mpsc::UnboundedReceiver;

use super::carrier::Carrier;
use super::guard::Guard;
use super::lock::Lock;
use super::shadow_hold::{Beside, Order, Shadow, Work};
use crate::driver::host;
use crate::driver::outcome::Attempt;
use crate::driver::shadow::{PATIENCE, Question, ShadowComparison, ShadowState};

impl Shadow {
    /// A shadow that speaks the protocol of `locker` over clones of `connection`: to the same server, or to another one.
    /// Protocols with WATCH and MULTI want [`on_own_connection`](Self::on_own_connection).
    pub fn new<C: Carrier + Clone + Sync + 'static>(connection: C, locker: impl Locker + 'static) -> Self {
        Self::beside(Lock::new(connection, locker))
    }

    /// A shadow that speaks the protocol of `locker` over `connection`, of which no other clone is in use, and which is
    /// not a cluster's.
    pub fn on_own_connection<C: Carrier + Clone + Sync + 'static>(
        connection: C,
        locker: impl Locker + 'static,
    ) -> Self {
        Self::beside(Lock::on_own_connection(connection, locker))
    }

    fn beside<C: Carrier + Clone + Sync + 'static>(lock: Lock<C>) -> Self {
        let state = Arc::new(ShadowState::new(lock.key().clone()));
        Self { beside: Arc::new(lock), state, patience: PATIENCE }
    }
}

impl<C: Carrier + Clone + Sync + 'static> Beside for Lock<C> {
    fn keep(&self, taking: Question, orders: UnboundedReceiver<Order>) -> Work {
        let lock = self.clone();
        Box::pin(async move {
            let attempt = lock.try_acquire().await;
            taking.answer(Some(ShadowComparison::of_try(&attempt)), host::mono());
            if let Ok(Attempt::Won(guard)) = attempt {
                keep(guard, orders).await;
            }
        })
    }

    fn look(&self, question: Question) -> Work {
        let lock = self.clone();
        Box::pin(async move {
            let nobodys = Hold { value: Vec::new(), since: host::reading(), lease: lock.lease(), fence: None };
            let standing = lock.ownership_of(&nobodys).await;
            question.answer(Some(ShadowComparison::of_look(&standing)), host::mono());
        })
    }
}

/// Keeps what was acquired, as ordered. When no handle is left to send orders, it is released.
async fn keep<C: Carrier + 'static>(guard: Guard<C>, mut orders: UnboundedReceiver<Order>) {
    let mut is_lost = false;
    while let Some(order) = orders.recv().await {
        match order {
            // That it was lost is counted once.
            Order::Extend(_) if is_lost => {}
            Order::Extend(question) => {
                let comparison = ShadowComparison::of_extension(&guard.extend().await);
                is_lost = comparison == Some(ShadowComparison::Doubled);
                question.answer(comparison, host::mono());
            }
            Order::Release(question, _doing) => {
                let comparison = ShadowComparison::of_release(&guard.release().await);
                question.into_iter().for_each(|question| question.answer(comparison, host::mono()));
                return;
            }
            Order::Abandon => return guard.abandon().await,
        }
    }
}
