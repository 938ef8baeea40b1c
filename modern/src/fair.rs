//! A token lock with a queue: first come, first served.
//!
//! The lock is a token in the key, as with [`TokenLock`]. A client that finds the lock held, or finds other waiters, joins
//! the end of the queue; only the first waiter may acquire the lock when it is free. A release notifies only the first
//! waiter, by its token, on the channel of its program. If the program listens there, the release hands the lock over: it
//! writes the waiter's token into the key, and the message says for how long, so that the waiter holds the lock without
//! another command.
//!
//! A first waiter that does not listen, and does not react to its notification in time, by the server's clock, is passed
//! over. Each attempt keeps a waiter's place for twice as long; well before that has passed the waiter tries again, and
//! sooner if no notification would reach it.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::time::Duration;

use lockshift_lock::{
    Acquired, Extended, Held, Hold, LateRelease, Lease, Locker, Owner, Ownership, Refusal, RefusalScope,
    ReleaseChannel, Released,
};
use lockshift_wire::{Key, Reading, Script, Transcript, Turn, script_file};

use crate::{Publish, TokenLock};

const ACQUIRE: Script = script_file!("lua/fair/acquire.lua");
const LEAVE: Script = script_file!("lua/fair/leave.lua");

/// A token lock with a queue: first come, first served.
///
/// ```
/// use core::time::Duration;
/// use lockshift_lock::Lease;
/// use lockshift_modern::FairLock;
///
/// # fn main() -> Result<(), lockshift_lock::LeaseError> {
/// let lock = FairLock::new("invoices".into(), Lease::new(Duration::from_secs(30))?);
/// let for_slow_networks = lock.keeping_places_for(Lease::new(Duration::from_secs(15))?);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct FairLock {
    lock: TokenLock,
    queue: Key,
    places: Key,
    channels: Key,
    place: Lease,
    announce: Publish,
}

/// How long the place of a notified waiter is kept by default.
const PLACE: Lease = match Lease::new(Duration::from_secs(5)) {
    Ok(place) => place,
    Err(_) => panic!("five seconds are a lease"),
};

impl FairLock {
    /// A fair lock on `key` with this lease. Its queue is kept in sibling keys, so all keys are in one hash slot.
    pub fn new(key: Key, lease: Lease) -> Self {
        // `orders` and `{orders}` have the same siblings. With one queue, a release of one would hand over the other.
        let [queue, places, channels] =
            if key.is_hash_tag() { ["own-queue", "own-places", "own-bell:"] } else { ["queue", "places", "bell:"] };
        Self {
            queue: key.sibling(queue),
            places: key.sibling(places),
            channels: key.sibling(channels),
            place: PLACE,
            announce: Publish::Everywhere,
            lock: TokenLock::new(key, lease),
        }
    }

    /// Keeps the place of the first waiter for this long after its notification; 5 s by default. Each attempt keeps any
    /// place for twice as long.
    ///
    /// All clients of a key must keep places for the same time: a client that acquires or releases reckons with its own time how
    /// long ago a waiter has tried and when it is passed over. The lock remains safe where they differ, but it is no longer first
    /// come, first served.
    ///
    /// A waiter that listens for its notification tries again after one and a half of this time, any other waiter
    /// after a third of it. A waiter that crashes delays the others for at most this time, or for half as long again if none
    /// of them happens to try earlier; any number that crash at once, for at most twice this time.
    ///
    /// A waiter that hangs, or whose machine is gone while the server still has its connection, may be handed the lock if
    /// its last attempt is no older than one and three quarters of this time, or a quarter of the lease if that is shorter. It
    /// delays the others as a holder does that hangs. Until its first extension a lock that was handed over lasts for a
    /// lease, and for as long again as has passed since the attempt: one and a quarter leases at most.
    ///
    /// The drivers of this library try again in time, however long a pause is set. A caller that runs the protocol
    /// itself has to try again more often than that: a waiter whose place has expired is passed over, and queues again
    /// behind the others with its next attempt. The lock remains safe and every waiter gets its turn, but it is no longer
    /// first come, first served.
    #[must_use]
    pub fn keeping_places_for(self, place: Lease) -> Self {
        Self { place, ..self }
    }

