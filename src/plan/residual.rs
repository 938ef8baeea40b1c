//! A race that a phase still has.

use crate::explore::{Cause, CauseKind, OperationKind, Outcome, Property, Trace, Violation};
use crate::legacy::{self, Candidate, Check, Dialect, Lifetime, Release};
use crate::protocols::{Choice, Protocol};
use crate::race_id::RaceId;
use crate::wire::Reply;

/// A race that a phase still has: a rule that can be broken, on a shortest way.
#[derive(Clone, Debug)]
pub struct Residual {
    /// The rule.
    pub property: Property,
    /// The cause that breaks it.
    pub cause: Option<Cause>,
    /// The documented race that it is, where its last step tells.
    pub race: Option<RaceId>,
    /// The schedule.
    pub trace: Trace,
}

impl Residual {
    pub(super) fn of(violation: Violation) -> Self {
        let Violation { property, cause, trace, .. } = violation;
        let blamed = trace.blame.and_then(|step| trace.steps.get(step)?.exchange.as_ref());
        let race = cause.as_ref().and_then(|cause| {
            let dialect = legacy::find(cause.by.as_deref()?)?;
            race_of(property, dialect, &cause.kind, blamed.map(|exchange| &exchange.reply))
        });
        Self { property, cause, race, trace }
    }

    /// The protocol of the client that is to blame; `None` where none is.
    pub fn by(&self) -> Option<&str> {
        self.cause.as_ref()?.by.as_deref()
    }

    /// Whether both are the same harm by the same cause.
    ///
    /// A holder whose lock is taken loses its lease, and mutual exclusion with it as soon as another client enters. Which of
    /// the two rules shows the loss depends on who enters: where values do not name their owners, the server cannot say whose
    /// lock it is, and a second old client hides what a bridge shows.
    pub(super) fn breaks_like(&self, other: &Self) -> bool {
        (self.harm(), &self.cause) == (other.harm(), &other.cause)
    }

    /// Whether in both a client acquires that takes a running lease for expired, and it does the same harm: where clocks are
    /// apart, whichever client is ahead does so, by whichever command.
    pub(super) fn acquires_early_like(&self, other: &Self) -> bool {
        self.acquires_early() && other.acquires_early() && self.harm() == other.harm()
    }

    /// Whether in both the program of the same old client says in the same way what is not true: behind a guard it says what it
    /// says without one.
    pub(super) fn misreports_like(&self, other: &Self) -> bool {
        let kind = |residual: &Self| residual.cause.as_ref().map(|cause| cause.kind.clone());
        let misreport = self.property == Property::TruthfulOutcome && other.property == Property::TruthfulOutcome;
        misreport && kind(self) == kind(other) && self.speaks() == other.speaks()
    }

    /// The protocol that the client to blame speaks: behind a guard, that of its own program.
    fn speaks(&self) -> Option<Protocol> {
        self.by()?.parse().ok().map(|choice: Choice| choice.protocol())
    }

    fn acquires_early(&self) -> bool {
        let (operation, outcome) = match self.cause.as_ref().map(|cause| &cause.kind) {
            Some(CauseKind::Command { operation, outcome, .. }) => (operation, outcome),
            _ => return false,
        };
        self.race.is_none() && (*operation, *outcome) == (OperationKind::Acquire, Some(Outcome::Acquired))
    }

    fn harm(&self) -> Property {
        match self.property {
            Property::MutualExclusion => Property::LeaseHonoured,
            other => other,
        }
    }

    /// Whether both break the same rule by the same cause, and are the same race.
    pub fn is_like(&self, other: &Self) -> bool {
        (self.property, &self.cause, self.race) == (other.property, &other.cause, other.race)
    }
}

/// Which documented race it is when an old client of this dialect breaks the rule so.
fn race_of(property: Property, dialect: &Dialect, kind: &CauseKind, reply: Option<&Reply>) -> Option<RaceId> {
    match kind {
        CauseKind::Crash if property == Property::CanBeTakenAgain => Some(match dialect.ttl.claimed {
            Lifetime::None => RaceId::NoLeaseCrash,
            _ => RaceId::CrashBeforeExpire,
        }),
        CauseKind::ExpiredEarly if dialect.candidate == Candidate::AsRead => Some(RaceId::StampWrittenBack),
        CauseKind::Command { name, .. } if sets_a_lifetime(name) && is_about_commands(property) => {
            Some(RaceId::LateExpire)
        }
        CauseKind::Command { name, operation, outcome } if takes_a_lock(property) => {
            taken_by(property, dialect, name, *operation, *outcome, reply)
        }
        _ => None,
    }
}

