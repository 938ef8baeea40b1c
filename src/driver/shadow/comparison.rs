//! What a lock and its shadow have come to, by what the shadow says.

use std::fmt::Display;

use lockshift_lock::{Extended, Ownership, Released};

use crate::driver::error::Error;
use crate::driver::events::SHADOW;
use crate::driver::outcome::{Answer, Attempt};

/// What a lock and its shadow have come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::driver) enum ShadowComparison {
    Agreed,
    Doubled,
    Unmatched,
    Failed,
}

impl ShadowComparison {
    /// The lock was won: what trying to take its shadow says.
    pub(in crate::driver) fn of_try<G>(attempt: &Result<Attempt<G>, Error>) -> Self {
        match attempt {
            Ok(Attempt::Won(_)) => Self::Agreed,
            Ok(Attempt::Held(_)) => Self::Doubled,
            Ok(Attempt::TooLate) => Self::Failed,
            Ok(Attempt::Unknown(unknown)) => Self::failed_by(unknown),
            Err(error) => Self::failed_by(error),
        }
    }

    /// The lock was refused: what looking at its shadow says.
    pub(in crate::driver) fn of_look(standing: &Result<Ownership, Error>) -> Self {
        match standing {
            Ok(Ownership::Free) => Self::Unmatched,
            Ok(_) => Self::Agreed,
            Err(error) => Self::failed_by(error),
        }
    }

    /// The lock was extended: what extending its shadow says. That they still agree is not counted again.
    pub(in crate::driver) fn of_extension(extended: &Result<Answer<Extended>, Error>) -> Option<Self> {
        match extended {
            Ok(Answer::Known(Extended::Until(_) | Extended::Unsupported)) => None,
            Ok(Answer::Known(Extended::Lost | Extended::Intruded(_))) => Some(Self::Doubled),
            Ok(Answer::Unknown(unknown)) => Some(Self::failed_by(unknown)),
            Err(error) => Some(Self::failed_by(error)),
        }
    }

    /// The lock is about to be released: what releasing its shadow says.
    pub(in crate::driver) fn of_release(released: &Result<Answer<Released>, Error>) -> Option<Self> {
        match released {
            Ok(Answer::Known(_)) => None,
            Ok(Answer::Unknown(unknown)) => Some(Self::failed_by(unknown)),
            Err(error) => Some(Self::failed_by(error)),
        }
    }

    fn failed_by(cause: &dyn Display) -> Self {
        log::warn!(target: SHADOW, "shadow: {cause}");
        Self::Failed
    }
}
