//! One connection for a lock, its clones, its guards and their renewals: one procedure at a time, holders first.
//!
//! A holder that renews or releases waits for the procedure under way, and for no other attempt: however many tasks wait
//! for the lock, they do not keep its holder from renewing it. Attempts queue at an entrance, so that at most one of
//! them is before a holder in the queue for the connection, which is first come, first served.

use std::ops::{Deref, DerefMut};

use tokio::sync::{Mutex, MutexGuard};

/// A connection that one procedure at a time may use.
#[derive(Debug)]
pub(super) struct SharedConnection<C> {
    entrance: Mutex<()>,
    connection: Mutex<C>,
}

/// The connection, until this is dropped.
pub(super) struct Borrowed<'a, C> {
    // Dropped in this order: the next attempt comes behind the holders that wait by then.
    connection: MutexGuard<'a, C>,
    _entrance: Option<MutexGuard<'a, ()>>,
}

impl<C> SharedConnection<C> {
    pub(super) fn new(connection: C) -> Self {
        Self { entrance: Mutex::new(()), connection: Mutex::new(connection) }
    }

    /// The connection, as soon as the procedure under way has ended: to renew, to release, to leave a queue.
    pub(super) async fn for_holder(&self) -> Borrowed<'_, C> {
        Borrowed { connection: self.connection.lock().await, _entrance: None }
    }

    /// The connection, as soon as no procedure uses it and no holder waits for it: to try to acquire.
    pub(super) async fn for_attempt(&self) -> Borrowed<'_, C> {
        let entrance = self.entrance.lock().await;
        Borrowed { connection: self.connection.lock().await, _entrance: Some(entrance) }
    }
}

impl<C> Deref for Borrowed<'_, C> {
    type Target = C;

    fn deref(&self) -> &C {
        &self.connection
    }
}

impl<C> DerefMut for Borrowed<'_, C> {
    fn deref_mut(&mut self) -> &mut C {
        &mut self.connection
    }
}

#[tokio::test]
async fn a_holder_that_comes_last_is_served_before_all_attempts() {
    use std::sync::Arc;

    let shared = Arc::new(SharedConnection::new(()));
    let (served, mut order) = tokio::sync::mpsc::unbounded_channel();
    let under_way = shared.for_attempt().await;
    for name in ["attempt", "attempt", "attempt", "holder"] {
        let (shared, served) = (Arc::clone(&shared), served.clone());
        tokio::spawn(async move {
            let borrowed = if name == "holder" { shared.for_holder().await } else { shared.for_attempt().await };
            served.send(name).unwrap();
            drop(borrowed);
        });
        // On this one thread the task runs until it waits.
        tokio::task::yield_now().await;
    }
    drop(under_way);
    drop(served);
    let mut names = Vec::new();
    while let Some(name) = order.recv().await {
        names.push(name);
    }
    assert_eq!(names, ["holder", "attempt", "attempt", "attempt"]);
}
