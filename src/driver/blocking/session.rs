//! A protocol on a connection: what a lock, its guards and their renewals share.

use std::any::Any;
use std::sync::Arc;

use lockshift_lock::{Hold, Locker, Owner, Ownership};
use lockshift_wire::{Command, Reply, Transcript, Turn};
use redis::Client;

use super::carrier::{Carrier, run};
use super::shared_connection::{Borrowed, SharedConnection};
use crate::driver::counters::Counters;
use crate::driver::entries;
use crate::driver::error::Error;
use crate::driver::interrupted::Interrupted;
use crate::driver::replication::Replication;
use crate::driver::undisclaimed::Undisclaimed;

/// A protocol on a connection, which one procedure at a time may use.
pub(super) struct Session<C> {
    connection: Arc<SharedConnection<C>>,
    pub(super) locker: Arc<dyn Locker>,
    pub(super) counters: Arc<Counters>,
    pub(super) replication: Option<Replication>,
    undisclaimed: Undisclaimed,
}

impl<C> Clone for Session<C> {
    fn clone(&self) -> Self {
        Self {
            connection: Arc::clone(&self.connection),
            locker: Arc::clone(&self.locker),
            counters: Arc::clone(&self.counters),
            replication: self.replication,
            undisclaimed: self.undisclaimed.clone(),
        }
    }
}

impl<C: Carrier + 'static> Session<C> {
    pub(super) fn new(connection: C, locker: impl Locker + 'static) -> Self {
        Self {
            connection: Arc::new(SharedConnection::new(connection)),
            locker: Arc::new(locker),
            counters: Arc::new(Counters::default()),
            replication: None,
            undisclaimed: Undisclaimed::default(),
        }
    }

    /// The connection, to try to acquire: behind the holders that wait for it.
    pub(super) fn for_attempt(&self) -> Borrowed<'_, C> {
        self.connection.for_attempt()
    }

    /// The connection, to renew, release or withdraw: before all attempts that wait for it.
    pub(super) fn for_holder(&self) -> Borrowed<'_, C> {
        self.connection.for_holder()
    }

    /// Accepts a connection that can carry this protocol. WATCH, MULTI and WAIT need one that stays the same from command to
    /// command: a client makes a new one for each, a cluster has several.
    ///
    /// # Errors
    /// It cannot.
    pub(super) fn check(&self, connection: &C) -> Result<(), Error> {
        if C::resends() {
            return Err(Error::resending_connection(self.locker.key()));
        }
        let needs_own = self.locker.needs_own_connection() || self.replication.is_some();
        let is_client = (connection as &dyn Any).is::<Client>();
        let is_own = connection.keeps_its_connection() && connection.servers() == 1 && !is_client;
        if needs_own && !is_own { Err(Error::shared_connection(self.locker.key())) } else { Ok(()) }
    }

    /// Waits until as many replicas have what was won as are wanted.
    pub(super) fn replicate(&self, connection: &mut C) -> Result<(), Error> {
        let Some(replication) = &self.replication else { return Ok(()) };
        replication.judge(self.locker.key(), connection.send(&replication.command()))
    }

    /// Runs one procedure of the locker.
    pub(super) fn ask<T>(
        &self,
        connection: &mut C,
        question: impl Fn(&dyn Locker, &mut Transcript) -> Turn<T>,
    ) -> Result<T, Interrupted> {
        let answer = run(connection, &|redis: &mut Transcript| question(&*self.locker, redis));
        if answer.is_err() && self.locker.needs_own_connection() {
            leave_transaction(connection);
        }
        answer
    }

    /// Disclaims an attempt that may have acted.
    ///
    /// # Errors
    /// No reply arrived: the next attempt repeats it.
    pub(super) fn disclaim(&self, connection: &mut C, owner: &Owner) -> Result<(), Error> {
        let owner = entries::counted(&*self.locker, owner);
        let disclaimed = self.ask(connection, |locker, redis| locker.disclaim(&owner, redis));
        self.undisclaimed.note(&*self.locker, &owner, disclaimed)
    }

    /// Disclaims the earlier attempts that could not be disclaimed, before this owner's next one.
    ///
    /// # Errors
    /// No reply arrived this time either.
    pub(super) fn disclaim_earlier(&self, connection: &mut C, owner: &Owner) -> Result<(), Error> {
        while let Some(earlier) = self.undisclaimed.take(&*self.locker, owner) {
            self.disclaim(connection, &earlier)?;
        }
        Ok(())
    }

    /// Asks whether the lock is still this hold's, another client's, or free.
    pub(super) fn ownership(&self, hold: &Hold) -> Result<Ownership, Error> {
        let mut connection = self.for_holder();
        let ownership = self.ask(&mut connection, |locker, redis| locker.ownership(hold, redis));
        ownership.map_err(|interrupted| Error::because(self.locker.key(), interrupted.cause))
    }
}

/// DISCARD also forgets what is watched, but is refused outside of MULTI. A connection that is broken forgets both.
fn leave_transaction<C: Carrier>(connection: &mut C) {
    for command in ["DISCARD", "UNWATCH"] {
        if connection.send(&Command::new(command)).is_ok_and(|reply| reply == Reply::ok()) {
            return;
        }
    }
}
