//! The value of a hold: the owner's field in the hash, and the id of its release.
//!
//! Redisson generates 128 random bits for every release, so that each release has its own latch. Here each acquisition has
//! its own token, also when a thread enters again, and is released once: its token is the id of its release. A release that
//! is sent again has the same id, so it finds its latch.

use alloc::format;
use alloc::vec::Vec;

use lockshift_lock::{Hold, Owner};

/// The parts of a hold's value.
#[derive(Clone, Copy, Debug)]
pub(super) struct HoldValue<'a> {
    /// The owner's field in the hash.
    pub(super) field: &'a [u8],
    /// The id of the release: 32 lower-case hex digits.
    pub(super) release: &'a [u8],
}

/// The value of a hold: the field, a `#`, and the id of the release. Neither part can contain a `#`.
pub(super) fn encode(field: &str, owner: &Owner) -> Vec<u8> {
    format!("{field}#{}", owner.token.hex()).into_bytes()
}

impl<'a> HoldValue<'a> {
    /// Splits the value of this hold.
    pub(super) fn of(hold: &'a Hold) -> Self {
        let mut parts = hold.value.splitn(2, |byte| *byte == b'#');
        Self { field: parts.next().unwrap_or_default(), release: parts.next().unwrap_or_default() }
    }
}
