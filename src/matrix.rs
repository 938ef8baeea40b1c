//! Which protocols exclude each other on one key: a holder of one and a newcomer of another, run one after the other on a
//! simulated server. The newcomer's protocol judges what the holder's wrote; nothing here judges a value.

mod meeting;
mod situation;

pub use meeting::{Meeting, PairVerdict, meet};
pub use situation::{LAPS, NewcomerAttempt, Situation};

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
