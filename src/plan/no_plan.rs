//! Why no migration of a fleet can be planned.

use thiserror::Error;

use crate::bridge::Unbridgeable;
use crate::protocols::Unsuitable;

/// Why no migration of a fleet can be planned.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NoPlan {
    /// No bridge keeps all its clients out, and neither does a guard in bridge mode.
    #[error("this fleet has no bridge: {0}")]
    NoBridge(#[from] Unbridgeable),
    /// Its clients cannot be guarded.
    #[error("{0}")]
    NoGuard(#[source] Unsuitable),
}
