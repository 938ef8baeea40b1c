//! The result of a choice: a function from a key and a lease to a lock.

use std::sync::Arc;

use crate::lock::{Lease, Locker};
use crate::wire::Key;

/// Makes a protocol's lock on a key.
pub(super) type Maker = Arc<dyn Fn(Key, Lease) -> Arc<dyn Locker> + Send + Sync>;
