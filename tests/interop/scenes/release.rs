//! A lock that one side holds is refused to the other until it is released; then it can be acquired at once.

use super::{LONG, Part};
use crate::ours::Ours;

pub(super) fn refused_while_held(part: &Part<'_>) {
    let theirs = part.testbed.session(part.client);
    let protocol = part.spoken.protocol;

    let key = part.key("theirs");
    assert!(theirs.acquires(protocol, &key, LONG), "the lock is free");
    let ours = Ours::new(part.testbed, part.spoken, &key, LONG);
    for _ in 0..3 {
        assert!(ours.acquire().is_none(), "they hold it");
    }

    let key = part.key("ours");
    let _guard = Ours::new(part.testbed, part.spoken, &key, LONG).acquire().expect("the lock is free");
    for _ in 0..3 {
        assert!(!theirs.acquires(protocol, &key, LONG), "we hold it");
    }
}

pub(super) fn free_once_released(part: &Part<'_>) {
    let theirs = part.testbed.session(part.client);
    let key = part.key("in_turn");
    let ours = Ours::new(part.testbed, part.spoken, &key, LONG);
    for _ in 0..3 {
        assert!(theirs.acquires(part.spoken.protocol, &key, LONG), "the lock is free");
        theirs.release(&key);
        let guard = ours.acquire().expect("the foreign client has released it");
        assert!(!theirs.acquires(part.spoken.protocol, &key, LONG), "we hold it");
        drop(guard);
    }
}
