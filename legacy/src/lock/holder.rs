//! What a holder does with its lock before the release: extension and ownership, and what follows an attempt whose reply
//! was lost. They are ours, but for the refresh of some old clients.

use alloc::vec::Vec;
use core::time::Duration;

use lockshift_lock::{Extended, Hold, Owner, Ownership};
use lockshift_wire::{Pending, Reading, Set, Transcript, Turn};

use super::Lock;
use crate::scripts::{self, Extension};
use crate::{Claim, Moment, Refresh};

impl Lock {
    /// What the old client sends, which does not find out whether it still holds the lock.
    pub(super) fn refresh(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Extended> {
        match self.dialect.refresh {
            Refresh::Never => Ok(Extended::Unsupported),
            Refresh::Set => {
                let since = self.clock(redis)?;
                let value = self.restamped(&hold.value, since);
                redis.set(&Set::new(&self.key, &value))?;
                Ok(Extended::Until(Hold { value, since, ..hold.clone() }))
            }
        }
    }

    /// Writes a new stamp if the key still holds exactly the value that we wrote.
    pub(super) fn extend_one_key(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Extended> {
        if !self.dialect.form.tells_apart() {
            return Ok(Extended::Unsupported);
        }
        let since = self.clock(redis)?;
        let value = self.restamped(&hold.value, since);
        let life_ms = self.life_of_key().as_millis();
        let extension = Extension { old: &hold.value, new: &value, life_ms, gives_ttl: self.gives_ttl() };
        let extended = scripts::extend(redis, &self.key, &extension)?;
        Ok(if extended { Extended::Until(Hold { value, since, ..hold.clone() }) } else { Extended::Lost })
    }

    /// The value with the stamp of a lease that begins at this reading.
    fn restamped(&self, value: &[u8], since: Reading) -> Vec<u8> {
        let form = &self.dialect.form;
        let stamp = form.stamp.at(self.now(since), self.lease.length());
        // A value of another form is one that the client did not make: php-del-takeover writes back what it has read.
        form.restamp(value, stamp).unwrap_or_else(|| value.to_vec())
    }

    /// GET, and PTTL if the value is ours.
    pub(super) fn look_up(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Ownership> {
        let value = match redis.get(&self.key) {
            Err(Pending::Fault(fault)) if fault.code() == Some("WRONGTYPE") => return Ok(Ownership::Theirs),
            turn => turn?,
        };
        match value {
            None => Ok(Ownership::Free),
            Some(value) if value != hold.value => Ok(Ownership::Theirs),
            Some(_) => {
                let left = redis.pttl(&self.key)?.left_of_millis();
                Ok(if self.dialect.form.tells_apart() {
                    Ownership::Ours { left }
                } else {
                    Ownership::Indistinct { left }
                })
            }
        }
    }

    /// Deletes the value of an attempt whose reply was lost, if the value names that attempt.
    pub(super) fn disclaim_one_key(&self, owner: &Owner, redis: &mut Transcript) -> Turn<()> {
        let form = &self.dialect.form;
        if !form.names_token() {
            return Ok(());
        }
        let Some(value) = redis.get(&self.key)? else { return Ok(()) };
        if form.is_by(owner, &value) {
            scripts::compare_and_del(redis, &self.key, &value)?;
        }
        Ok(())
    }

    /// Whether the dialect sets a TTL, by the claim or by a command of its own.
    pub(super) fn gives_ttl(&self) -> bool {
        match self.dialect.claim {
            Claim::SetNxEx(_)
            | Claim::SetNxPx(_)
            | Claim::SetNxExOrPx(_)
            | Claim::SetnxExpireScript
            | Claim::RetoolsScript
            | Claim::SetnxPexpireScript => true,
            Claim::Setnx | Claim::SetNx | Claim::ExistsThenSet | Claim::None => self.dialect.ttl.is_set(),
        }
    }

    /// How long an extended key shall live: the lease, and as long after it as the stamp says and the dialect gives.
    fn life_of_key(&self) -> Duration {
        let margin = match self.dialect.form.stamp.moment {
            Moment::Expiry if self.dialect.form.is_stamped() && !self.gives_ttl() => self.dialect.form.stamp.margin,
            Moment::Expiry | Moment::Acquisition => Duration::ZERO,
        };
        self.lease.length() + margin + self.dialect.ttl.claimed.beyond()
    }
}
