//! What the outcomes of the driver mean here: decisions that threads and tasks share.

use std::error::Error as _;
use std::time::Duration;

use super::error::{AcquireError, ExtendError, ReleaseError, Timeout};
use crate::connect::Server;
use crate::driver::{Answer, Attempt, Error, Replication, what_remains};
use crate::lock::{Extended, Released};
use crate::wire::Key;

/// What an attempt, the last of its wait, came to.
pub(super) fn judge<G>(key: &Key, attempt: Result<Attempt<G>, Error>) -> Result<G, AcquireError> {
    match attempt? {
        Attempt::Won(guard) => Ok(guard),
        Attempt::Held(held) => Err(Timeout { key: key.clone(), holder: held.seen, retry_in: held.retry_in }.into()),
        Attempt::TooLate => Err(AcquireError::TooSlow(key.clone())),
        Attempt::Unknown(unknown) => Err(unknown.into()),
    }
}

/// What an extension came to.
pub(super) fn extended(key: &Key, answer: Result<Answer<Extended>, Error>) -> Result<(), ExtendError> {
    match answer? {
        Answer::Known(Extended::Until(_)) => Ok(()),
        Answer::Known(Extended::Intruded(_)) => Err(ExtendError::Intruded(key.clone())),
        Answer::Known(Extended::Lost) => Err(ExtendError::Lost(key.clone())),
        Answer::Known(Extended::Unsupported) => Err(ExtendError::Unsupported(key.clone())),
        Answer::Unknown(unknown) => Err(unknown.into()),
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

/// The same server, as locks of this lease use it: the reply to a renewal may take a third of a short lease, and that of a lock
/// that is replicated as much longer as its replicas may. Locks whose replies may take the same time share their connections, so
/// the time is rounded down to a power of two of milliseconds.
pub(super) fn for_lease(server: &Server, lease: Duration, replication: Option<Replication>) -> Server {
    let exact = server.clone().for_lease(lease);
    let response = exact.response_timeout();
    let response = if response < server.response_timeout() { rounded_down(response) } else { response };
    let replicas = replication.map_or(Duration::ZERO, |replication| replication.within());
    exact.answering_within(response.saturating_add(replicas))
}

fn rounded_down(response: Duration) -> Duration {
    let millis = u64::try_from(response.as_millis()).unwrap_or(u64::MAX);
    Duration::from_millis(1 << millis.max(1).ilog2())
}

#[test]
fn short_leases_have_few_timeouts_and_long_ones_that_of_the_server() {
    let server: Server = "redis://a".parse().unwrap();
    let response = |lease_ms| for_lease(&server, Duration::from_millis(lease_ms), None).response_timeout().as_millis();
    assert_eq!([30_000, 3000, 2999, 1000, 768, 767, 3, 1].map(response), [1000, 1000, 512, 256, 256, 128, 1, 1]);
    let replication = Some(Replication::to(1, Duration::from_millis(100)));
    let replicated = for_lease(&server, Duration::from_secs(1), replication);
    assert_eq!(replicated.response_timeout(), Duration::from_millis(356));
    let patient = Some(Replication::to(1, Duration::MAX));
    assert_eq!(for_lease(&server, Duration::from_secs(30), patient).response_timeout(), Duration::MAX);
    let hasty = server.answering_within(Duration::from_millis(150));
    assert_eq!(for_lease(&hasty, Duration::from_secs(1), None).response_timeout(), Duration::from_millis(150));
}
