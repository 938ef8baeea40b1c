//! Why what a trace shows is no all-clear.

use super::exit::{Exit, Failure};
use super::identity::IdentityArgs;
use crate::audit::{Audit, LockStatistics};

/// Why audits without a race are no all-clear, if they are not: the clients could only be guessed, a client spoke no known
/// protocol, or a command was not followed.
pub(super) fn doubt<'a>(identity: IdentityArgs, audits: impl Iterator<Item = &'a Audit> + Clone) -> Option<Failure> {
    identity.doubt(audits.clone()).or_else(|| unknown(audits.clone())).or_else(|| unfollowed(audits))
}

/// Why an audit without a race is no all-clear: a client tried to acquire as no known protocol does. That counts at a key where
/// others acquire as one does; at other keys, only if no client of the trace does.
fn unknown<'a>(audits: impl Iterator<Item = &'a Audit> + Clone) -> Option<Failure> {
    let is_mixed =
        |audit: &Audit| audit.others.mixed > 0 || audit.locks.iter().any(|lock| lock.statistics.mixes_protocols());
    if audits.clone().any(is_mixed) {
        let reason = "a client tries to acquire a lock as no known protocol does, so races may be missing";
        return Some(Failure::new(Exit::Unusable, reason));
    }
    let (known, unrecognised) = statistics(audits).fold((0, 0), |(known, unrecognised), lock| {
        (known + lock.acquisitions + lock.refusals, unrecognised + lock.unrecognised)
    });
    (known == 0 && unrecognised > 0).then(|| {
        Failure::new(Exit::Unusable, "no known protocol sends what tries to acquire here, so races may be missing")
    })
}

/// Why an audit without a race is no all-clear: what some command did to a lock is not known.
fn unfollowed<'a>(audits: impl Iterator<Item = &'a Audit>) -> Option<Failure> {
    statistics(audits).any(|lock| lock.unfollowed > 0).then(|| {
        let reason = "a command whose effect an audit does not follow may have changed a lock, so races may be missing";
        Failure::new(Exit::Unusable, reason)
    })
}

/// What happened at each lock that is listed, and at the others together.
fn statistics<'a>(audits: impl Iterator<Item = &'a Audit>) -> impl Iterator<Item = &'a LockStatistics> {
    audits.flat_map(|audit| audit.locks.iter().map(|lock| &lock.statistics).chain([&audit.others.statistics]))
}
