//! The counts of a watch as OpenMetrics, over HTTP.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Builder;
use std::time::Duration;

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::{ConstCounter, Counter};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;
use tiny_http::{Header, Method, Request, Response, Server};

use super::super::exit::{Exit, Failure};
use crate::audit::{Certainty, Finding, HoldChange, HoldEvent, LiveLock};
use crate::race_id::RaceId;
use crate::wire::UnixTime;

/// The name of a race that is not a documented one.
const UNNAMED: &str = "unnamed";

/// What a watch has counted, and what it sees now.
#[derive(Clone, Debug, Default)]
pub(super) struct WatchCounts {
    pub(super) commands: u64,
    pub(super) commands_at_last_refresh: u64,
    acquired: u64,
    released: u64,
    ended: u64,
    /// By race and certainty.
    pub(super) findings: BTreeMap<(&'static str, &'static str), u64>,
    pub(super) cost: Option<f64>,
    held: u64,
    held_by_several: u64,
    waiters: u64,
    longest_wait: Duration,
    longest_hold: Duration,
}

impl WatchCounts {
    /// A hold began or ended.
    pub(super) fn note(&mut self, event: &HoldEvent) {
        match event.what {
            HoldChange::Acquired { .. } => self.acquired += 1,
            HoldChange::Released { .. } => self.released += 1,
            HoldChange::Ended { .. } => self.ended += 1,
        }
    }

    /// A race happened.
    pub(super) fn note_finding(&mut self, finding: &Finding) {
        let race = finding.verdict.race.map_or(UNNAMED, RaceId::name);
        *self.findings.entry((race, finding.verdict.certainty.name())).or_default() += 1;
    }

    /// These are the locks at this moment.
    pub(super) fn see(&mut self, locks: &[LiveLock], at: UnixTime) {
        let count = |is: &dyn Fn(&LiveLock) -> bool| locks.iter().filter(|lock| is(lock)).count() as u64;
        self.held = count(&|lock| !lock.holders.is_empty());
        self.held_by_several = count(&|lock| lock.holders.len() > 1);
        self.waiters = locks.iter().map(|lock| lock.waiters.len() as u64).sum();
        let longest = |since: &mut dyn Iterator<Item = UnixTime>| since.map(|since| at.saturating_since(since)).max();
        let mut waits = locks.iter().flat_map(|lock| &lock.waiters).map(|(_, since)| *since);
        self.longest_wait = longest(&mut waits).unwrap_or_default();
        let mut holds = locks.iter().flat_map(|lock| &lock.holders).map(|holder| holder.since);
        self.longest_hold = longest(&mut holds).unwrap_or_default();
    }

    /// All of it as OpenMetrics text.
    fn text(&self) -> String {
        let mut registry = Registry::with_prefix("lockshift_watch");
        let counters = [
            ("commands", "Commands of the server that were read", self.commands),
            ("acquired", "Acquisitions", self.acquired),
            ("released", "Releases by holders", self.released),
            ("ended", "Holds that ended without a release", self.ended),
        ];
        for (name, help, value) in counters {
            registry.register(name, help, ConstCounter::new(value));
        }
        let gauges = [
            ("held_locks", "Locks that a client holds", self.held as f64),
            ("locks_held_by_several", "Locks that several clients hold at once", self.held_by_several as f64),
            ("waiters", "Clients that wait for a lock", self.waiters as f64),
            ("longest_wait_seconds", "For how long the first of them waits", self.longest_wait.as_secs_f64()),
            ("longest_hold_seconds", "For how long the first holder holds", self.longest_hold.as_secs_f64()),
            ("monitor_cost_ratio", "What MONITOR costs the server, at most, in processors", self.cost.unwrap_or(0.0)),
        ];
        for (name, help, value) in gauges {
            registry.register(name, help, ConstGauge::new(value));
        }
        let findings = Family::<Vec<(&'static str, &'static str)>, Counter>::default();
        // A counter that begins with its first event has no increase then.
        for race in RaceId::ALL.iter().map(|race| race.name()).chain([UNNAMED]) {
            for certainty in [Certainty::Possible, Certainty::Likely, Certainty::Certain] {
                drop(findings.get_or_create(&vec![("race", race), ("certainty", certainty.name())]));
            }
        }
        for ((race, certainty), count) in &self.findings {
            findings.get_or_create(&vec![("race", *race), ("certainty", *certainty)]).inc_by(*count);
        }
        registry.register("findings", "Races that happened", findings);
        let mut text = String::new();
        match encode(&mut text, &registry) {
            Ok(()) => text,
            Err(fmt::Error) => unreachable!("a string can always be written to"),
        }
    }
}

/// Answers GET /metrics, from a thread of its own, as long as the process lives.
pub(super) struct MetricsServer {
    text: Arc<Mutex<String>>,
}

impl MetricsServer {
    /// # Errors
    /// The address cannot be listened on.
    pub(super) fn at(address: &str) -> Result<Self, Failure> {
        let unusable = |error: &dyn fmt::Display| {
            Failure::new(Exit::Unusable, format_args!("cannot listen on {address}: {error}"))
        };
        let server = Server::http(address).map_err(|error| unusable(&error))?;
        let text = Arc::new(Mutex::new(WatchCounts::default().text()));
        let answered = Arc::clone(&text);
        let answer = move || server.incoming_requests().for_each(|request| answer(request, &answered));
        Builder::new().name("lockshift-metrics".into()).spawn(answer).map_err(|error| unusable(&error))?;
        Ok(Self { text })
    }

    /// Answers with these from now on.
    pub(super) fn publish(&self, counts: &WatchCounts) {
        *self.text.lock().unwrap_or_else(PoisonError::into_inner) = counts.text();
    }
}

fn answer(request: Request, text: &Mutex<String>) {
    const OPEN_METRICS: &str = "Content-Type: application/openmetrics-text; version=1.0.0; charset=utf-8";
    let kind: Header = OPEN_METRICS.parse().expect("it is a header");
    let response = match (request.method(), request.url()) {
        (Method::Get, "/metrics") => {
            let text = text.lock().unwrap_or_else(PoisonError::into_inner).clone();
            Response::from_string(text).with_header(kind)
        }
        (Method::Get, _) => Response::from_string("there is /metrics\n").with_status_code(404),
        _ => Response::from_string("only GET is answered\n").with_status_code(405),
    };
    // A reader that is gone needs no answer.
    let _ = request.respond(response);
}
