//! What the outcomes of the driver mean here: decisions that threads and tasks share.

use std::error::Error as _;

use super::error::{AcquireError, ReleaseError, Timeout};
use crate::connect::Server;
use crate::driver::{Answer, Attempt, Error, Replication, what_remains};
use crate::lock::Released;
use crate::wire::Key;

/// What an attempt, the last of its wait, came to.
pub(super) fn judge<G>(key: &Key, attempt: Result<Attempt<G>, Error>) -> Result<G, AcquireError> {
    match attempt? {
        Attempt::Won(guard) => Ok(guard),
        Attempt::Held(held) => Err(Timeout { key: key.clone(), holder: held.seen, remaining: held.retry_in }.into()),
        Attempt::TooLate => Err(AcquireError::TooSlow(key.clone())),
        Attempt::Unknown(unknown) => Err(unknown.into()),
    }
}

/// What a release came to.
pub(super) fn released(key: &Key, answer: Result<Answer<Released>, Error>) -> Result<(), ReleaseError> {
    match answer? {
        Answer::Known(Released::Freed | Released::LeftAlone | Released::StillHeld) => Ok(()),
        Answer::Known(Released::Lost | Released::Intruded) => Err(ReleaseError::Lost(key.clone())),
        Answer::Unknown(unknown) => Err(unknown.into()),
    }
}

/// Logs that the release after the work failed, and why.
pub(super) fn log_unreleased(error: &ReleaseError, expires: bool) {
    let cause = match error {
        ReleaseError::Lost(_) => None,
        ReleaseError::Unknown(unknown) => Some(unknown.to_string()),
        ReleaseError::Failed(error) => error.source().map(ToString::to_string),
    };
    let cause = cause.map(|cause| format!(" ({cause})")).unwrap_or_default();
    log::warn!(target: "lockshift::locks", "{error}{cause}; {}", what_remains(expires));
}

/// The same server, whose replies may take as much longer as its replicas may.
pub(super) fn with_time_to_replicate(server: Server, replication: Option<Replication>) -> Server {
    let Some(replication) = replication else { return server };
    let response = server.response_timeout() + replication.within();
    server.answering_within(response)
}
