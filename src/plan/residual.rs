//! A race that a phase still has.

use crate::explore::{Property, Step, Trace, Violation};
use crate::legacy::{self, Check, Dialect, Release};
use crate::wire::Reply;

/// A race that a phase still has: a rule that can be broken, on a shortest way.
#[derive(Clone, Debug)]
pub struct Residual {
    /// The rule.
    pub property: Property,
    /// The protocol of the client whose step breaks it; `None` where that is the clock, or a death.
    pub by: Option<String>,
    /// The id of the documented race that it is, where its last step tells.
    pub race: Option<&'static str>,
    /// The schedule.
    pub trace: Trace,
}

impl Residual {
    pub(super) fn of(violation: Violation) -> Self {
        let Violation { property, trace, .. } = violation;
        let blamed = trace.blame.and_then(|step| trace.steps.get(step));
        let protocol =
            |step: &Step| step.exchange.as_ref().and(step.actor).map(|actor| trace.actors[actor].protocol.clone());
        let by = blamed.and_then(protocol);
        let dialect = by.as_deref().and_then(legacy::find);
        let race = dialect.zip(blamed).and_then(|(dialect, step)| race_of(property, dialect, step));
        Self { property, by, race, trace }
    }
}

/// Which documented race it is when this step of an old client breaks the rule.
fn race_of(property: Property, dialect: &Dialect, step: &Step) -> Option<&'static str> {
    let command = &step.exchange.as_ref()?.command;
    let deletes = command.is("DEL") || command.is("EVAL") || command.is("EVALSHA") || command.is("EXEC");
    match property {
        Property::MutualExclusion | Property::LeaseHonoured | Property::ReleasesOnlyOwn => {}
        _ => return None,
    }
    if deletes && step.note == "has freed the lock" {
        return Some(match dialect.release {
            Release::UnlessTtlZero => "ttl-is-not-ownership",
            Release::IfValue(Check::NotBelowOwn) => "later-owner-satisfies-ge",
            Release::IfValue(_) | Release::IfExistsAndValue(_) => "check-then-del",
            Release::Never
            | Release::Del
            | Release::DelSerializedKey
            | Release::WhileStampAhead { .. }
            | Release::WithinLease
            | Release::AfterGetset
            | Release::IfEqualWatched
            | Release::Script(_) => "late-unlock",
        });
    }
    if command.is("DEL") {
        return Some("double-takeover");
    }
    let lost = step.note == "loses the takeover";
    match property {
        _ if !command.is("GETSET") => None,
        Property::MutualExclusion if lost => Some("stale-stamp-shortens-lease"),
        _ if lost => Some("loser-moves-lease"),
        _ => misread(dialect, &step.exchange.as_ref()?.reply),
    }
}

/// Which race it is to take a lock for this value of another dialect.
fn misread(dialect: &Dialect, old: &Reply) -> Option<&'static str> {
    let Reply::Bulk(old) = old else { return None };
    (old.len() == 8 && !dialect.form.matches(old)).then_some("binary-read-as-stamp")
}
