//! Public enums: those that may grow are `#[non_exhaustive]`, the others are closed for a reason.

use std::collections::BTreeSet;

use super::sources::all_sources;

/// The public enums of each file that are exhaustive, and why a new variant has to break the programs that match them.
const CLOSED: [(&str, &[&str], &str); 33] = [
    ("wire/src/round.rs", &["NodeReply", "NoReply"], "a protocol has to say what each answer means to it"),
    ("wire/src/pending.rs", &["Pending"], "a driver that passes over one of them would wait for ever"),
    ("wire/src/procedure.rs", &["Unfinished"], "the same, where a procedure is played"),
    ("wire/src/reply.rs", &["Reply"], "the shapes of RESP2, which are complete"),
    ("wire/src/transcript.rs", &["Entry"], "the same as what a protocol can need"),
    ("wire/src/fault.rs", &["Fault"], "a driver has to say of each whether it is to be tried again"),
    ("lock/src/votes.rs", &["Vote"], "a quorum is counted over all of them"),
    ("lock/src/locker.rs", &["LateRelease", "Mode"], "a driver or explorer that takes one for another breaks the lock"),
    ("lock/src/release_channel.rs", &["RefusalScope"], "a driver that takes one for another misses a release"),
    (
        "lock/src/outcome.rs",
        &["Acquired", "Extended", "Ownership", "Refusal", "Released"],
        "a caller has to say what each outcome means to it",
    ),
    ("src/driver/outcome.rs", &["Answer", "Attempt"], "a caller has to say what each outcome means to it"),
    ("legacy/src/polling.rs", &["PollingStep"], "a caller that passes over one of them stops polling"),
    ("legacy/src/reader/number.rs", &["Comparison", "Number"], "how a number compares is complete"),
    ("legacy/src/dialect/claim.rs", &["Claim", "Keys", "Words"], AXIS),
    ("legacy/src/dialect/digits.rs", &["Digits"], AXIS),
    ("legacy/src/dialect/form.rs", &["Part"], AXIS),
    (
        "legacy/src/dialect/look.rs",
        &["Absent", "Judged", "Live", "LookOrder", "Looks", "Missing", "Presence", "Test", "Unreadable", "Watch"],
        AXIS,
    ),
    ("legacy/src/dialect/refresh.rs", &["Refresh"], AXIS),
    ("legacy/src/dialect/refusal.rs", &["OnError"], AXIS),
    ("legacy/src/dialect/release.rs", &["Check", "Release", "Script"], AXIS),
    ("legacy/src/dialect/retry.rs", &["Limit", "Pause"], AXIS),
    ("legacy/src/dialect/stamp.rs", &["Clock", "Moment", "Now", "Unit"], AXIS),
    ("legacy/src/dialect/takeover.rs", &["Candidate", "Loser", "OldNil", "Rule", "Takeover"], AXIS),
    ("legacy/src/dialect/ttl.rs", &["Lifetime"], AXIS),
    ("src/report/run.rs", &["Released"], "the words of a JSON field, which are a contract"),
    ("src/report/races.rs", &["Replayed"], "the words of a JSON field, which are a contract"),
    ("src/plan/phase.rs", &["Phase", "Way"], "a migration has these phases, on these ways"),
    ("src/audit/clients_by.rs", &["ClientsBy"], "an argument of two values"),
    ("src/audit/finding.rs", &["Certainty"], "sure or not"),
    ("src/sim", &["Value", "Via"], "what a Redis stores, and who runs a command, is complete"),
    ("src/monitor", &["Source", "Text"], "what a line of MONITOR names, and what holds it"),
    (
        "src/races",
        &["GuardVerdict", "Guarding", "Mark", "Setup", "Speaks"],
        "the columns of a race, which is complete or not a race",
    ),
    (
        "src",
        &["Doing", "End", "Generation", "Severity", "Grain", "Outcome", "Stop", "Times", "Reaction"],
        "a reader of a trace, a search or an inspection has to say what each means to it",
    ),
];

/// A row of the catalogue is a value on each axis.
const AXIS: &str = "code that asks a row has to say what each value on the axis means";

#[test]
fn public_enums_may_grow_or_are_closed_for_a_reason() {
    let mut closed: BTreeSet<(&str, &str)> =
        CLOSED.iter().flat_map(|(path, names, _)| names.iter().map(move |name| (*path, *name))).collect();
    let mut undecided = Vec::new();
    for source in all_sources() {
        let path = source.path.to_string_lossy().into_owned();
        if !["src/", "wire/src/", "lock/src/", "legacy/src/", "modern/src/"].iter().any(|root| path.starts_with(root)) {
            continue;
        }
        let mut grows = false;
        for line in source.text.lines() {
            match line.strip_prefix("pub enum ") {
                Some(rest) if !grows => {
                    let name = rest.split(|letter: char| !letter.is_alphanumeric()).next().unwrap_or_default();
                    let decided = closed.iter().find(|(prefix, closed)| path.starts_with(prefix) && *closed == name);
                    match decided.copied() {
                        Some(decided) => drop(closed.remove(&decided)),
                        None => undecided.push(format!("{path}: {name}")),
                    }
                }
                _ => {}
            }
            grows = line == "#[non_exhaustive]" || grows && line.starts_with("#[");
        }
    }
    assert!(undecided.is_empty(), "mark these `#[non_exhaustive]`, or say here why they are closed: {undecided:#?}");
    assert!(closed.is_empty(), "these are not closed, or not there: {closed:?}");
}
