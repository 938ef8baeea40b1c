//! A redacted recording is audited like the recording itself.

use lockshift::audit::{Audit, Certainty};
use lockshift::monitor::Parser;
use lockshift::race_id::RaceId;
use lockshift::redaction::Redaction;

use super::{text, traces};
use crate::audit::audit;

type Locks = Vec<(Vec<u8>, Vec<String>, u64, u64)>;
type Findings = Vec<(Option<RaceId>, Vec<u64>, Certainty)>;

/// All of an audit but the values and the names of clients that were made of tokens.
fn gist(audit: Audit) -> (Locks, Findings) {
    let locks = audit.locks.into_iter().map(|lock| {
        let statistics = lock.statistics;
        (lock.key.as_bytes().to_vec(), lock.dialects, statistics.acquisitions, statistics.refusals)
    });
    let findings = audit.findings.into_iter().map(|finding| {
        let verdict = finding.verdict;
        (verdict.race, verdict.lines, verdict.certainty)
    });
    (locks.collect(), findings.collect())
}

#[test]
fn the_audit_says_the_same_of_a_redacted_recording() {
    let redaction = Redaction::new(*b"of this one test");
    for (trace, _row) in traces() {
        let text = String::from_utf8(text(trace)).expect("MONITOR escapes what is not text");
        let lines: Vec<&str> = text.lines().filter(|line| line.starts_with('1')).collect();
        let mut parser = Parser::new();
        let redact =
            |line: &&str| redaction.line(&parser.parse(line.as_bytes()).expect("it is a line of MONITOR")) + "\n";
        let redacted: String = lines.iter().map(redact).collect();
        let plain = lines.join("\n") + "\n";
        assert_eq!(gist(audit(&redacted)), gist(audit(&plain)), "{trace}");
    }
}
