//! Why a run could not be finished.

use thiserror::Error;

use crate::driver::{self, Unknown};
use crate::wire::Key;

/// Why a run could not be finished.
#[derive(Debug, Error)]
pub enum Trouble {
    /// The server cannot be used.
    #[error(transparent)]
    Server(#[from] driver::Error),
    /// A reply was lost: what came after it would measure nothing.
    #[error(transparent)]
    Unknown(#[from] Unknown),
    /// The protocol cannot read what its own clients have written.
    #[error("lock key `{0}`: the protocol cannot read a value that its own clients wrote")]
    Unreadable(Key),
    /// The system gives no random bits to name the keys of the run.
    #[error("the system gives no random bits")]
    NoRandomness(#[from] getrandom::Error),
    /// The system gives no more threads.
    #[error("the system gives no thread for another client")]
    NoThread(#[source] std::io::Error),
}
