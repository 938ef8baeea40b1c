//! What a hold keeps in mind: the owner's field in the hash, and the name of its release.
//!
//! Redisson draws 128 random bits for every release, so that the latch of one is never taken for that of another. Each of
//! our acquisitions has a token of its own, also when a thread enters again, and each is released once: its token is the
//! name of its release. Sent again, the release has the same name, which is what the latch is for.

use alloc::format;
use alloc::vec::Vec;

use lockshift_lock::{Hold, Owner};

/// What a hold keeps in mind.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark<'a> {
    /// The owner's field in the hash.
    pub(super) field: &'a [u8],
    /// The name of the release: 32 lower-case hex digits.
    pub(super) release: &'a [u8],
}

/// The field, and behind a `#` the name of the release: the value of a hold. Neither can hold a `#`.
pub(super) fn value(field: &str, owner: &Owner) -> Vec<u8> {
    format!("{field}#{}", owner.token.hex()).into_bytes()
}

impl<'a> Mark<'a> {
    /// What this hold keeps in mind.
    pub(super) fn of(hold: &'a Hold) -> Self {
        let mut parts = hold.value.splitn(2, |byte| *byte == b'#');
        Self { field: parts.next().unwrap_or_default(), release: parts.next().unwrap_or_default() }
    }
}
