//! The audit of the recordings of real programs, beside what an independent witness counted while they were recorded:
//! the clients of the program are named with its row, every acquisition is counted, and what is called certain is true.
//!
//! The witness is a counter that every holder increments and decrements (`w:...:in`), and two that count the acquisitions
//! of each side.

use std::collections::BTreeSet;

use lockshift::audit::{Audit, Certainty, Finding};
use lockshift::legacy::{KeyName, find};
use lockshift::race_id::RaceId;

use super::{connections, key, text, traces};
use crate::audit::audit;

/// Recordings in which two hold at once: the witness counts one side's acquisition before the other's, and the connection
/// of each does not follow from the order. Only the sum of both sides is compared.
const SIDES_UNKNOWN: [&str; 3] = ["php-v2-phpredis", "php-v2-predis", "py2-celery-once"];

/// What is certain in a recording without two holders at once, and the command that shows it.
const SHOWN_BY_A_COMMAND: [(&str, RaceId, &str); 4] = [
    ("py2-redis-py-2.8.0", RaceId::LoserMovesLease, "\"GETSET\""),
    ("py3-redis-py-2.8.0", RaceId::LoserBlocksRelease, "\"GETSET\""),
    ("rb-redis-mutex-2.0.0", RaceId::LoserMovesLease, "\"getset\""),
    // The moment at which the lock ends stands where the length belongs.
    ("py2-retools-abs", RaceId::AbsoluteExpire, "\"EXPIRE\" \"cont-py2-retools-abs\" \"17953"),
];

/// Races by which two clients hold at once: the witness has seen them.
const DOUBLE: [RaceId; 2] = [RaceId::DoubleTakeover, RaceId::GetThenSet];

/// How long before or after the audit's finding the witness may have seen it: its counter is a command of its own.
const NEAR_NS: i64 = 100_000_000;

/// A recording, and what is known of it.
struct Recorded {
    trace: &'static str,
    row: &'static str,
    lines: Vec<String>,
    audit: Audit,
    /// The addresses of the program's clients.
    foreign: BTreeSet<String>,
}

impl Recorded {
    fn of((trace, row): (&'static str, &'static str)) -> Self {
        let bytes = text(trace);
        let dialect = find(row);
        let rule = dialect.map_or(KeyName::PLAIN, |dialect| dialect.key);
        let connections = connections(dialect, &key(trace, rule, &bytes), &bytes);
        let is_foreign = connections.into_iter().filter(|(_, connection)| connection.foreign > connection.ours);
        let foreign = is_foreign.map(|(address, _)| String::from_utf8(address).expect("an address is text")).collect();
        let text = String::from_utf8(bytes).expect("MONITOR escapes what is not text");
        let lines: Vec<String> = text.lines().filter(|line| line.starts_with('1')).map(str::to_owned).collect();
        let audit = audit(&(lines.join("\n") + "\n"));
        Self { trace, row, lines, audit, foreign }
    }

    /// How often the witness counted an acquisition of this side.
    fn witnessed(&self, side: &str) -> u64 {
        let counts = |line: &&String| line.contains("\"INCR\"") && line.ends_with(&format!(":{side}\""));
        self.lines.iter().filter(counts).count() as u64
    }

    fn acquisitions(&self) -> u64 {
        self.audit.locks.iter().map(|lock| lock.statistics.acquisitions).sum()
    }

    /// The clients of the program as the audit names them: behind its address, one may have a token.
    fn foreign_clients(&self) -> impl Iterator<Item = &lockshift::audit::ClientSummary> {
        let address = |client: &str| client.split_once('#').map_or(client, |(address, _)| address).to_owned();
        let clients = self.audit.locks.iter().flat_map(|lock| &lock.busiest);
        clients.filter(move |client| self.foreign.contains(&address(&client.client)))
    }

    /// Whether the witness saw two holders near the moment of this finding.
    fn is_witnessed(&self, finding: &Finding) -> bool {
        let mut inside = 0;
        self.lines.iter().any(|line| {
            let is_witness = line.ends_with(":in\"");
            inside +=
                i32::from(is_witness && line.contains("\"INCR\"")) - i32::from(is_witness && line.contains("\"DECR\""));
            is_witness && inside > 1 && (at_ns(line) - finding.verdict.at.as_nanos()).abs() < NEAR_NS
        })
    }

    /// Whether one of the lines that the finding names has this in it.
    fn has_line_with(&self, finding: &Finding, part: &str) -> bool {
        let number = |line: u64| usize::try_from(line).expect("the trace fits into memory") - 1;
        finding.verdict.lines.iter().any(|line| self.lines[number(*line)].contains(part))
    }
}

/// The time at which MONITOR listed a line.
fn at_ns(line: &str) -> i64 {
    let (secs, rest) = line.split_once('.').expect("a line begins with its time");
    secs.parse::<i64>().expect("seconds") * 1_000_000_000 + rest[..6].parse::<i64>().expect("microseconds") * 1000
}

#[test]
fn the_clients_of_each_program_are_named_with_its_row() {
    let mut wrong = Vec::new();
    for recorded in traces().map(Recorded::of) {
        let named: Vec<_> = recorded.foreign_clients().collect();
        if named.len() < 2 {
            wrong.push(format!("{}: of {:?} only {named:?} acquired", recorded.trace, recorded.foreign));
        }
        let others = named.iter().filter(|client| !client.dialects.iter().any(|name| name == recorded.row));
        wrong.extend(others.map(|client| format!("{}: {client:?} is not {}", recorded.trace, recorded.row)));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_acquisition_is_counted_and_those_of_the_program_apart() {
    let mut wrong = Vec::new();
    for recorded in traces().map(Recorded::of) {
        let (foreign, ours) = (recorded.witnessed("foreign"), recorded.witnessed("ours"));
        let of_program: u64 = recorded.foreign_clients().map(|client| client.acquisitions).sum();
        let is_exact = recorded.acquisitions() == foreign + ours;
        let is_of_side = of_program == foreign || SIDES_UNKNOWN.contains(&recorded.trace);
        if !is_exact || !is_of_side {
            let (trace, all) = (recorded.trace, recorded.acquisitions());
            wrong.push(format!("{trace}: {of_program} and in all {all}, the witness says {foreign} + {ours}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_is_called_certain_is_true() {
    let mut wrong = Vec::new();
    let mut shown = BTreeSet::new();
    for recorded in traces().map(Recorded::of) {
        for finding in &recorded.audit.findings {
            if finding.verdict.certainty != Certainty::Certain {
                continue;
            }
            let listed = SHOWN_BY_A_COMMAND.iter().find(|(trace, race, part)| {
                *trace == recorded.trace && finding.verdict.race == Some(*race) && recorded.has_line_with(finding, part)
            });
            let is_double = finding.verdict.race.is_some_and(|race| DOUBLE.contains(&race));
            match listed {
                Some((trace, race, _)) => drop(shown.insert((*trace, *race))),
                None if is_double && recorded.is_witnessed(finding) => {}
                None => wrong.push(format!("{}: {:?}", recorded.trace, finding.verdict)),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(shown.len(), SHOWN_BY_A_COMMAND.len(), "each is found: {shown:?}");
}
