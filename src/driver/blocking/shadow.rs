//! The thread that takes a lock beside another one, on a connection of its own, to see whether the two agree.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use lockshift_lock::{Hold, Locker};

use super::carrier::Carrier;
use super::guard::Guard;
use super::lock::Lock;
use super::shadow_hold::{Order, Shadow};
use crate::driver::events::SHADOW;
use crate::driver::host;
use crate::driver::outcome::Attempt;
use crate::driver::shadow::{PATIENCE, ShadowComparison, ShadowState};

impl Shadow {
    /// A shadow that speaks the protocol of `locker` over `connection`: to the same server, or to another one.
    pub fn new<C: Carrier + Send + 'static>(connection: C, locker: impl Locker + 'static) -> Self {
        let (orders, received) = channel();
        let keeper = Keeper { lock: Lock::new(connection, locker), held: BTreeMap::new() };
        let state = Arc::new(ShadowState::new(keeper.lock.key().clone()));
        let thread = thread::Builder::new().name("lockshift-shadow".into());
        if let Err(error) = thread.spawn(move || keeper.obey(&received)) {
            log::warn!(target: SHADOW, "shadow: no thread to keep it: {error}");
        }
        Self { orders, state, patience: PATIENCE }
    }
}

/// The thread's side: the shadow's connection, and what was acquired on it.
struct Keeper<C: Carrier + Send + 'static> {
    lock: Lock<C>,
    held: BTreeMap<u64, TakenShadow<C>>,
}

struct TakenShadow<C: Carrier + 'static> {
    guard: Guard<C>,
    /// That it was lost has been counted.
    is_lost: bool,
}

impl<C: Carrier + Send + 'static> Keeper<C> {
    /// Executes orders until no handle is left to send any.
    fn obey(mut self, orders: &Receiver<Order>) {
        for order in orders {
            match order {
                Order::Take(question) => {
                    let attempt = self.lock.try_acquire();
                    let (number, comparison) = (question.number(), ShadowComparison::of_try(&attempt));
                    question.answer(Some(comparison), host::mono());
                    if let Ok(Attempt::Won(guard)) = attempt {
                        self.held.insert(number, TakenShadow { guard, is_lost: false });
                    }
                }
                Order::Look(question) => {
                    let nobodys =
                        Hold { value: Vec::new(), since: host::reading(), lease: self.lock.lease(), fence: None };
                    let comparison = ShadowComparison::of_look(&self.lock.ownership_of(&nobodys));
                    question.answer(Some(comparison), host::mono());
                }
                Order::Extend(number, question) => {
                    if let Some(taken) = self.held.get_mut(&number).filter(|taken| !taken.is_lost) {
                        let comparison = ShadowComparison::of_extension(&taken.guard.extend());
                        taken.is_lost = comparison == Some(ShadowComparison::Doubled);
                        question.answer(comparison, host::mono());
                    }
                }
                Order::Release(number, question, _doing) => {
                    if let Some(taken) = self.held.remove(&number) {
                        let comparison = ShadowComparison::of_release(&taken.guard.release());
                        question.into_iter().for_each(|question| question.answer(comparison, host::mono()));
                    }
                }
                Order::Abandon(number) => {
                    if let Some(taken) = self.held.remove(&number) {
                        taken.guard.abandon();
                    }
                }
            }
        }
    }
}
