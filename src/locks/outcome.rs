//! What the outcomes of the driver mean here: decisions that threads and tasks share.

use super::error::{AcquireError, ReleaseError, Timeout};
use crate::driver::{Answer, Attempt, Error};
use crate::lock::Released;
use crate::wire::Key;

/// What to do after an attempt.
pub(super) enum Next<G> {
    Hold(G),
    /// The reply was lost, and disclaimed where the protocol can: attempt it again.
    Again,
    Fail(AcquireError),
}

/// What to do after this attempt, where the deadline has passed or not.
pub(super) fn judge<G>(key: &Key, attempt: Result<Attempt<G>, Error>, is_late: bool) -> Next<G> {
    match attempt {
        Ok(Attempt::Won(guard)) => Next::Hold(guard),
        Ok(Attempt::Held(held)) => {
            Next::Fail(Timeout { key: key.clone(), holder: held.seen, remaining: held.retry_in }.into())
        }
        Ok(Attempt::TooLate) => Next::Fail(AcquireError::TooSlow(key.clone())),
        Ok(Attempt::Unknown(unknown)) if is_late => Next::Fail(unknown.into()),
        Ok(Attempt::Unknown(unknown)) => {
            log::warn!(target: "lockshift::locks", "{unknown}: attempting it again");
            Next::Again
        }
        Err(error) => Next::Fail(error.into()),
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
