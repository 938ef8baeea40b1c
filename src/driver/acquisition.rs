//! One acquisition under way: what follows from the outcome of each attempt. It sends nothing.

use std::sync::Arc;
use std::time::Duration;

use lockshift_lock::{Held, Hold, Locker, Owner, RefusalScope, ReleaseChannel};
use lockshift_wire::{MonoTime, Reading, Transcript};

use super::counters::Counters;
use super::error::Error;
use super::events::ACQUIRE;
use super::host;
use super::interrupted::Interrupted;
use super::outcome::{Attempt, Unknown};

/// One acquisition under way: the attempts of one wait.
///
/// Each attempt has a token of its own, so that a command of one attempt that arrives late cannot delete what the next one
/// has won. Only a place in a queue keeps its token from one attempt to the next, as long as each of them was answered.
pub(super) struct Acquisition {
    locker: Arc<dyn Locker>,
    counters: Arc<Counters>,
    owner: Owner,
    began: MonoTime,
    /// The last attempt was refused, and may have left a place in a queue.
    is_refused: bool,
}

impl Acquisition {
    /// One that begins now, for this thread or task.
    pub(super) fn begin(locker: &Arc<dyn Locker>, counters: &Arc<Counters>, thread: u64) -> Result<Self, Error> {
        let owner = host::owner(thread).map_err(|error| Error::no_randomness(locker.key(), error))?;
        let (locker, counters) = (Arc::clone(locker), Arc::clone(counters));
        Ok(Self { locker, counters, owner, began: host::mono(), is_refused: false })
    }

    /// The owner of the next attempt.
    pub(super) fn owner(&self) -> Owner {
        self.owner
    }

    /// When it began.
    pub(super) fn began(&self) -> MonoTime {
        self.began
    }

    /// Where a release would be announced.
    pub(super) fn release_channel(&self) -> Option<ReleaseChannel> {
        self.locker.release_channel(&self.owner)
    }

    /// What a refusal says about others that wait where it does.
    pub(super) fn refusal_scope(&self) -> RefusalScope {
        self.locker.refusal_scope()
    }

    /// What it holds by this message, which was read at `now`. One of which less than nine tenths of a lease are left is
    /// better acquired by another attempt, which finds the lock its own and begins the lease anew.
    pub(super) fn granted(&self, message: &[u8], now: Reading) -> Option<Hold> {
        let waited = now.mono.saturating_since(self.began);
        let since = Reading { wall: now.wall.saturating_sub(waited), mono: self.began };
        let hold = self.locker.granted(&self.owner, since, message)?;
        let enough = self.locker.lease().validity() / 10 * 9;
        (hold.valid_until().saturating_since(now.mono) >= enough).then_some(hold)
    }

    /// How long a waiter that no notification reaches may pause to keep its place in a queue.
    pub(super) fn longest_pause(&self) -> Option<Duration> {
        self.locker.longest_pause()
    }

    /// The attempt has won just now, and its lease still runs.
    pub(super) fn won<G>(&mut self, guard: G, now: MonoTime) -> Attempt<G> {
        self.is_refused = false;
        self.counters.note_acquired(now.saturating_since(self.began));
        log::debug!(target: ACQUIRE, "lock key `{}`: acquired", self.locker.key());
        Attempt::Won(guard)
    }

    /// The attempt has won, and what it won was released: too few replicas have it, or its lease had ended.
    pub(super) fn not_kept<G>(&mut self, replicated: Result<(), Error>) -> Result<Attempt<G>, Error> {
        self.is_refused = replicated.is_ok();
        self.renew_token()?;
        replicated.map(|()| Attempt::TooLate)
    }

    /// The attempt was refused.
    pub(super) fn refused<G>(&mut self, held: Held) -> Result<Attempt<G>, Error> {
        let attempt = Attempt::refused(self.locker.key(), held);
        self.is_refused = attempt.is_ok();
        if !self.has_a_place() {
            self.renew_token()?;
        }
        attempt
    }

    /// The attempt broke off, and was disclaimed if it may have acted.
    pub(super) fn interrupted<G>(&mut self, interrupted: Interrupted) -> Result<Attempt<G>, Error> {
        if interrupted.may_have_acted {
            self.is_refused = false;
            self.renew_token()?;
        }
        Unknown::or_error(self.locker.key(), interrupted).map(Attempt::Unknown)
    }

    /// Gives up, unless it has won: whether there is something to withdraw on the server.
    pub(super) fn give_up(&mut self) -> bool {
        if !std::mem::take(&mut self.is_refused) {
            return false;
        }
        self.counters.note_refused(host::mono().saturating_since(self.began));
        log::debug!(target: ACQUIRE, "lock key `{}`: not acquired", self.locker.key());
        self.has_a_place()
    }

    fn renew_token(&mut self) -> Result<(), Error> {
        let owner = host::owner(self.owner.thread);
        self.owner = owner.map_err(|error| Error::no_randomness(self.locker.key(), error))?;
        Ok(())
    }

    /// Whether an attempt that was refused leaves a place in a queue: then the protocol has something to withdraw.
    pub(super) fn has_a_place(&self) -> bool {
        self.locker.withdraw(&self.owner, &mut Transcript::new()).is_err()
    }
}
