//! A holder crashes with all its connections; the other side acquires the lock after its lease.

use std::time::Duration;

use super::Part;
use super::expiry::{end_for, they_take_over, we_take_over};
use crate::ours::Ours;

const LEASE: Duration = Duration::from_secs(2);

pub(super) fn taken_after_a_crash(part: &Part<'_>) {
    let (left_by_them, left_by_us) = (part.key("theirs"), part.key("ours"));
    let theirs = part.testbed.lone_session(part.client);
    assert!(theirs.acquires(part.spoken.protocol, &left_by_them, LEASE), "the lock is free");
    Ours::new(part.testbed, part.spoken, &left_by_us, LEASE).hold().abandon();
    let they_end = end_for(part, &left_by_them, &*part.spoken.opponent(&left_by_them, LEASE));
    let we_end = end_for(part, &left_by_us, &*part.spoken.locker(&left_by_us, LEASE));
    theirs.crash();

    we_take_over(part, &left_by_them, they_end, LEASE);
    they_take_over(part, &part.testbed.session(part.client), &left_by_us, we_end, LEASE);
}
