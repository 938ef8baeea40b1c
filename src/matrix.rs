//! Who may share a key with whom: one protocol's holder, another's newcomer, on a simulated server. What the newcomer
//! does is found by running its protocol on what the holder's wrote; nothing here judges a value.

mod meeting;
mod situation;
mod stage;

pub use meeting::{Meeting, Verdict, meet};
pub use situation::{Coming, LAPS, Situation};

use crate::lock::{Lease, Locker};
use crate::protocols::Choice;
use crate::wire::{Key, UnixTime};
use std::sync::Arc;

/// Every ordered pair of these protocols, holder first, at this time of the wall clock. `progress` is called after each
/// pair.
pub fn matrix(protocols: &[Choice], lease: Lease, now: UnixTime, progress: &mut dyn FnMut()) -> Vec<Meeting> {
    let locker = |choice: &Choice| -> Arc<dyn Locker> { choice.locker(Key::from("k"), lease) };
    let pairs = protocols.iter().flat_map(|holder| protocols.iter().map(move |newcomer| (holder, newcomer)));
    pairs
        .map(|(holder, newcomer)| {
            let verdict = meet(&locker(holder), &locker(newcomer), now);
            progress();
            Meeting { holder: holder.to_string(), newcomer: newcomer.to_string(), verdict }
        })
        .collect()
}
