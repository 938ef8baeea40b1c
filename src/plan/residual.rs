//! A race that a phase still has.

use crate::explore::{Deed, Property, Trace, Violation, What};
use crate::legacy::{self, Candidate, Check, Dialect, Lifetime, Release};
use crate::wire::Reply;

/// A race that a phase still has: a rule that can be broken, on a shortest way.
#[derive(Clone, Debug)]
pub struct Residual {
    /// The rule.
    pub property: Property,
    /// The deed that breaks it.
    pub deed: Option<Deed>,
    /// The id of the documented race that it is, where its last step tells.
    pub race: Option<&'static str>,
    /// The schedule.
    pub trace: Trace,
}

impl Residual {
    pub(super) fn of(violation: Violation) -> Self {
        let Violation { property, deed, trace, .. } = violation;
        let blamed = trace.blame.and_then(|step| trace.steps.get(step)?.exchange.as_ref());
        let race = deed.as_ref().and_then(|deed| {
            let dialect = legacy::find(deed.by.as_deref()?)?;
            race_of(property, dialect, &deed.what, blamed.map(|exchange| &exchange.reply))
        });
        Self { property, deed, race, trace }
    }

    /// The protocol of the client that is to blame; `None` where nobody is.
    pub fn by(&self) -> Option<&str> {
        self.deed.as_ref()?.by.as_deref()
    }

    /// Whether both break the same rule by the same deed.
    pub fn is_like(&self, other: &Self) -> bool {
        (self.property, &self.deed, self.race) == (other.property, &other.deed, other.race)
    }
}

/// Which documented race it is when an old client of this dialect breaks the rule by this.
fn race_of(property: Property, dialect: &Dialect, what: &What, reply: Option<&Reply>) -> Option<&'static str> {
    let is_taken = matches!(property, Property::MutualExclusion | Property::LeaseHonoured | Property::ReleasesOnlyOwn);
    match (property, what) {
        (Property::CanBeTakenAgain, What::Death) => Some(match dialect.ttl.claimed {
            Lifetime::None => "no-lease-crash",
            _ => "crash-before-expire",
        }),
        (_, What::Lapse) if dialect.candidate == Candidate::AsRead => Some("stamp-written-back"),
        (_, What::Command(name, outcome)) if is_taken || property == Property::TruthfulOutcome => {
            match (name.as_str(), *outcome) {
                ("EXPIRE" | "PEXPIRE" | "EXPIREAT" | "PEXPIREAT", _) => Some("late-expire"),
                _ if !is_taken => None,
                ("DEL" | "EVAL" | "EVALSHA" | "EXEC", "has freed the lock") => Some(late_release(dialect)),
                ("DEL", _) => Some("double-takeover"),
                ("GETSET", "holds") => misread(dialect, reply?),
                ("GETSET", _) if property == Property::MutualExclusion => Some("stale-stamp-shortens-lease"),
                ("GETSET", _) => Some("loser-moves-lease"),
                ("GET", "holds") => Some("taken-without-writing"),
                ("SET" | "SETEX", "holds" | "tries") if dialect.look.is_some() => Some("get-then-set"),
                ("SET" | "SETEX", "holds" | "tries") => Some("check-then-set"),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Which race it is when a release of this dialect takes somebody else's lock.
fn late_release(dialect: &Dialect) -> &'static str {
    match dialect.release {
        Release::UnlessTtlZero => "ttl-is-not-ownership",
        Release::IfValue(Check::NotBelowOwn) => "later-owner-satisfies-ge",
        Release::IfValue(_) | Release::IfExistsAndValue(_) | Release::IfEqualUnderWatch => "check-then-del",
        Release::Never
        | Release::Del
        | Release::DelSerializedKey
        | Release::WhileStampAhead { .. }
        | Release::WithinLease
        | Release::AfterGetset
        | Release::IfEqualWatched
        | Release::Script(_) => "late-unlock",
    }
}

/// Which race it is to take a lock for this value of another dialect.
fn misread(dialect: &Dialect, old: &Reply) -> Option<&'static str> {
    let Reply::Bulk(old) = old else { return None };
    (old.len() == 8 && !dialect.form.matches(old)).then_some("binary-read-as-stamp")
}
