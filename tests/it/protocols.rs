//! Every protocol by name, all on the same key and for the same lease.

use std::sync::Arc;

use lockshift::lock::{Lease, Locker};
use lockshift::protocols::{self, Choice, Protocol};
use lockshift::wire::Key;

/// A protocol and its name.
pub(crate) type Named = (String, Arc<dyn Locker>);

/// All of them, those of two sides from both.
pub(crate) fn every(key: &Key, lease: Lease) -> Vec<Named> {
    let named = |name: String| {
        let choice: Choice = name.parse().expect("the catalogue knows its own names");
        (name, choice.locker(key.clone(), lease))
    };
    protocols::catalogue().flat_map(sides).map(named).collect()
}

/// The protocol as it stands, and the other side of it.
fn sides(protocol: Protocol) -> impl Iterator<Item = String> {
    let name = protocol.name();
    let sides = protocol.settings().iter().filter(|setting| setting.name == "side");
    let other = sides.flat_map(move |side| side.words.iter().skip(1).map(move |word| format!("{name},side={word}")));
    std::iter::once(name.to_owned()).chain(other)
}
