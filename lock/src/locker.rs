//! The trait that every lock protocol implements.

use alloc::string::String;
use alloc::sync::Arc;
use core::num::NonZeroU32;
use core::time::Duration;

use lockshift_wire::{Key, Reading, Transcript, Turn};

use crate::{Acquired, Extended, Hold, Lease, Owner, Ownership, RefusalScope, ReleaseChannel, Released};

/// Which other holders a holder shares the lock with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// None: a mutex, or the write half of a read/write lock.
    Exclusive,
    /// Other holders in this mode: the read half.
    Shared,
}

/// What a release can do that reaches the server after the lease of its hold has ended, when another acquisition may
/// have won the lock: of another client, or, where locks are owned per thread, of the same one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LateRelease {
    /// Nothing to others: in one step on the server, it compares what this very acquisition wrote and deletes only that.
    /// Or the lock never expires, so that no other acquisition can have won it.
    Harmless,
    /// It may free the lock of another acquisition: it compares nothing, or only the thread, or it compares in one step
    /// and deletes in the next. A driver must not send it once the lock is lost.
    MayFreeAnother,
}

/// A lock on one key in one protocol.
///
/// Each method is a procedure over a transcript: it does no I/O, may be run many times, and depends on nothing but its
/// arguments and the replies. Waiting, renewing and retrying are not here: they are policies of the driver.
#[expect(clippy::missing_errors_doc, reason = "all leave with `Pending` until answered, and with a fault if refused")]
pub trait Locker: Send + Sync {
    /// The key that contenders share.
    fn key(&self) -> &Key;

    /// For how long a winner holds.
    fn lease(&self) -> Lease;

    /// Whether the lock ends with its lease if its holder does nothing. One that does not, such as SETNX without an expiry,
    /// lasts until it is released: its lease is nominal, time alone does not lose it, and a holder that dies leaves it for
    /// ever.
    fn expires(&self) -> bool {
        true
    }

    /// Whether a winner excludes all others, or only those that want to be alone.
    fn mode(&self) -> Mode {
        Mode::Exclusive
    }

    /// The maximum number of holders at once that share the lock; `None` if any number may.
    fn max_sharers(&self) -> Option<NonZeroU32> {
        None
    }

    /// One try, from first command to verdict.
    fn acquire(&self, owner: &Owner, redis: &mut Transcript) -> Turn<Acquired>;

    /// Releases what `hold` says, the way this protocol does.
    fn release(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Released>;

    /// Whether a release may still be sent when the lock is known to be lost.
    fn late_release(&self) -> LateRelease;

    /// Whether a release whose reply was lost may be sent once more: in one step on the server it compares what this very
    /// acquisition wrote and removes only that, so that whichever of the two runs later finds nothing. Not where it counts
    /// entries down, which it could do twice, nor where it compares nothing: another acquisition may have won in between.
    fn release_is_repeatable(&self) -> bool {
        false
    }

    /// Extends the hold by a whole lease from now.
    fn extend(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Extended>;

    /// Asks the server whose the lock is now.
    fn ownership(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Ownership>;

    /// Makes sure that an attempt whose reply was lost leaves no lock behind, if that can be done without hurting another
    /// holder. Protocols whose values name no owner can do nothing: their own lease has to end it. A re-entrant lock
    /// leaves once if the server counts more than [`Owner::entries`].
    fn disclaim(&self, owner: &Owner, redis: &mut Transcript) -> Turn<()> {
        let _ = (owner, redis);
        Ok(())
    }

    /// The name that all holds of this owner share on a re-entrant lock; `None` for protocols that give each acquisition a
    /// value of its own. A driver counts the holds under each name, for [`Owner::entries`].
    fn reentrant_name(&self, owner: &Owner) -> Option<String> {
        let _ = owner;
        None
    }

    /// Where a release of this lock is announced to `owner` while it waits; `None` for protocols that announce nothing.
    fn release_channel(&self, owner: &Owner) -> Option<ReleaseChannel> {
        let _ = owner;
        None
    }

    /// What the refusal of a waiter says about the others on the same [`release_channel`](Self::release_channel).
    fn refusal_scope(&self) -> RefusalScope {
        RefusalScope::OneWaiter
    }

    /// What `owner` holds by this message on its [`release_channel`](Self::release_channel), which the server sent after
    /// `since`; `None` if the message only says that another try may win.
    fn granted(&self, owner: &Owner, since: Reading, message: &[u8]) -> Option<Hold> {
        let _ = (owner, since, message);
        None
    }

    /// Stops waiting: removes what the attempts of this owner have left on the server, such as a place in a queue.
    fn withdraw(&self, owner: &Owner, redis: &mut Transcript) -> Turn<()> {
        let _ = (owner, redis);
        Ok(())
    }

    /// How long a waiter that no notification reaches may pause, where a place in a queue is lost after a longer pause.
    fn longest_pause(&self) -> Option<Duration> {
        None
    }

    /// Whether commands of others on the same connection would break it, as with WATCH and MULTI.
    fn needs_own_connection(&self) -> bool {
        false
    }
}

/// A shared protocol is a protocol: `Arc<dyn Locker>` goes wherever a `Locker` does.
#[deny(clippy::missing_trait_methods, reason = "a default in place of what the protocol says would be a silent lie")]
impl<L: Locker + ?Sized> Locker for Arc<L> {
    fn key(&self) -> &Key {
        (**self).key()
    }

    fn lease(&self) -> Lease {
        (**self).lease()
    }

    fn expires(&self) -> bool {
        (**self).expires()
    }

    fn mode(&self) -> Mode {
        (**self).mode()
    }

    fn max_sharers(&self) -> Option<NonZeroU32> {
        (**self).max_sharers()
    }

    fn acquire(&self, owner: &Owner, redis: &mut Transcript) -> Turn<Acquired> {
        (**self).acquire(owner, redis)
    }

    fn release(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Released> {
        (**self).release(hold, redis)
    }

    fn late_release(&self) -> LateRelease {
        (**self).late_release()
    }

    fn release_is_repeatable(&self) -> bool {
        (**self).release_is_repeatable()
    }

    fn extend(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Extended> {
        (**self).extend(hold, redis)
    }

    fn ownership(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Ownership> {
        (**self).ownership(hold, redis)
    }

    fn disclaim(&self, owner: &Owner, redis: &mut Transcript) -> Turn<()> {
        (**self).disclaim(owner, redis)
    }

    fn reentrant_name(&self, owner: &Owner) -> Option<String> {
        (**self).reentrant_name(owner)
    }

    fn release_channel(&self, owner: &Owner) -> Option<ReleaseChannel> {
        (**self).release_channel(owner)
    }

    fn refusal_scope(&self) -> RefusalScope {
        (**self).refusal_scope()
    }

    fn granted(&self, owner: &Owner, since: Reading, message: &[u8]) -> Option<Hold> {
        (**self).granted(owner, since, message)
    }

    fn withdraw(&self, owner: &Owner, redis: &mut Transcript) -> Turn<()> {
        (**self).withdraw(owner, redis)
    }

    fn longest_pause(&self) -> Option<Duration> {
        (**self).longest_pause()
    }

    fn needs_own_connection(&self) -> bool {
        (**self).needs_own_connection()
    }
}
