//! The scripts that a server knows.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// The scripts that a server knows, by their SHA-1 in small hex digits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Library {
    texts: BTreeMap<String, Arc<[u8]>>,
}

impl Hash for Library {
    /// The name of a script says what its text is.
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.texts.len().hash(state);
        self.texts.keys().for_each(|sha1| sha1.hash(state));
    }
}

impl Library {
    pub(super) fn get(&self, sha1: &str) -> Option<Arc<[u8]>> {
        self.texts.get(sha1).cloned()
    }

    pub(super) fn insert(&mut self, sha1: String, text: &[u8]) {
        self.texts.entry(sha1).or_insert_with(|| text.into());
    }
}
