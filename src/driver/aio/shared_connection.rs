//! One connection for a lock, its clones, its guards and their renewals: one procedure at a time, holders first.
//!
//! A holder that renews or releases waits for the procedure under way, and for no other attempt: however many tasks wait
//! for the lock, they do not keep its holder from renewing it. Attempts queue at an entrance, so that at most one of
//! them is before a holder in the queue for the connection, which is first come, first served.

use std::ops::{Deref, DerefMut};

use tokio::sync::{Mutex, MutexGuard};

use super::carrier::{Carrier, InTask};
use super::unattended::Workplace;
use crate::driver::link::SharedLink;

/// A connection that one procedure at a time may use.
#[derive(Debug)]
pub(super) struct SharedConnection<C> {
    /// `None` where there is only one attempt at a time.
    entrance: Option<Mutex<()>>,
    connection: Mutex<C>,
    /// Where attempts and releases are made.
    pub(super) workplace: Workplace,
}

/// The connection, until this is dropped.
pub(super) struct Borrowed<'a, C> {
    // Dropped in this order: the next attempt comes behind the holders that wait by then.
    connection: MutexGuard<'a, C>,
    _entrance: Option<MutexGuard<'a, ()>>,
}

impl<C> SharedConnection<C> {
    /// The one connection of a lock and its clones.
    pub(super) fn own(connection: C) -> Self {
        Self { entrance: Some(Mutex::new(())), connection: Mutex::new(connection), workplace: Workplace::OwnTask }
    }

    /// A clone of a connection, for one attempt and what it wins.
    pub(super) fn clone_of(connection: C) -> Self {
        Self { entrance: None, connection: Mutex::new(connection), workplace: Workplace::CallersTask }
    }

    /// As soon as the procedure under way has ended.
    async fn borrow_for_holder(&self) -> Borrowed<'_, C> {
        Borrowed { connection: self.connection().await, _entrance: None }
    }

    /// At once if it is free, without the cost of a wait. It is never free while others wait for it.
    async fn connection(&self) -> MutexGuard<'_, C> {
        match self.connection.try_lock() {
            Ok(connection) => connection,
            Err(_) => self.connection.lock().await,
        }
    }

    /// As soon as no procedure uses it and no holder waits for it.
    async fn borrow_for_attempt(&self) -> Borrowed<'_, C> {
        let entrance = match &self.entrance {
            Some(entrance) => Some(entrance.lock().await),
            None => None,
        };
        Borrowed { connection: self.connection().await, _entrance: entrance }
    }

    fn in_task<'a>(&self, connection: Borrowed<'a, C>) -> InTask<Borrowed<'a, C>> {
        InTask { connection, is_own: self.workplace == Workplace::OwnTask }
    }
}

impl<C: Carrier + 'static> SharedLink for SharedConnection<C> {
    type Borrowed<'a> = InTask<Borrowed<'a, C>>;

    async fn for_attempt(&self) -> Self::Borrowed<'_> {
        self.in_task(self.borrow_for_attempt().await)
    }

    async fn for_holder(&self) -> Self::Borrowed<'_> {
        self.in_task(self.borrow_for_holder().await)
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

    let shared = Arc::new(SharedConnection::own(()));
    let (served, mut order) = tokio::sync::mpsc::unbounded_channel();
    let under_way = shared.borrow_for_attempt().await;
    for name in ["attempt", "attempt", "attempt", "holder"] {
        let (shared, served) = (Arc::clone(&shared), served.clone());
        tokio::spawn(async move {
            let borrowed =
                if name == "holder" { shared.borrow_for_holder().await } else { shared.borrow_for_attempt().await };
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
