//! The errors that end a run.

use thiserror::Error;

use crate::driver::{self, Unknown};
use crate::wire::Key;

/// An error that ends a run.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RunError {
    /// The server cannot be used.
    #[error(transparent)]
    Server(#[from] driver::Error),
    /// A reply was lost, so the outcome of an attempt is unknown and the measurement would be wrong.
    #[error(transparent)]
    Unknown(#[from] Unknown),
    /// The protocol cannot read a value that its own clients wrote.
    #[error("lock key `{0}`: the protocol cannot read a value that its own clients wrote")]
    Unreadable(Key),
    /// The operating system provides no random bytes to name the keys of the run.
    #[error("cannot read random bytes: {0}")]
    NoRandomness(#[from] getrandom::Error),
    /// The operating system cannot start another thread.
    #[error("cannot start a client thread: {0}")]
    NoThread(#[source] std::io::Error),
}
