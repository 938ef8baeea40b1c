//! Every protocol by name, all on the same key and for the same lease.

use std::sync::Arc;

use lockshift::lock::{Lease, Locker, Mode};
use lockshift::modern::{PairLock, ReadWriteLock, StampHashLock};
use lockshift::protocols::{self, Choice};
use lockshift::wire::Key;

/// A protocol and its name.
pub(crate) type Named = (String, Arc<dyn Locker>);

/// All of them: those that the command knows by name, and the locks of the library beside them, from both sides.
pub(crate) fn every(key: &Key, lease: Lease) -> Vec<Named> {
    let by_name = protocols::catalogue().map(|protocol| {
        let choice: Choice = protocol.name().parse().expect("the catalogue knows its own names");
        (protocol.name().to_owned(), choice.locker(key.clone(), lease))
    });
    let mut all: Vec<_> = by_name.collect();
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
