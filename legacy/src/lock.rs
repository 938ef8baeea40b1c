//! The engine of all rows: a lock on one key in one dialect. It decides by the row's axes, never by its name.

mod acquire;
mod bid;
mod holder;
mod look;
mod release;
mod takeover;
mod two_keys;

use lockshift_lock::{Acquired, Extended, Hold, LateRelease, Lease, Locker, Owner, Ownership, Released};
use lockshift_wire::{Key, Transcript, Turn};

use crate::{Dialect, Keys, Release, Takeover};

/// A lock on one key in one dialect.
///
/// Stamps in whole seconds are not unique: two owners that write in the same second write the same bytes. Neither the old
/// clients that compare values nor [`extend`](Locker::extend), [`ownership`](Locker::ownership) and a release by
/// comparison can then tell their locks apart.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Lock {
    dialect: &'static Dialect,
    key: Key,
    lease: Lease,
    /// Whether it extends as the old client does.
    refreshes: bool,
}

impl Lock {
    /// A lock on `key` in `dialect`, for `lease` at a time, rounded up to the unit in which the dialect's callers give
    /// it.
    ///
    /// `key` is the key as it stands in Redis: [`KeyName::key_of`](crate::KeyName::key_of) makes it of the name that the
    /// program's callers give. For the dialect of two keys it is the owner's key, `lock:owner:NAME`; a key without that
    /// prefix is taken for `NAME`.
    pub fn new(dialect: &'static Dialect, key: Key, lease: Lease) -> Self {
        let key = match dialect.keys {
            Keys::One => key,
            Keys::OwnerAndExpiry => dialect.key.completed(key),
        };
        Self { dialect, key, lease: lease.rounded_up_to(dialect.lease_unit.length()), refreshes: false }
    }

    /// The same, which extends as the old client does ([`Dialect::refresh`]): that may overwrite the lock of another holder.
    /// [`extend`](Locker::extend) compares otherwise. Where the old client cannot extend, it is
    /// [`Unsupported`](Extended::Unsupported).
    #[must_use]
    pub fn refreshing(self) -> Self {
        Self { refreshes: true, ..self }
    }

    /// The dialect it speaks.
    pub fn dialect(&self) -> &'static Dialect {
        self.dialect
    }

    /// Whether the release compares, in one step with the deletion, a value that no other acquisition writes.
    fn release_names_the_hold(&self) -> bool {
        let dialect = self.dialect;
        let compares_in_one_step = dialect.keys == Keys::OwnerAndExpiry || dialect.release.compares_in_one_step();
        compares_in_one_step && dialect.form.names_token()
    }
}

impl Locker for Lock {
    fn key(&self) -> &Key {
        &self.key
    }

    fn lease(&self) -> Lease {
        self.lease
    }

    fn expires(&self) -> bool {
        self.dialect.takeover != Takeover::Never || self.gives_ttl()
    }

    fn acquire(&self, owner: &Owner, redis: &mut Transcript) -> Turn<Acquired> {
        match self.dialect.keys {
            Keys::One => self.acquire_one_key(owner, redis),
            Keys::OwnerAndExpiry => self.acquire_two_keys(owner, redis),
        }
    }

    fn release(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Released> {
        match self.dialect.keys {
            Keys::One => self.release_one_key(hold, redis),
            Keys::OwnerAndExpiry => self.release_two_keys(hold, redis),
        }
    }

    fn late_release(&self) -> LateRelease {
        if !self.expires() || self.release_names_the_hold() || self.dialect.release == Release::Never {
            LateRelease::Harmless
        } else {
            LateRelease::MayFreeAnother
        }
    }

    fn release_is_repeatable(&self) -> bool {
        self.release_names_the_hold()
    }

    fn extend(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Extended> {
        if self.refreshes {
            return self.refresh(hold, redis);
        }
        match self.dialect.keys {
            Keys::One => self.extend_one_key(hold, redis),
            Keys::OwnerAndExpiry => self.extend_two_keys(hold, redis),
        }
    }

    fn ownership(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Ownership> {
        self.look_up(hold, redis)
    }

    fn disclaim(&self, owner: &Owner, redis: &mut Transcript) -> Turn<()> {
        match self.dialect.keys {
            Keys::One => self.disclaim_one_key(owner, redis),
            Keys::OwnerAndExpiry => Ok(()),
        }
    }

    fn needs_own_connection(&self) -> bool {
        self.dialect.needs_own_connection()
    }
}
