//! The audit of a trace as JSON.

use serde::Serialize;

use super::describe::{describe, title};
use crate::audit::{ClientSummary, Durations, Finding, LockSummary, OtherLocks, SteppedBack, Verdict};
use crate::race_id::RaceId;
use crate::report::moment::iso8601;

/// The locks that are not listed one by one.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Others {
    pub(super) keys: u64,
    pub(super) acquisitions: u64,
    pub(super) refusals: u64,
}

/// What makes the results less sure.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct TraceNote {
    pub(super) note: &'static str,
    pub(super) line: u64,
    pub(super) by_ms: f64,
    pub(super) times: u64,
}

/// One lock.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct LockJson {
    /// The server, if the source names it: a capture does, MONITOR does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) server: Option<String>,
    pub(super) key: String,
    pub(super) database: u32,
    pub(super) dialects: Vec<String>,
    pub(super) clients: usize,
    pub(super) speakers: Vec<ClientJson>,
    /// Number of acquisitions by clients that are not in the list: 0 if it is complete.
    pub(super) unlisted_acquisitions: u64,
    pub(super) acquisitions: u64,
    pub(super) refusals: u64,
    pub(super) releases: u64,
    pub(super) overruns: u64,
    pub(super) multiplexed: u64,
    pub(super) pooled: u64,
    /// Number of holds whose lease ended without a release.
    pub(super) lapsed: u64,
    /// Number of commands whose client could only be guessed.
    pub(super) guessed: u64,
    pub(super) unrecognised: u64,
    /// Number of commands that may have changed the key and whose effect is not followed.
    pub(super) unfollowed: u64,
    pub(super) held_p50_ms: Option<f64>,
    pub(super) held_p99_ms: Option<f64>,
    pub(super) waited_p50_ms: Option<f64>,
    pub(super) waited_p99_ms: Option<f64>,
}

/// A client that has acquired it.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct ClientJson {
    pub(super) client: String,
    pub(super) dialects: Vec<String>,
    pub(super) acquisitions: u64,
}

impl ClientJson {
    pub(super) fn of(client: &ClientSummary) -> Self {
        let ClientSummary { client, dialects, acquisitions } = client.clone();
        Self { client, dialects, acquisitions }
    }
}

/// One race that happened.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct FindingJson {
    /// `null` if no documented race explains it.
    pub(super) race: Option<&'static str>,
    /// What it is called without a race.
    #[serde(skip)]
    pub(super) title: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) server: Option<String>,
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
    pub(super) fn add(&mut self, OtherLocks { keys, statistics, .. }: &OtherLocks) {
        self.keys += keys;
        self.acquisitions += statistics.acquisitions;
        self.refusals += statistics.refusals;
    }
}

impl TraceNote {
    pub(super) fn of(step: &SteppedBack) -> Self {
        Self { note: "clock-steps-back", line: step.line, by_ms: step.by.as_secs_f64() * 1e3, times: step.times }
    }
}

impl LockJson {
    pub(super) fn of(server: Option<&str>, lock: &LockSummary) -> Self {
        let (held, waited) = (&lock.statistics.held, &lock.statistics.waited);
        let listed = lock.busiest.iter().map(|client| client.acquisitions).sum();
        Self {
            server: server.map(str::to_owned),
            key: lock.key.to_string(),
            database: lock.database,
            dialects: lock.dialects.clone(),
            clients: lock.clients,
            speakers: lock.busiest.iter().map(ClientJson::of).collect(),
            unlisted_acquisitions: lock.statistics.acquisitions.saturating_sub(listed),
            acquisitions: lock.statistics.acquisitions,
            refusals: lock.statistics.refusals,
            releases: lock.statistics.releases,
            overruns: lock.statistics.overruns,
            multiplexed: lock.statistics.multiplexed,
            pooled: lock.statistics.pooled,
            lapsed: lock.statistics.lapsed,
            guessed: lock.statistics.guessed,
            unrecognised: lock.statistics.unrecognised,
            unfollowed: lock.statistics.unfollowed,
            held_p50_ms: millis(held, 0.5),
            held_p99_ms: millis(held, 0.99),
            waited_p50_ms: millis(waited, 0.5),
            waited_p99_ms: millis(waited, 0.99),
        }
    }
}

impl FindingJson {
    pub(super) fn of(server: Option<&str>, finding: Finding) -> Self {
        let says = describe(&finding.verdict);
        let title = title(&finding.verdict.evidence);
        let Verdict { race, at, clients, lines, certainty, .. } = finding.verdict;
        Self {
            race: race.map(RaceId::name),
            title,
            server: server.map(str::to_owned),
            key: finding.key.to_string(),
            database: finding.database,
            at: iso8601(at),
            clients: clients.iter().map(ToString::to_string).collect(),
            lines,
            certainty: certainty.name(),
            says,
            more: finding.more,
        }
    }
}

fn millis(durations: &Durations, share: f64) -> Option<f64> {
    let length = durations.quantile(share)?;
    Some((length.as_secs_f64() * 1e6).round() / 1e3)
}
