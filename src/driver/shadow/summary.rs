//! How the outcomes of a lock and of its shadow compared so far.

/// How often a lock and its shadow had the same outcome, and how often not.
///
/// Where every client of a lock has the same shadow, [`doubled`](Self::doubled) counts what the lock is there to prevent.
/// While some still have none, [`unmatched`](Self::unmatched) counts how often those hold it; a few are also due to holders
/// that are between the one key and the other. While [`failed`](Self::failed) grows anywhere in the fleet, a shadow may be
/// released after its lock, and `doubled` may be due to that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShadowSummary {
    /// Both gave the lock, or both refused it.
    pub agreed: u64,
    /// The lock was acquired while another client held the shadow: two may have held at once. Or the shadow was lost while the lock
    /// was still extended.
    pub doubled: u64,
    /// The lock was refused while the shadow was free.
    pub unmatched: u64,
    /// The shadow could not be asked, or did not answer in time, or was not asked because it still owed an answer.
    pub failed: u64,
}
