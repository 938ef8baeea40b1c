//! What the locks of both worlds have in common, name for name and word for word: written once, put into either.

/// The locks that can be had by name, of `Locks`.
macro_rules! locks_by_name {
    () => {
        /// A lock that only its holder can release, and whose release is announced to those who wait. Holders and waiters are
        /// token locks of this library; for the plain lock that other libraries share (`SET key token NX PX`), use
        /// [`protocol`](Self::protocol) with the name `token`; with `token,expiry=none` where they set no expiry, as redis-py
        /// does unless it is given a timeout.
        ///
        /// A user of Redis with permissions of its own needs those that `lockshift protocols --acl token,announce=publish`
        /// prints. One who may not publish on the lock's channel can acquire, but each of its releases deletes the key and
        /// then ends with [`ReleaseError::Failed`](crate::locks::ReleaseError::Failed).
        ///
        /// # Errors
        /// [`ChooseError::Lease`].
        pub fn token(&self, key: impl Into<Key>, lease: Duration) -> Result<Lock, ChooseError> {
            self.chosen(choose::token(key.into(), lease))
        }

        /// A token lock that is acquired in the order of arrival.
        ///
        /// # Errors
        /// [`ChooseError::Lease`].
        pub fn fair(&self, key: impl Into<Key>, lease: Duration) -> Result<Lock, ChooseError> {
            self.chosen(choose::fair(key.into(), lease))
        }

        /// A timestamp lock as this old client speaks it: a name of `lockshift protocols`, such as `php-getset`.
        ///
        /// A key of another type is an error, [`ErrorKind::WrongType`](crate::driver::ErrorKind::WrongType), or a lock that
        /// another client holds; it is not acquired, and stays as it is. Some old clients in PHP take a list for an expired
        /// lock, run unlocked, and delete it. Here their locks ask for the type of the key, by TYPE before an attempt and when
        /// it has won: a user of Redis who may not send TYPE is not protected, nor is a key that changes its type in between.
        ///
        /// # Errors
        /// [`ChooseError`]: there is no such lock, or the lease is impossible.
        pub fn legacy(&self, name: &str, key: impl Into<Key>, lease: Duration) -> Result<Lock, ChooseError> {
            self.chosen(choose::legacy(name, key.into(), lease))
        }

        /// A lock that the old clients of these dialects respect, and new clients on the [new
        /// key](crate::bridge::new_key).
        ///
        /// # Errors
        /// [`ChooseError`]: no bridge keeps that fleet out, or the lease is impossible.
        pub fn bridge(&self, fleet: &[&str], key: impl Into<Key>, lease: Duration) -> Result<Lock, ChooseError> {
            self.chosen(choose::bridge(fleet, key.into(), lease))
        }

        /// A lock by its name in `lockshift protocols`, with options: `token-fenced`, `redisson,kind=fair`. A key of another type
        /// is not acquired, as with [`legacy`](Self::legacy).
        ///
        /// The holder of a lock that is entered again, as `reentrant` and `redisson`, is the thread; with tasks it is the task. So
        /// futures that one task polls, as those of `join!` and `select!`, enter such a lock together: spawn a task for each.
        ///
        /// # Errors
        /// [`ChooseError`]: there is no such lock, it needs several servers, or the lease is impossible.
        pub fn protocol(&self, name: &str, key: impl Into<Key>, lease: Duration) -> Result<Lock, ChooseError> {
            self.chosen(choose::protocol(name, key.into(), lease))
        }

        fn chosen(&self, chosen: Chosen) -> Result<Lock, ChooseError> {
            chosen.map(|locker| self.locker(locker))
        }
    };
}

/// The settings and the key of a `Lock`.
macro_rules! settings_of_a_lock {
    () => {
        /// The same, renewed for no longer than this: work that hangs does not hold the lock for ever.
        #[must_use]
        pub fn held_for_at_most(self, at_most: Duration) -> Self {
            Self { renewal: Some(Renewal::every_third().for_at_most(at_most)), ..self }
        }

        /// The same, held for one lease and not renewed.
        #[must_use]
        pub fn without_renewal(self) -> Self {
            Self { renewal: None, ..self }
        }

        /// The key that contenders share.
        pub fn key(&self) -> &Key {
            self.lock.key()
        }
    };
}

/// What a `Held` knows without asking a server.
macro_rules! knowledge_of_a_holder {
    () => {
        /// The key that contenders share.
        pub fn key(&self) -> &Key {
            self.0.key()
        }

        /// A number that grows with every acquisition, for a resource that refuses a lower one than it has seen.
        ///
        /// `None` for most locks, also for those of `token`, `fair`, `legacy` and `bridge`. Those of `protocol` that have one are
        /// `token-fenced`, `reentrant,fence=yes`, `redisson,kind=fenced` and bridges with `fence=yes`.
        pub fn fence(&self) -> Option<u64> {
            self.0.hold().fence
        }

        /// For how long the holder may still work if no renewal succeeds: zero once the lock is lost. Asks no server.
        pub fn remaining(&self) -> Duration {
            self.0.remaining()
        }

        /// Whether the lock is lost. Asks no server.
        pub fn is_lost(&self) -> bool {
            self.lost().is_some()
        }

        /// How the lock was lost, if it was.
        pub fn lost(&self) -> Option<Loss> {
            self.0.lost()
        }
    };
}

pub(super) use {knowledge_of_a_holder, locks_by_name, settings_of_a_lock};
