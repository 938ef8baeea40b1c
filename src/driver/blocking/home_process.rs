//! The process in which something began.

use std::process;

use lockshift_lock::Owner;

/// The process in which something began. A child that was forked has a copy of this, the sockets of its parent, and none of its
/// threads.
pub(super) struct HomeProcess(u32);

impl HomeProcess {
    /// The process of this owner.
    pub(super) fn of(owner: &Owner) -> Self {
        Self(owner.pid)
    }

    /// Whether this is the copy of a forked child.
    pub(super) fn is_another(&self) -> bool {
        self.0 != process::id()
    }
}

#[test]
fn a_child_has_another_number_than_its_parent() {
    let owner = crate::driver::host::owner(1).unwrap();
    assert!(!HomeProcess::of(&owner).is_another());
    assert!(HomeProcess::of(&Owner { pid: owner.pid + 1, ..owner }).is_another());
}
