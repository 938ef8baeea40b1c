//! A protocol on a connection: what a lock, its guards and their renewals share.

use std::sync::Arc;

use lockshift_lock::{Acquired, Held, Hold, Locker, Owner, Ownership, RefusalScope};
use lockshift_wire::{Command, MonoTime, Reply, Transcript, Turn};

use super::counters::Counters;
use super::entries::{self, ReentrantEntry};
use super::error::Error;
use super::interrupted::{Interrupted, log_undone};
use super::link::{Link, SharedLink, run};
use super::replication::Replication;
use super::undisclaimed::Undisclaimed;
use super::waiting::Waiters;

/// A protocol on a connection, which one procedure at a time may use.
pub(super) struct LockSession<S> {
    pub(super) connection: Arc<S>,
    pub(super) locker: Arc<dyn Locker>,
    pub(super) counters: Arc<Counters>,
    pub(super) replication: Option<Replication>,
    pub(super) undisclaimed: Undisclaimed,
    /// The waiters of this program, if it listens for releases.
    pub(super) waiters: Option<Arc<Waiters>>,
    /// Whether the connection sends a command again by itself when no reply came: then no lock uses it.
    pub(super) resends: bool,
}

/// What one attempt has come to.
pub(super) enum Tried {
    /// It was won.
    Won {
        hold: Hold,
        /// Counts this hold, if the lock is re-entrant.
        entry: Option<ReentrantEntry>,
        /// An error if too few replicas have it: it is to be released.
        replicated: Result<(), Error>,
    },
    /// Another client holds the lock.
    Refused(Held),
    /// It broke off, and was disclaimed if it may have acted.
    Interrupted(Interrupted),
}

impl<S> LockSession<S> {
    pub(super) fn new(connection: Arc<S>, locker: Arc<dyn Locker>, resends: bool) -> Self {
        let (counters, undisclaimed) = (Arc::default(), Undisclaimed::default());
        Self { connection, locker, counters, replication: None, undisclaimed, waiters: None, resends }
    }
}

impl<S> Clone for LockSession<S> {
    fn clone(&self) -> Self {
        Self {
            connection: Arc::clone(&self.connection),
            locker: Arc::clone(&self.locker),
            counters: Arc::clone(&self.counters),
            replication: self.replication,
            undisclaimed: self.undisclaimed.clone(),
            waiters: self.waiters.clone(),
            resends: self.resends,
        }
    }
}

impl<S: SharedLink> LockSession<S> {
    /// Tries once to acquire, after it has disclaimed what earlier attempts could not.
    ///
    /// # Errors
    /// The connection cannot carry this protocol, or an earlier attempt could not be disclaimed this time either.
    pub(super) async fn attempt(&self, owner: &Owner) -> Result<Tried, Error> {
        let mut connection = self.connection.for_attempt().await;
        self.check(&connection)?;
        while let Some(earlier) = self.undisclaimed.take(&*self.locker, owner) {
            // In a box, here and below: each attempt would have room for it otherwise.
            Box::pin(self.disclaim(&mut connection, &earlier)).await?;
        }
        let entry = ReentrantEntry::begin(&*self.locker, owner);
        match self.ask(&mut connection, |locker, redis| locker.acquire(owner, redis)).await {
            Ok(Acquired::Won(hold)) => {
                let replicated = self.replicate(&mut connection).await;
                Ok(Tried::Won { hold, entry, replicated })
            }
            Ok(Acquired::Held(held)) => Ok(Tried::Refused(held)),
            Err(interrupted) => {
                drop(entry);
                if interrupted.may_have_acted {
                    // Without a reply it is due before the next attempt.
                    let _ = Box::pin(self.disclaim(&mut connection, owner)).await;
                }
                Ok(Tried::Interrupted(interrupted))
            }
        }
    }

    /// Runs one procedure of the locker.
    pub(super) async fn ask<T>(
        &self,
        connection: &mut S::Borrowed<'_>,
        question: impl Fn(&dyn Locker, &mut Transcript) -> Turn<T> + Sync,
    ) -> Result<T, Interrupted> {
        let answer = run(connection, &|redis: &mut Transcript| question(&*self.locker, redis)).await;
        if answer.is_err() && self.locker.needs_own_connection() {
            leave_transaction(connection).await;
        }
        answer
    }

