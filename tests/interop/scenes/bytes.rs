//! A client writes the bytes that our locker would write at that moment, with the same end.

use std::time::Duration;

use super::Part;
use crate::clock::timed;
use crate::content::Contents;
use crate::prediction::writes;

pub(super) fn same_bytes(part: &Part<'_>) {
    let theirs = part.testbed.session(part.client);
    for lease in [7, 60].map(Duration::from_secs) {
        let key = part.key(&lease.as_secs().to_string());
        let (won, when) = timed(|| theirs.acquires(part.spoken.protocol, &key, lease));
        assert!(won, "the lock is free");
        let contents = Contents::of(&mut part.testbed.connect(), &key);
        let locker = part.spoken.locker(&key, lease);
        assert!(writes(&*locker, &contents, &key, when), "not what ours writes {when:?}: {contents:?}");
    }
}
