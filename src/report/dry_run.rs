//! What a trace shows, beside what would have happened under another lock.

use std::fmt::Write;
use std::time::Duration;

use comfy_table::{Attribute, Cell};
use serde::Serialize;

use super::audit::shown_ms;
use super::comparison::alarm;
use super::{Report, table};
use crate::audit::Audit;
use crate::dry_run::{Cut, Demand, DemandOutcome, LeaseAdvice, Terms};

/// What a trace shows, beside what would have happened under another lock: the fields are those of its JSON.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DryRun {
    to: String,
    lease_ms: f64,
    seconds: f64,
    locks: Vec<LockComparison>,
    /// How many locks were not played because they are read/write locks or semaphores, which several clients may hold.
    shared: usize,
    /// How many locks were not played because an audit does not keep so many keys apart.
    others: u64,
    #[serde(skip)]
    lease: String,
    #[serde(skip)]
    all: bool,
}

/// One lock.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct LockComparison {
    key: String,
    database: u32,
    before: LockNumbers,
    after: LockNumbers,
    advice: Option<Advised>,
    /// `known`, or `guessed`: then there is no advice.
    identity: &'static str,
    held_at_end: u64,
    never_given_back: u64,
    unserved: u64,
}

/// What became of the demand, in the trace or in the play.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct LockNumbers {
    acquisitions: u64,
    refusals: u64,
    gave_up: u64,
    double_holds: u64,
    overruns: u64,
    wait_p50_ms: Option<f64>,
    wait_p99_ms: Option<f64>,
}

/// A lease, and what it is drawn from.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Advised {
    lease_ms: f64,
    longest_ms: f64,
    measured: usize,
    certain: usize,
    censored: usize,
    /// The share of all holds that are not longer than the longest one, with a confidence of 95 %.
    covered: f64,
    /// The interval of the 99th percentile, with a confidence of 95 %; `null` is an end that is not known.
    p99_ms: [Option<f64>; 2],
}

/// So many locks are shown unless all are asked for.
const SHOWN: usize = 20;

impl DryRun {
    /// The report of a play under these terms, without any lock yet.
    pub fn new(terms: &Terms, audit: &Audit, all: bool) -> Self {
        let lease = terms.lease().length();
        Self {
            to: terms.choice().to_string(),
            lease_ms: millis(lease),
            seconds: (audit.length.as_secs_f64() * 1000.0).round() / 1000.0,
            locks: Vec::new(),
            shared: audit.locks.iter().filter(|lock| lock.is_shared).count(),
            others: audit.others.keys,
            lease: humantime::format_duration(lease).to_string(),
            all,
        }
    }

    /// Adds what came of the demand for one lock.
    pub fn add(&mut self, demand: &Demand, played: &DemandOutcome) {
        let Cut { held_at_end, never_given_back, unserved } = demand.cut;
        self.locks.push(LockComparison {
            key: demand.key.to_string(),
            database: demand.database,
            before: LockNumbers::of(&demand.seen),
            after: LockNumbers::of(played),
            advice: demand.advice.map(Advised::of),
            identity: if demand.is_guessed { "guessed" } else { "known" },
            held_at_end,
            never_given_back,
            unserved,
        });
    }

    /// Why the play says too little to be called clean: locks were left out of it. `None` if it does not, or if only some
    /// read/write locks and semaphores are missing, which no other lock can stand for.
    pub fn says_too_little(&self) -> Option<String> {
        let others = (self.others > 0).then(|| self.others_left_out());
        others.or_else(|| (self.locks.is_empty() && self.shared > 0).then(|| self.shared_left_out()))
    }

    fn shared_left_out(&self) -> String {
        let locks = if self.shared == 1 { "read/write lock or semaphore" } else { "read/write locks or semaphores" };
        format!("not played: {} {locks}, which several clients may hold at once", self.shared)
    }

    fn others_left_out(&self) -> String {
        let keys = if self.others == 1 { "other key" } else { "other keys" };
        format!(
            "not played: {} {keys}, because an audit does not keep so many apart; cut the trace into shorter ones",
            self.others
        )
    }

    fn shown(&self) -> &[LockComparison] {
        let shown = if self.all { self.locks.len() } else { self.locks.len().min(SHOWN) };
        &self.locks[..shown]
    }

    fn table(&self, width: Option<u16>) -> String {
        let head =
            ["LOCK", "PLAYED", "ACQUIRED", "REFUSED", "GAVE UP", "DOUBLE HOLDS", "OVERRUN", "WAIT P50", "WAIT P99"];
        let mut table = table::table(&head, width);
        table::flush_right(&mut table, 2..head.len());
        for lock in self.shown() {
            let key = Cell::new(&lock.key).add_attribute(Attribute::Bold);
            table.add_row([vec![key, Cell::new("as traced")], lock.before.cells()].concat());
            let played = format!("{}, {}", self.to, self.lease);
            table.add_row([vec![Cell::new(""), Cell::new(played)], lock.after.cells()].concat());
        }
        table::text(table)
    }
}

