//! What to expect in a day under each protocol.

use std::fmt::Write;

use comfy_table::{Attribute, Cell, Color};
use serde::Serialize;

use super::audit::shown_ms;
use super::exploration::grouped;
use super::{Report, table};
use crate::audit::LockSummary;
use crate::odds::{DailyRate, NoEstimate, OddsEffort, OddsEstimate, PlayedProtocol, RoundTrips, TracedWorkload};

/// What to expect in a day under each protocol: the fields are those of its JSON.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Odds {
    /// Where the random numbers begin: the same trace and seed give the same result, unless time runs out.
    seed: u64,
    locks: Vec<LockOdds>,
}

/// One lock.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LockOdds {
    key: String,
    database: u32,
    /// Why nothing is estimated: `identity-unsure`, `too-few-holds`, `shared`, `unknown-protocol`, `several-protocols` or
    /// `no-length`.
    no_estimate: Option<&'static str>,
    workload: Option<WorkloadJson>,
    /// First the protocol of the trace.
    protocols: Vec<ProtocolOdds>,
    #[serde(skip)]
    why: String,
}

/// What the clients of a lock do.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct WorkloadJson {
    /// How long the trace is, and each play.
    seconds: f64,
    /// Number of holds that were seen to begin.
    holds: usize,
    /// How many of these ended without a release, by a client that did nothing more.
    deaths: usize,
    clients: usize,
    /// Number of clients whose clock differs from the others beyond doubt.
    wrong_clocks: usize,
    /// By how much at most.
    wrong_clock_ms: f64,
    lease_ms: f64,
    /// Whether the trace shows the lease; otherwise it is assumed.
    lease_measured: bool,
    round_trip_ms: f64,
    /// Whether the round trip was measured, because the trace has replies.
    round_trip_measured: bool,
    /// How many waits did not end in the trace: these are not played.
    unserved: u64,
}

/// One protocol.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ProtocolOdds {
    protocol: String,
    lease_ms: f64,
    /// Whether clients extend their lease while they work.
    renews: bool,
    /// How many times it was played.
    periods: usize,
    simulated_days: f64,
    acquisitions: RateJson,
    double_holds: RateJson,
    wrong_releases: RateJson,
    /// Waits longer than `starved_after_ms`; `null` if the trace is not longer than that, so that no play shows one.
    starved_waits: Option<RateJson>,
    starved_after_ms: f64,
    #[serde(skip)]
    is_cut: bool,
}

/// How often something happens in a day.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct RateJson {
    /// How often it was seen in all plays.
    seen: u64,
    /// `null` if it was not seen.
    per_day: Option<f64>,
    /// The ends of an interval of 95 % confidence; if it was not seen, the upper one is a Poisson bound.
    low: f64,
    high: f64,
}

impl Odds {
    /// No lock yet.
    pub fn new(seed: u64) -> Self {
        Self { seed, locks: Vec::new() }
    }

    /// Adds a lock.
    pub fn add(&mut self, lock: LockOdds) {
        self.locks.push(lock);
    }

    /// Whether there is an estimate for any lock.
    pub fn has_an_estimate(&self) -> bool {
        self.locks.iter().any(|lock| lock.no_estimate.is_none())
    }
}

impl LockOdds {
    /// This lock, and what is known of its clients; no protocol yet.
    pub fn of(lock: &LockSummary, workload: &Result<TracedWorkload, NoEstimate>) -> Self {
        let (no_estimate, why) = match workload {
            Ok(_) => (None, String::new()),
            Err(why) => {
                let (id, sentence) = explained(*why);
                (Some(id), sentence)
            }
        };
        let workload = workload.as_ref().ok().map(WorkloadJson::of);
        Self { key: lock.key.to_string(), database: lock.database, no_estimate, workload, protocols: Vec::new(), why }
    }

    /// Adds what the plays under a protocol have come to.
    pub fn add(&mut self, play: &PlayedProtocol, effort: OddsEffort, estimate: &OddsEstimate) {
        self.protocols.push(ProtocolOdds {
            protocol: play.choice.to_string(),
            lease_ms: play.lease.length().as_secs_f64() * 1e3,
            renews: play.renews,
            periods: estimate.counts.len(),
            simulated_days: significant(estimate.days()),
            acquisitions: RateJson::of(estimate.rate(|counts| counts.acquisitions)),
            double_holds: RateJson::of(estimate.rate(|counts| counts.double_holds)),
            wrong_releases: RateJson::of(estimate.rate(|counts| counts.wrong_releases)),
            starved_waits: (estimate.period > effort.starved_after)
                .then(|| RateJson::of(estimate.rate(|counts| counts.starved_waits))),
            starved_after_ms: effort.starved_after.as_secs_f64() * 1e3,
            is_cut: estimate.counts.len() < usize::try_from(effort.periods).unwrap_or(usize::MAX),
        });
    }

