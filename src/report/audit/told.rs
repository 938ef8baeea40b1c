//! What is told of a trace, as the JSON has it.

use serde::Serialize;

use crate::audit::{Finding, Lengths, LockSummary, Speaker, SteppedBack, Tally};
use crate::race_id::RaceId;
use crate::report::moment::iso8601;
use crate::wire::Printable;

/// The locks that are too many to be told one by one.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Others {
    pub(super) keys: u64,
    pub(super) acquisitions: u64,
    pub(super) refusals: u64,
}

/// What makes what was found less sure.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Note {
    pub(super) note: &'static str,
    pub(super) line: u64,
    pub(super) by_ms: f64,
    pub(super) times: u64,
}

/// One lock.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Locked {
    pub(super) key: String,
    pub(super) database: u32,
    pub(super) dialects: Vec<String>,
    pub(super) clients: usize,
    pub(super) speakers: Vec<Spoke>,
    pub(super) acquisitions: u64,
    pub(super) refusals: u64,
    pub(super) releases: u64,
    pub(super) overruns: u64,
    pub(super) held_p50_ms: Option<f64>,
    pub(super) held_p99_ms: Option<f64>,
    pub(super) waited_p50_ms: Option<f64>,
    pub(super) waited_p99_ms: Option<f64>,
}

/// A client that has acquired it.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Spoke {
    pub(super) client: String,
    pub(super) dialects: Vec<String>,
    pub(super) acquisitions: u64,
}

impl Spoke {
    pub(super) fn of(speaker: &Speaker) -> Self {
        let Speaker { client, dialects, acquisitions } = speaker.clone();
        Self { client, dialects, acquisitions }
    }
}

/// One race that happened.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Found {
    /// `null` if two clients hold at once and no documented race explains it.
    pub(super) race: Option<&'static str>,
    pub(super) key: String,
    pub(super) database: u32,
    pub(super) at: String,
    pub(super) clients: Vec<String>,
    pub(super) lines: Vec<u64>,
    pub(super) certainty: &'static str,
    pub(super) says: String,
    pub(super) more: u64,
}

impl Others {
    pub(super) fn of((keys, tally): &(u64, Tally)) -> Self {
        Self { keys: *keys, acquisitions: tally.acquisitions, refusals: tally.refusals }
    }
}

impl Note {
    pub(super) fn of(step: &SteppedBack) -> Self {
        Self { note: "clock-steps-back", line: step.line, by_ms: step.by.as_secs_f64() * 1e3, times: step.times }
    }
}

impl Locked {
    pub(super) fn of(lock: &LockSummary) -> Self {
        let (held, waited) = (&lock.tally.held, &lock.tally.waited);
        Self {
            key: Printable(lock.key.as_bytes()).to_string(),
            database: lock.database,
            dialects: lock.dialects.clone(),
            clients: lock.clients,
            speakers: lock.speakers.iter().map(Spoke::of).collect(),
            acquisitions: lock.tally.acquisitions,
            refusals: lock.tally.refusals,
            releases: lock.tally.releases,
            overruns: lock.tally.overruns,
            held_p50_ms: millis(held, 0.5),
            held_p99_ms: millis(held, 0.99),
            waited_p50_ms: millis(waited, 0.5),
            waited_p99_ms: millis(waited, 0.99),
        }
    }
}

impl Found {
    pub(super) fn of(finding: Finding) -> Self {
        Self {
            race: finding.race.map(RaceId::name),
            key: finding.key.to_string(),
            database: finding.database,
            at: iso8601(finding.at),
            clients: finding.clients.iter().map(ToString::to_string).collect(),
            lines: finding.lines,
            certainty: finding.certainty.name(),
            says: finding.says,
            more: finding.more,
        }
    }
}

fn millis(lengths: &Lengths, share: f64) -> Option<f64> {
    let length = lengths.quantile(share)?;
    Some((length.as_secs_f64() * 1e6).round() / 1e3)
}