impl LockNumbers {
    fn of(outcome: &DemandOutcome) -> Self {
        Self {
            acquisitions: outcome.acquisitions,
            refusals: outcome.refusals,
            gave_up: outcome.gave_up,
            double_holds: outcome.double_holds,
            overruns: outcome.overruns,
            wait_p50_ms: outcome.wait(50).map(millis),
            wait_p99_ms: outcome.wait(99).map(millis),
        }
    }

    fn cells(&self) -> Vec<Cell> {
        vec![
            Cell::new(self.acquisitions),
            Cell::new(self.refusals),
            Cell::new(self.gave_up),
            alarm(self.double_holds),
            alarm(self.overruns),
            Cell::new(shown_ms(self.wait_p50_ms)),
            Cell::new(shown_ms(self.wait_p99_ms)),
        ]
    }
}

impl Advised {
    fn of(advice: LeaseAdvice) -> Self {
        let LeaseAdvice { lease, longest, measured, certain, censored, covered, p99: (low, high) } = advice;
        let covered = (covered * 1e4).round() / 1e4;
        let p99_ms = [Some(millis(low)), high.map(millis)];
        Self { lease_ms: millis(lease), longest_ms: millis(longest), measured, certain, censored, covered, p99_ms }
    }

    fn says(&self) -> String {
        let Self { lease_ms, longest_ms, measured, certain, censored, covered, p99_ms: [low, high] } = self;
        let lease = humantime::format_duration(Duration::from_secs_f64(lease_ms / 1e3));
        let longest = shown_ms(Some(*longest_ms));
        let measured_as = match measured {
            1 => format!("twice the only hold, {longest}; {}.", if *certain == 1 { "certain" } else { "not certain" }),
            _ => format!("twice the longest of {measured} holds, {longest}; {certain} of them certain."),
        };
        let censored = match censored {
            0 => String::new(),
            count => format!("\n  {count} of them had not ended when the trace did, so the longest may be longer."),
        };
        let between = match high {
            Some(high) => format!("between {} and {}", shown_ms(*low), shown_ms(Some(*high))),
            None => format!("at least {}; more holds are needed for an upper end", shown_ms(*low)),
        };
        format!(
            "asks for a lease of {lease}: {measured_as}{censored}\n  With 95 % confidence, if all work is alike, {:.1} % of \
             all holds are not longer, and the 99th percentile is {between}.",
            covered * 100.0
        )
    }
}

impl LockComparison {
    fn why_no_advice(&self) -> &'static str {
        match self.identity {
            "guessed" => "its clients share or pool connections and could only be guessed (see --clients-by)",
            _ => "no work was seen to its end",
        }
    }

    /// The lease that its work asks for, and what is missing.
    fn says(&self) -> String {
        let advice = self
            .advice
            .as_ref()
            .map_or_else(|| format!("says nothing of a lease: {}", self.why_no_advice()), Advised::says);
        let mut text = format!("{} {advice}\n", self.key);
        let missing = [
            (self.held_at_end, "held when the trace ended: played as released then"),
            (self.never_given_back, "never released, nor in the play"),
            (self.unserved, "tried to acquire and, as far as the trace shows, never did: not played"),
        ];
        for (count, words) in missing.into_iter().filter(|(count, _)| *count > 0) {
            let _ = writeln!(text, "  {count} {words}.");
        }
        text
    }
}

impl Report for DryRun {
    fn text(&self, width: Option<u16>) -> String {
        let left_out =
            [(self.shared > 0).then(|| self.shared_left_out()), (self.others > 0).then(|| self.others_left_out())];
        let left_out: String = left_out.into_iter().flatten().map(|sentence| sentence + "\n").collect();
        if self.locks.is_empty() {
            return if left_out.is_empty() { "no lock was acquired\n".to_owned() } else { left_out };
        }
        let mut text = self.table(width);
        let more = self.locks.len() - self.shown().len();
        if more > 0 {
            let _ = writeln!(text, "and {more} more");
        }
        for lock in self.shown() {
            text += "\n";
            text += &lock.says();
        }
        if !left_out.is_empty() {
            text += "\n";
            text += &left_out;
        }
        text
    }
}

/// No measurement here is finer than a microsecond.
fn millis(length: Duration) -> f64 {
    (length.as_secs_f64() * 1e6).round() / 1e3
}
