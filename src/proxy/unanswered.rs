//! Acquisitions of which the client may not have been answered.

use crate::wire::Key;

/// The acquisitions of one connection whose answers are on their way to its client.
#[derive(Debug, Default)]
pub(super) struct Unanswered(Vec<UnansweredAcquisition>);

#[derive(Debug)]
struct UnansweredAcquisition {
    database: u32,
    key: Key,
    /// The answer begins after so many bytes to the client.
    from: u64,
}

impl Unanswered {
    /// The client acquires this key, and its answer begins after so many bytes, of which so many were written.
    pub(super) fn acquired(&mut self, database: u32, key: &Key, from: u64, written: u64) {
        self.0.retain(|acquisition| acquisition.from >= written);
        self.0.push(UnansweredAcquisition { database, key: key.clone(), from });
    }

    /// The databases and keys of whose answers not a byte was written, the latest first.
    pub(super) fn take(&mut self, written: u64) -> impl Iterator<Item = (u32, Key)> + use<> {
        let unwritten = std::mem::take(&mut self.0).into_iter().rev();
        unwritten.filter(move |acquisition| acquisition.from >= written).map(|it| (it.database, it.key))
    }
}
