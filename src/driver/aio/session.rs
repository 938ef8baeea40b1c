//! A protocol on a connection: what a guard and its renewal share.

use std::sync::Arc;

use lockshift_lock::{Hold, Locker, Owner, Ownership};
use lockshift_wire::{Command, Reply, Transcript, Turn};

use super::carrier::{Carrier, run};
use super::shared_connection::{Borrowed, SharedConnection};
use super::unattended::Workplace;
use crate::driver::counters::Counters;
use crate::driver::entries;
use crate::driver::error::Error;
use crate::driver::interrupted::Interrupted;
use crate::driver::replication::Replication;
use crate::driver::undisclaimed::Undisclaimed;

/// A protocol on a connection, which one procedure at a time may use.
pub(super) struct Session<C> {
    pub(super) connection: Arc<SharedConnection<C>>,
    pub(super) locker: Arc<dyn Locker>,
    pub(super) counters: Arc<Counters>,
    pub(super) replication: Option<Replication>,
    pub(super) undisclaimed: Undisclaimed,
    /// Where attempts and releases are made.
    pub(super) workplace: Workplace,
}

impl<C> Clone for Session<C> {
    fn clone(&self) -> Self {
        Self {
            connection: Arc::clone(&self.connection),
            locker: Arc::clone(&self.locker),
            counters: Arc::clone(&self.counters),
            replication: self.replication,
            undisclaimed: self.undisclaimed.clone(),
            workplace: self.workplace,
        }
    }
}

impl<C: Carrier + 'static> Session<C> {
    /// The connection, to try to acquire: behind the holders that wait for it.
    pub(super) async fn for_attempt(&self) -> Borrowed<'_, C> {
        self.connection.for_attempt().await
    }

    /// The connection, to renew, release or withdraw: before all attempts that wait for it.
    pub(super) async fn for_holder(&self) -> Borrowed<'_, C> {
        self.connection.for_holder().await
    }

    /// Waits until as many replicas have what was won as are wanted.
    pub(super) async fn replicate(&self, connection: &mut C) -> Result<(), Error> {
        let Some(replication) = &self.replication else { return Ok(()) };
        let answer = connection.send(&replication.command()).await;
        replication.judge(self.locker.key(), answer)
    }

    /// Runs one procedure of the locker.
    pub(super) async fn ask<T>(
        &self,
        connection: &mut C,
        question: impl Fn(&dyn Locker, &mut Transcript) -> Turn<T> + Sync,
    ) -> Result<T, Interrupted> {
        let answer = run(connection, &|redis: &mut Transcript| question(&*self.locker, redis)).await;
        if answer.is_err() && self.locker.needs_own_connection() {
            leave_transaction(connection).await;
        }
        answer
    }

    /// Disclaims an attempt that may have acted.
    ///
    /// # Errors
    /// No reply arrived: the next attempt repeats it.
    pub(super) async fn disclaim(&self, connection: &mut C, owner: &Owner) -> Result<(), Error> {
        let owner = entries::counted(&*self.locker, owner);
        let disclaimed = self.ask(connection, |locker, redis| locker.disclaim(&owner, redis)).await;
        self.undisclaimed.note(&*self.locker, &owner, disclaimed)
    }

    /// Disclaims the earlier attempts that could not be disclaimed, before this owner's next one.
    ///
    /// # Errors
    /// No reply arrived this time either.
    pub(super) async fn disclaim_earlier(&self, connection: &mut C, owner: &Owner) -> Result<(), Error> {
        while let Some(earlier) = self.undisclaimed.take(&*self.locker, owner) {
            self.disclaim(connection, &earlier).await?;
        }
        Ok(())
    }

    /// Asks whether the lock is still this hold's, another client's, or free.
    pub(super) async fn ownership(&self, hold: &Hold) -> Result<Ownership, Error> {
        let mut connection = self.for_holder().await;
        let ownership = self.ask(&mut connection, |locker, redis| locker.ownership(hold, redis)).await;
        ownership.map_err(|interrupted| Error::because(self.locker.key(), interrupted.cause))
    }
}

/// DISCARD also forgets what is watched, but is refused outside of MULTI. A connection that is broken forgets both.
async fn leave_transaction<C: Carrier>(connection: &mut C) {
    for command in ["DISCARD", "UNWATCH"] {
        if connection.send(&Command::new(command)).await.is_ok_and(|reply| reply == Reply::ok()) {
            return;
        }
    }
}
