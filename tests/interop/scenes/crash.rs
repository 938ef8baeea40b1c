//! A client that ends with the lock in its hands, all connections with it, leaves it to whoever comes after its lease.

use std::time::Duration;

use super::Part;
use super::expiry::{end_of, we_take_over};
use crate::ours::Ours;

pub(super) fn taken_after_a_crash(part: &Part<'_>) {
    let key = part.key("theirs");
    let theirs = part.stand.lone_session(part.client);
    assert!(theirs.acquires(part.spoken.protocol, &key, Duration::from_secs(2)), "nobody holds it");
    let end = end_of(part, &key);
    theirs.crash();
    let ours = Ours::new(part.stand, part.spoken, &key, Duration::from_secs(2));
    if end.is_none() {
        assert!(ours.acquire().is_none(), "a lock without an end stays, whoever dies");
    }
    we_take_over(part, &key, end);
}