    /// Notifies the first waiter with this command.
    #[must_use]
    pub fn announced(self, announce: Publish) -> Self {
        Self { announce, ..self }
    }

    /// The lease, and for how long a place is kept.
    fn lengths_ms(&self) -> [String; 2] {
        [self.lease(), self.place].map(|lease| lease.length().as_millis().to_string())
    }

    fn leave(&self, token: &[u8], member: &[u8], redis: &mut Transcript) -> Turn<bool> {
        let [lease_ms, place_ms] = self.lengths_ms();
        let (announce, channels) = (self.announce.command(), self.channels.as_bytes());
        let args = [token, member, place_ms.as_bytes(), announce, channels, lease_ms.as_bytes()];
        redis.script_flag(&LEAVE, &[self.key(), &self.queue, &self.places], &args)
    }
}

impl Locker for FairLock {
    fn key(&self) -> &Key {
        self.lock.key()
    }

    fn lease(&self) -> Lease {
        self.lock.lease()
    }

    fn acquire(&self, owner: &Owner, redis: &mut Transcript) -> Turn<Acquired> {
        let since = redis.clock()?;
        let token = owner.token.hex().into_bytes();
        let [lease_ms, place_ms] = self.lengths_ms();
        let member = member(owner);
        let args: [&[u8]; 6] = [
            &token,
            &member,
            lease_ms.as_bytes(),
            place_ms.as_bytes(),
            self.announce.command(),
            self.channels.as_bytes(),
        ];
        let wait_ms = redis.script_int(&ACQUIRE, &[self.key(), &self.queue, &self.places], &args)?;
        Ok(match u64::try_from(wait_ms) {
            Err(_) => Acquired::Won(Hold { value: token, since, lease: self.lease(), fence: None }),
            Ok(wait_ms) => {
                Acquired::Held(Held { retry_in: Some(Duration::from_millis(wait_ms)), ..Held::because(Refusal::Live) })
            }
        })
    }

    /// A holder no longer has a place in the queue.
    fn release(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Released> {
        let held = self.leave(&hold.value, &hold.value, redis)?;
        Ok(if held { Released::Freed } else { Released::Lost })
    }

    fn late_release(&self) -> LateRelease {
        LateRelease::Harmless
    }

    fn release_is_repeatable(&self) -> bool {
        true
    }

    fn extend(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Extended> {
        self.lock.extend(hold, redis)
    }

    fn ownership(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Ownership> {
        self.lock.ownership(hold, redis)
    }

    fn disclaim(&self, owner: &Owner, redis: &mut Transcript) -> Turn<()> {
        self.withdraw(owner, redis)
    }

    /// Each waiting program has its own channel, so only the notified program receives the message.
    fn release_channel(&self, owner: &Owner) -> Option<ReleaseChannel> {
        Some(self.announce.release_channel(&self.channels.with_suffix(&owner.instance.hex())))
    }

    /// An attempt that is refused though the lock is free notifies the first waiter.
    fn refusal_scope(&self) -> RefusalScope {
        RefusalScope::QueuedWaiters
    }

    /// `token:ms`: the release of another client has written the token, for so many milliseconds. The server did that after
    /// `since`, so that the lock lasts at least until so long after that.
    fn granted(&self, owner: &Owner, since: Reading, message: &[u8]) -> Option<Hold> {
        let token = owner.token.hex();
        let granted_ms = message.strip_prefix(token.as_bytes())?.strip_prefix(b":")?;
        let granted = Duration::from_millis(core::str::from_utf8(granted_ms).ok()?.parse().ok()?);
        Some(Hold { value: token.into_bytes(), since, lease: Lease::new(granted).ok()?, fence: None })
    }

    fn longest_pause(&self) -> Option<Duration> {
        Some(self.place.length() / 3)
    }

    fn withdraw(&self, owner: &Owner, redis: &mut Transcript) -> Turn<()> {
        self.leave(owner.token.hex().as_bytes(), &member(owner), redis).map(drop)
    }
}

/// A waiter as stored in the queue: its token, and the program to notify.
fn member(owner: &Owner) -> Vec<u8> {
    format!("{}:{}", owner.token.hex(), owner.instance.hex()).into_bytes()
}
