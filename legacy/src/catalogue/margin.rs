//! What programs add to the end of a lease: the SETNX page's "+ 1", in the unit of their stamps.

use core::time::Duration;

pub(super) const ONE_SECOND: Duration = Duration::from_secs(1);
pub(super) const ONE_MS: Duration = Duration::from_millis(1);
