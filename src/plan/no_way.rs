//! Why a fleet has no way to a new protocol.

use thiserror::Error;

use crate::bridge::Unbridgeable;
use crate::protocols::Unsuitable;

/// Why a fleet has no way to a new protocol.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NoWay {
    /// No bridge keeps all its clients out, and neither does a guard in bridge mode.
    #[error("this fleet has no bridge: {0}")]
    NoBridge(#[from] Unbridgeable),
    /// Its clients cannot be guarded.
    #[error("{0}")]
    NoGuard(#[source] Unsuitable),
}
