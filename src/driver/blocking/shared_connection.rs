//! One connection for a lock, its clones, its guards and their renewals: one procedure at a time, holders first.
//!
//! A holder that renews or releases waits for the procedure under way, and for no other attempt: however many threads
//! wait for the lock, they do not keep its holder from renewing it.

use std::any::Any;
use std::ops::{Deref, DerefMut};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use redis::Client;

use super::carrier::{Blocking, Carrier};
use crate::driver::link::SharedLink;

/// A connection that one procedure at a time may use.
pub(super) struct SharedConnection<C> {
    state: Mutex<ConnectionState<C>>,
    free_for_holder: Condvar,
    free_for_attempt: Condvar,
}

struct ConnectionState<C> {
    /// `None` while a procedure uses it.
    connection: Option<C>,
    holders_waiting: usize,
    attempts_waiting: usize,
}

/// The connection, until this is dropped.
pub(super) struct Borrowed<'a, C> {
    shared: &'a SharedConnection<C>,
    connection: Option<C>,
}

impl<C> SharedConnection<C> {
    pub(super) fn new(connection: C) -> Self {
        Self {
            state: Mutex::new(ConnectionState {
                connection: Some(connection),
                holders_waiting: 0,
                attempts_waiting: 0,
            }),
            free_for_holder: Condvar::new(),
            free_for_attempt: Condvar::new(),
        }
    }

    /// As soon as the procedure under way has ended.
    fn borrow_for_holder(&self) -> Borrowed<'_, C> {
        let mut state = self.state();
        state.holders_waiting += 1;
        loop {
            if let Some(connection) = state.connection.take() {
                state.holders_waiting -= 1;
                return Borrowed { shared: self, connection: Some(connection) };
            }
            state = self.free_for_holder.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// As soon as no procedure uses it and no holder waits for it.
    fn borrow_for_attempt(&self) -> Borrowed<'_, C> {
        let mut state = self.state();
        loop {
            if state.holders_waiting == 0
                && let Some(connection) = state.connection.take()
            {
                return Borrowed { shared: self, connection: Some(connection) };
            }
            state.attempts_waiting += 1;
            state = self.free_for_attempt.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.attempts_waiting -= 1;
        }
    }

    fn state(&self) -> MutexGuard<'_, ConnectionState<C>> {
        // It is changed in single steps.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<C: Carrier + 'static> SharedLink for SharedConnection<C> {
    type Borrowed<'a> = Blocking<Borrowed<'a, C>>;

    async fn for_attempt(&self) -> Self::Borrowed<'_> {
        blocking(self.borrow_for_attempt())
    }

    async fn for_holder(&self) -> Self::Borrowed<'_> {
        blocking(self.borrow_for_holder())
    }
}

/// A client makes a new connection for each command, a cluster has several.
fn blocking<C: Carrier + 'static>(connection: Borrowed<'_, C>) -> Blocking<Borrowed<'_, C>> {
    let is_client = (&*connection as &dyn Any).is::<Client>();
    let is_own = connection.keeps_its_connection() && connection.servers() == 1 && !is_client;
    Blocking { connection, is_own }
}

impl<C> Drop for Borrowed<'_, C> {
    /// Also when a procedure panics: it has broken its contract, not the connection, whose last reply had been read.
    fn drop(&mut self) {
        let mut state = self.shared.state();
        state.connection = self.connection.take();
        // A notification is a system call even if nobody waits.
        if state.holders_waiting > 0 {
            self.shared.free_for_holder.notify_one();
        } else if state.attempts_waiting > 0 {
            self.shared.free_for_attempt.notify_one();
        }
    }
}

impl<C> Deref for Borrowed<'_, C> {
    type Target = C;

    fn deref(&self) -> &C {
        self.connection.as_ref().expect("it is there until the drop")
    }
}

impl<C> DerefMut for Borrowed<'_, C> {
    fn deref_mut(&mut self) -> &mut C {
        self.connection.as_mut().expect("it is there until the drop")
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::thread::{scope, yield_now};

    use super::*;

    #[test]
    fn a_holder_that_comes_last_is_served_before_all_attempts() {
        let shared = SharedConnection::new(());
        let (served, order) = channel();
        scope(|scope| {
            let under_way = shared.borrow_for_attempt();
            for _ in 0..8 {
                let served = served.clone();
                scope.spawn(|| {
                    let borrowed = shared.borrow_for_attempt();
                    served.send("attempt").unwrap();
                    drop((borrowed, served));
                });
            }
            let holder = served.clone();
            scope.spawn(|| {
                let borrowed = shared.borrow_for_holder();
                holder.send("holder").unwrap();
                drop((borrowed, holder));
            });
            while shared.state().holders_waiting == 0 {
                yield_now();
            }
            drop(under_way);
        });
        drop(served);
        let order: Vec<_> = order.iter().collect();
        assert_eq!(order[0], "holder", "{order:?}");
        assert_eq!(order.len(), 9);
    }

    #[test]
    fn a_procedure_that_panics_hands_the_connection_back() {
        let shared = SharedConnection::new(7);
        let panicked = scope(|scope| {
            scope
                .spawn(|| {
                    let _borrowed = shared.borrow_for_attempt();
                    panic!("a protocol breaks its contract");
                })
                .join()
        });
        assert!(panicked.is_err());
        assert_eq!(*shared.borrow_for_holder(), 7);
    }
}
