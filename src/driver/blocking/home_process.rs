//! The process in which something began.

use std::process;

/// The process in which something began. A child that was forked has a copy of this, the sockets of its parent, and none of its
/// threads.
pub(super) struct HomeProcess(u32);

impl HomeProcess {
    /// This process.
    pub(super) fn here() -> Self {
        Self(process::id())
    }

    /// Whether this is the copy of a forked child.
    pub(super) fn is_another(&self) -> bool {
        self.0 != process::id()
    }
}

#[test]
fn a_child_has_another_number_than_its_parent() {
    assert!(!HomeProcess::here().is_another());
    assert!(HomeProcess(process::id() + 1).is_another());
}
