//! Every protocol by name, all on the same key and for the same lease.

use std::sync::Arc;

use lockshift::legacy::{self, catalogue};
use lockshift::lock::{Lease, Locker, Mode};
use lockshift::modern::{PairLock, ReadWriteLock, StampHashLock, TokenLock};
use lockshift::wire::Key;

/// A protocol and its name.
pub(crate) type Named = (String, Arc<dyn Locker>);

/// All of them.
pub(crate) fn every(key: &Key, lease: Lease) -> Vec<Named> {
    let legacy =
        catalogue::catalogue().map(|dialect| named(dialect.name, legacy::Lock::new(dialect, key.clone(), lease)));
    legacy.chain(modern(key, lease)).collect()
}

/// The modern ones; of read/write locks, both sides.
pub(crate) fn modern(key: &Key, lease: Lease) -> Vec<Named> {
    let mut all = vec![named("token", TokenLock::new(key.clone(), lease))];
    for (side, mode) in [("reader", Mode::Shared), ("writer", Mode::Exclusive)] {
        let (readers, writer) = (key.clone(), key.sibling("writer"));
        all.push(named(&format!("pair, {side}"), PairLock::new(readers, writer, mode, lease)));
        all.push(named(&format!("stamps, {side}"), StampHashLock::new(key.clone(), mode, lease, lease)));
        all.push(named(&format!("read-write, {side}"), ReadWriteLock::new(key.clone(), mode, lease)));
    }
    all
}

fn named(name: &str, lock: impl Locker + 'static) -> Named {
    (name.to_owned(), Arc::new(lock))
}