/// Which race it is when a lock is taken by this command.
fn taken_by(
    property: Property,
    dialect: &Dialect,
    name: &str,
    operation: OperationKind,
    outcome: Option<Outcome>,
    reply: Option<&Reply>,
) -> Option<RaceId> {
    let acquires = outcome == Some(Outcome::Acquired);
    let goes_on = outcome.is_none() && operation == OperationKind::Acquire;
    match name {
        "DEL" | "EVAL" | "EVALSHA" | "EXEC" if outcome == Some(Outcome::Released) => Some(late_release(dialect)),
        "DEL" => Some(RaceId::DoubleTakeover),
        "GETSET" if acquires => misread(dialect, reply?),
        "GETSET" if property == Property::MutualExclusion => Some(RaceId::StaleStampShortensLease),
        "GETSET" => Some(RaceId::LoserMovesLease),
        "GET" if acquires => Some(RaceId::TakenWithoutWriting),
        "SET" if operation == OperationKind::Extend => Some(RaceId::RenewalTooLate),
        "SET" | "SETEX" if acquires || goes_on => {
            Some(if dialect.look.is_some() { RaceId::GetThenSet } else { RaceId::CheckThenSet })
        }
        _ => None,
    }
}

fn sets_a_lifetime(command: &str) -> bool {
    matches!(command, "EXPIRE" | "PEXPIRE" | "EXPIREAT" | "PEXPIREAT")
}

fn takes_a_lock(property: Property) -> bool {
    matches!(property, Property::MutualExclusion | Property::LeaseHonoured | Property::ReleasesOnlyOwn)
}

fn is_about_commands(property: Property) -> bool {
    takes_a_lock(property) || property == Property::TruthfulOutcome
}

/// Which race it is when a release of this dialect frees another client's lock.
fn late_release(dialect: &Dialect) -> RaceId {
    match dialect.release {
        Release::UnlessTtlZero => RaceId::TtlIsNotOwnership,
        Release::IfValue(Check::NotBelowOwn) => RaceId::LaterOwnerSatisfiesGe,
        Release::IfValue(_) | Release::IfExistsAndValue(_) | Release::IfEqualUnderWatch => RaceId::CheckThenDel,
        Release::Never
        | Release::Del
        | Release::DelSerializedKey
        | Release::WhileStampAhead { .. }
        | Release::WithinLease
        | Release::AfterGetset
        | Release::IfEqualWatched
        | Release::Script(_) => RaceId::LateUnlock,
    }
}

/// Which race it is to take a lock for this value of another dialect.
fn misread(dialect: &Dialect, old: &Reply) -> Option<RaceId> {
    let Reply::Bulk(old) = old else { return None };
    (old.len() == 8 && !dialect.form.matches(old)).then_some(RaceId::BinaryReadAsStamp)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explore::{Bounds, Grain};

    fn residual(
        property: Property,
        by: &str,
        (operation, name): (OperationKind, &str),
        outcome: Option<Outcome>,
    ) -> Residual {
        let cause = Some(Cause {
            by: Some(by.to_owned()),
            kind: CauseKind::Command { name: name.to_owned(), operation, outcome },
        });
        let trace = Trace {
            version: Trace::VERSION,
            property,
            blame: None,
            bounds: Bounds::ticks(1),
            grain: Grain::Coarse,
            tick_ms: 250,
            begin_ms: 0,
            actors: Vec::new(),
            keys: Vec::new(),
            prelude: Vec::new(),
            steps: Vec::new(),
            cycle: None,
        };
        Residual { property, cause, race: None, trace }
    }

    #[test]
    fn a_bridge_that_is_ahead_acquires_early_as_an_old_client_does() {
        let acquired = Some(Outcome::Acquired);
        let (getset, script) = ((OperationKind::Acquire, "GETSET"), (OperationKind::Acquire, "EVALSHA"));
        let old = residual(Property::LeaseHonoured, "jedis-lock", getset, acquired);
        let bridge = residual(Property::MutualExclusion, "bridge", script, acquired);
        assert!(old.acquires_early_like(&bridge) && !old.breaks_like(&bridge));
        let misread = Some(RaceId::BinaryReadAsStamp);
        for other in [
            residual(Property::MutualExclusion, "bridge", script, None),
            residual(Property::TruthfulOutcome, "bridge", script, acquired),
            Residual { race: misread, ..residual(Property::MutualExclusion, "jedis-lock", getset, acquired) },
        ] {
            assert!(!old.acquires_early_like(&other), "{:?}", other.cause);
        }
    }

    #[test]
    fn behind_a_guard_a_client_misreports_as_without_one() {
        let delete = (OperationKind::Release, "DEL");
        let misreport = |by: &str, outcome| residual(Property::TruthfulOutcome, by, delete, outcome);
        let old = misreport("spring-redis-callback", Some(Outcome::ReleasedLost));
        assert!(old.misreports_like(&misreport("bridge-guard:spring-redis-callback", Some(Outcome::ReleasedLost))));
        for other in [
            misreport("bridge-guard:spring-redis-callback", Some(Outcome::Released)),
            misreport("bridge-guard:php-getset", Some(Outcome::ReleasedLost)),
            residual(
                Property::LeaseHonoured,
                "bridge-guard:spring-redis-callback",
                delete,
                Some(Outcome::ReleasedLost),
            ),
        ] {
            assert!(!old.misreports_like(&other), "{:?}", other.cause);
        }
    }
}
