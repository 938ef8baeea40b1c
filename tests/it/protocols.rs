//! Every protocol by name, all on the same key and for the same lease.

use std::sync::Arc;

use lockshift::lock::{Lease, Locker};
use lockshift::protocols::{Choice, catalogue};
use lockshift::wire::Key;

/// A protocol and its name.
pub(crate) type Named = (String, Arc<dyn Locker>);

/// All that the command knows; of read/write locks, both sides.
pub(crate) fn every(key: &Key, lease: Lease) -> Vec<Named> {
    let mut names = Vec::new();
    for protocol in catalogue() {
        names.push(protocol.name().to_owned());
        if protocol.options().iter().any(|option| option.starts_with("side=")) {
            names.push(format!("{},side=reader", protocol.name()));
        }
    }
    let named = |name: String| {
        let choice: Choice = name.parse().expect("the catalogue knows its own names");
        (name, choice.locker(key.clone(), lease))
    };
    names.into_iter().map(named).collect()
}