    /// Leaves the queue in which a refused attempt of this owner may have left a place.
    pub(super) async fn withdraw(&self, owner: &Owner) {
        let mut connection = self.connection.for_holder().await;
        let withdrawn = self.ask(&mut connection, |locker, redis| locker.withdraw(owner, redis)).await;
        log_undone(self.locker.key(), "leave the queue", &withdrawn);
    }

    /// What this owner holds is about to be released: those of this program that wait for it come before those that have not
    /// tried yet.
    pub(super) fn begin_release(&self, owner: &Owner, now: MonoTime) {
        let Some(waiters) = self.waiters.as_ref().filter(|_| self.locker.refusal_scope() == RefusalScope::AllWaiters)
        else {
            return;
        };
        if let Some(channel) = self.locker.release_channel(owner) {
            waiters.state().registry.begin_release(&channel, now);
        }
    }

    /// Asks whether the lock is still this hold's, another client's, or free.
    pub(super) async fn ownership(&self, hold: &Hold) -> Result<Ownership, Error> {
        let mut connection = self.connection.for_holder().await;
        let ownership = self.ask(&mut connection, |locker, redis| locker.ownership(hold, redis)).await;
        ownership.map_err(|interrupted| Error::because(self.locker.key(), interrupted.cause))
    }

    /// Accepts a connection that can carry this protocol.
    fn check(&self, connection: &S::Borrowed<'_>) -> Result<(), Error> {
        if self.resends {
            return Err(Error::resending_connection(self.locker.key()));
        }
        let needs_own = self.locker.needs_own_connection() || self.replication.is_some();
        if needs_own && !connection.is_own() { Err(Error::shared_connection(self.locker.key())) } else { Ok(()) }
    }

    /// Waits until as many replicas have what was won as are wanted.
    async fn replicate(&self, connection: &mut S::Borrowed<'_>) -> Result<(), Error> {
        let Some(replication) = &self.replication else { return Ok(()) };
        let answer = connection.send(&replication.command()).await;
        replication.judge(self.locker.key(), answer)
    }

    /// Disclaims an attempt that may have acted.
    ///
    /// # Errors
    /// No reply arrived: the next attempt repeats it.
    async fn disclaim(&self, connection: &mut S::Borrowed<'_>, owner: &Owner) -> Result<(), Error> {
        let owner = entries::counted(&*self.locker, owner);
        let disclaimed = self.ask(connection, |locker, redis| locker.disclaim(&owner, redis)).await;
        self.undisclaimed.note(&*self.locker, &owner, disclaimed)
    }
}

/// DISCARD also forgets what is watched, but is refused outside of MULTI. A connection that is broken forgets both.
async fn leave_transaction(connection: &mut impl Link) {
    for command in ["DISCARD", "UNWATCH"] {
        if connection.send(&Command::new(command)).await.is_ok_and(|reply| reply == Reply::ok()) {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use lockshift_wire::NodeReply;

    use super::*;
    use crate::driver::Unanswered;
    use crate::driver::link::at_once;

    /// A connection whose server answers DISCARD with this.
    struct Answering(Reply, Vec<String>);

    impl Link for Answering {
        fn servers(&self) -> usize {
            1
        }

        fn is_own(&self) -> bool {
            true
        }

        async fn send(&mut self, command: &Command) -> Result<Reply, Unanswered> {
            self.1.push(command.to_string());
            Ok(if command.is("DISCARD") { self.0.clone() } else { Reply::ok() })
        }

        async fn round(&mut self, _: &[Command]) -> Vec<NodeReply> {
            Vec::new()
        }
    }

    #[test]
    fn a_connection_that_watches_outside_of_multi_is_made_to_stop_that() {
        let outside = Reply::Error("ERR DISCARD without MULTI".to_owned());
        for (reply, sent) in [(Reply::ok(), vec!["DISCARD"]), (outside, vec!["DISCARD", "UNWATCH"])] {
            let mut connection = Answering(reply, Vec::new());
            at_once(leave_transaction(&mut connection));
            assert_eq!(connection.1, sent);
        }
    }
}