    fn text(&self, width: Option<u16>, seed: u64) -> String {
        let mut text = format!("\x1b[1m{}\x1b[0m\n", self.key);
        let (Some(workload), Some(first)) = (&self.workload, self.protocols.first()) else {
            return text + &format!("no estimate: {}\n", self.why);
        };
        text += &workload.says();
        let head = ["PROTOCOL", "LEASE", "DOUBLE HOLDS A DAY", "WRONG RELEASES A DAY", "STARVED WAITS A DAY"];
        let mut rows = table::table(&head, width);
        for (place, row) in self.protocols.iter().enumerate() {
            let lease = shown_ms(Some(row.lease_ms));
            let starved = row.starved_waits.as_ref().map_or_else(|| Cell::new("-"), RateJson::cell);
            let cells = [row.double_holds.cell(), row.wrong_releases.cell(), starved];
            let name = if place == 0 { format!("{}, as traced", row.protocol) } else { row.protocol.clone() };
            let lease = if row.renews { format!("{lease}, renewed") } else { lease };
            rows.add_row(
                [vec![Cell::new(name).add_attribute(Attribute::Bold), Cell::new(lease)], cells.to_vec()].concat(),
            );
        }
        let _ = write!(text, "\n{}\n", table::text(rows));
        let starved = shown_ms(Some(first.starved_after_ms));
        let days = shown(first.simulated_days);
        let is_too_short = first.starved_waits.is_none();
        let too_short = if is_too_short { ", and the trace is too short to show any: see --starved-after" } else { "" };
        let _ = writeln!(
            text,
            "{} plays of each, {days} days, seed {seed}. Intervals hold with a confidence of 95 %, if days are like the \
             trace.\nA wait is starved after {starved}{too_short}.",
            first.periods
        );
        for row in self.protocols.iter().filter(|row| row.is_cut) {
            let _ = writeln!(text, "{} was played {} times only: more time with --for.", row.protocol, row.periods);
        }
        text
    }
}

fn explained(why: NoEstimate) -> (&'static str, String) {
    match why {
        NoEstimate::IdentityUnsure => (
            "identity-unsure",
            "its clients share or pool connections and could only be guessed (see --clients-by)".to_owned(),
        ),
        NoEstimate::FewerHoldsThan(count) => {
            ("too-few-holds", format!("fewer than {count} holds were seen, which say too little"))
        }
        NoEstimate::Shared => ("shared", "it is there to be held by several clients at once".to_owned()),
        NoEstimate::UnknownProtocol => ("unknown-protocol", "no known protocol explains its clients".to_owned()),
        NoEstimate::SeveralProtocols => {
            ("several-protocols", "its clients speak several protocols, and a play has only one".to_owned())
        }
        NoEstimate::NoLength => ("no-length", "the trace begins and ends at the same moment of its clock".to_owned()),
    }
}

impl WorkloadJson {
    fn of(workload: &TracedWorkload) -> Self {
        let (wrong_clocks, most_ns) = workload.skewed;
        let (round_trip, round_trip_measured) = match &workload.round_trips {
            RoundTrips::Measured(all) => {
                let mut all = all.clone();
                all.sort_unstable();
                (all.get(all.len() / 2).copied().unwrap_or_default(), true)
            }
            RoundTrips::Assumed(length) => (*length, false),
        };
        Self {
            seconds: (workload.length.as_secs_f64() * 1e3).round() / 1e3,
            holds: workload.holds(),
            deaths: workload.deaths(),
            clients: workload.clients(),
            wrong_clocks,
            wrong_clock_ms: (most_ns as f64 / 1e6).round(),
            lease_ms: workload.lease.length().as_secs_f64() * 1e3,
            lease_measured: workload.lease_is_known,
            round_trip_ms: round_trip.as_secs_f64() * 1e3,
            round_trip_measured,
            unserved: workload.unserved,
        }
    }

    fn says(&self) -> String {
        let Self { seconds, holds, deaths, clients, wrong_clocks, wrong_clock_ms, unserved, .. } = self;
        let measured = if self.round_trip_measured { "measured" } else { "assumed" };
        let round_trip = shown_ms(Some(self.round_trip_ms));
        let mut text = format!(
            "{holds} holds of {clients} clients in {seconds:.0} s, {deaths} ended without a release; round trip {round_trip} \
             ({measured})"
        );
        if !self.lease_measured {
            let _ = write!(text, "; lease {} (assumed)", shown_ms(Some(self.lease_ms)));
        }
        if *wrong_clocks > 0 {
            let _ = write!(text, "; {wrong_clocks} clocks are wrong, by up to {}", shown_ms(Some(*wrong_clock_ms)));
        }
        if *unserved > 0 {
            let _ = write!(text, "; {unserved} waits did not end and are not played");
        }
        text + "\n"
    }
}

impl RateJson {
    fn of(rate: DailyRate) -> Self {
        let DailyRate { seen, per_day, interval: (low, high) } = rate;
        Self { seen, per_day: per_day.map(significant), low: significant(low), high: significant(high) }
    }

    fn cell(&self) -> Cell {
        match self.per_day {
            None => Cell::new(format!("fewer than {}", shown(self.high))),
            Some(rate) => {
                let text = format!("{} ({} to {})", shown(rate), shown(self.low), shown(self.high));
                Cell::new(text).fg(Color::Red)
            }
        }
    }
}

/// Three significant digits.
fn significant(number: f64) -> f64 {
    if number <= 0.0 || !number.is_finite() {
        return number;
    }
    let scale = 10_f64.powi(2 - number.log10().floor() as i32);
    let rounded = (number * scale).round() / scale;
    // Dividing leaves digits behind that are not meant.
    format!("{rounded:.6}").parse().unwrap_or(rounded)
}

fn shown(number: f64) -> String {
    let number = significant(number);
    if number >= 100.0 { grouped(number as usize) } else { format!("{number}") }
}

impl Report for Odds {
    fn text(&self, width: Option<u16>) -> String {
        if self.locks.is_empty() {
            return "no lock was acquired\n".to_owned();
        }
        self.locks.iter().map(|lock| lock.text(width, self.seed)).collect::<Vec<_>>().join("\n")
    }
}

#[test]
fn rates_have_three_digits() {
    for (number, text) in [(0.0, "0"), (0.012_345, "0.0123"), (1.0, "1"), (99.96, "100"), (1_234_567.0, "1,230,000")] {
        assert_eq!(shown(number), text);
    }
}
