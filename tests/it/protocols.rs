//! Every protocol by name, each on the same key and for the same lease.

use std::sync::Arc;

use lockshift::lock::{Lease, Locker, Mode};
use lockshift::modern::TokenLock;
use lockshift::wire::Key;

/// A protocol and its name.
pub(crate) type Named = (String, Arc<dyn Locker>);

/// All of them.
pub(crate) fn every(key: &Key, lease: Lease) -> Vec<Named> {
    modern(key, lease)
}

/// The modern ones.
pub(crate) fn modern(key: &Key, lease: Lease) -> Vec<Named> {
    vec![named("token", TokenLock::new(key.clone(), lease))]
}

fn named(name: &str, lock: impl Locker + 'static) -> Named {
    (name.to_owned(), Arc::new(lock))
}
