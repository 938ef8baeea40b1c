//! The lock keys of a server.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anstyle::Style;
use comfy_table::{Cell, Color};
use serde::Serialize;

use super::{Report, moment, table};
use crate::inspect::{Finding, Severity};
use crate::scan::ScanSummary;
use crate::wire::Ttl;

/// The lock keys of a server: the fields are those of its JSON, behind the array `locks` of an [`Inspection`] each.
///
/// [`Inspection`]: super::Inspection
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ScanReport {
    keys: u64,
    /// In JSON, they are there themselves.
    #[serde(skip)]
    locks: u64,
    hazards: BTreeMap<&'static str, u64>,
    /// What endangers every lock, whatever is in its key.
    server_hazards: Vec<String>,
    /// Keys that were on their way to another node of a cluster.
    moving: u64,
    /// Keys that the user may not read.
    forbidden: u64,
    /// Other databases of the server that have keys: they are not scanned.
    other_databases: BTreeSet<u32>,
    /// Keys that may be locks, but have more in them than is fetched.
    too_large: u64,
    /// Whether all keys of the database were seen.
    complete: bool,
    seconds: f64,
    #[serde(skip)]
    shown: Vec<Finding>,
    #[serde(skip)]
    names_fleet: bool,
}

impl ScanReport {
    /// What was found in that time; with or without a known fleet, and to the end or not.
    pub fn of(summary: &ScanSummary, elapsed: Duration, names_fleet: bool, complete: bool) -> Self {
        Self {
            keys: summary.keys,
            locks: summary.locks,
            hazards: summary.hazards.clone(),
            server_hazards: Vec::new(),
            moving: summary.moving,
            forbidden: summary.forbidden,
            other_databases: BTreeSet::new(),
            too_large: summary.too_large,
            complete,
            seconds: (elapsed.as_secs_f64() * 1000.0).round() / 1000.0,
            shown: summary.findings().cloned().collect(),
            names_fleet,
        }
    }

    /// The same, with what endangers every lock of the server.
    #[must_use]
    pub fn on_server(self, server_hazards: Vec<String>) -> Self {
        Self { server_hazards, ..self }
    }

    /// The same, where these other databases have keys.
    #[must_use]
    pub fn beside(self, other_databases: BTreeSet<u32>) -> Self {
        Self { other_databases, ..self }
    }

    fn table(&self, width: Option<u16>) -> String {
        let mut rows = table::table(&["KEY", "WRITTEN BY", "ENDS", "TTL", "HAZARDS"], width);
        for finding in &self.shown {
            let hazards: Vec<_> = finding.hazards.iter().map(ToString::to_string).collect();
            rows.add_row([
                Cell::new(&finding.sight.key),
                Cell::new(writers(finding)),
                Cell::new(ends(finding)),
                Cell::new(ttl(finding.sight.ttl)),
                coloured(Cell::new(hazards.join("; ")), finding.severity()),
            ]);
        }
        table::text(rows)
    }

    fn summary(&self) -> String {
        let bold = Style::new().bold();
        let mut text = format!("{bold}{}, {}{bold:#}", counted(self.keys, "key"), counted(self.locks, "lock"));
        for (name, count) in &self.hazards {
            text += &format!(", {count} {name}");
        }
        text.push('\n');
        let hidden = self.locks - self.shown.len() as u64;
        if hidden > 0 {
            let are = if hidden == 1 { "is" } else { "are" };
            text += &format!("{} {are} not shown: see --limit and --match.\n", counted(hidden, "more lock"));
        }
        if self.moving > 0 {
            let moving = counted(self.moving, "key");
            text += &format!("{moving} could not be seen on the way to another node of the cluster: scan again.\n");
        }
        if self.forbidden > 0 {
            let (forbidden, them) = (counted(self.forbidden, "key"), if self.forbidden == 1 { "it" } else { "them" });
            text += &format!(
                "{forbidden} could not be seen because the user may not read {them}: see --match, and `lockshift protocols --acl \
                 --command scan`.\n"
            );
        }
        if !self.other_databases.is_empty() {
            let numbers: Vec<_> = self.other_databases.iter().map(ToString::to_string).collect();
            let (others, first) = (numbers.join(", "), &numbers[0]);
            text += &format!("Not scanned: keys in database {others}: put /{first} behind the address.\n");
        }
        if self.too_large > 0 {
            let may_be = if self.too_large == 1 { "may be a lock, but is" } else { "may be locks, but are" };
            text += &format!("{} {may_be} too large to be looked at.\n", counted(self.too_large, "key"));
        }
        if !self.complete {
            text += "Not all keys were seen.\n";
        }
        for hazard in &self.server_hazards {
            text += &format!("Server: {hazard}.\n");
        }
        if self.locks > 0 && !self.names_fleet {
            text += "Which clients would take what is held, or never get past it, depends on the fleet: see --fleet.\n";
        }
        text
    }
}

impl Report for ScanReport {
    fn text(&self, width: Option<u16>) -> String {
        let table = if self.shown.is_empty() { String::new() } else { self.table(width) + "\n" };
        table + &self.summary()
    }
}

fn counted(count: u64, thing: &str) -> String {
    format!("{count} {thing}{}", if count == 1 { "" } else { "s" })
}

fn writers(finding: &Finding) -> String {
    let names: Vec<_> = finding.writers.iter().map(|writer| writer.name()).collect();
    match names.as_slice() {
        [first, second] => format!("{first} or {second}"),
        [first, _, rest @ ..] => format!("{first} or {} others", rest.len() + 1),
        few => few.concat(),
    }
}

fn ends(finding: &Finding) -> String {
    let at = finding.sight.at;
    match finding.expires_at {
        None => String::new(),
        Some(end) if end > at => format!("in {}", moment::length(end.saturating_since(at))),
        Some(end) => format!("{} ago", moment::length(at.saturating_since(end))),
    }
}

fn ttl(ttl: Ttl) -> String {
    ttl.left_of_millis().map_or_else(|| "none".to_owned(), moment::length)
}

fn coloured(cell: Cell, severity: Option<Severity>) -> Cell {
    match severity {
        None => cell,
        Some(Severity::Notable | Severity::Delays) => cell.fg(Color::Yellow),
        Some(Severity::Blocks | Severity::Breaks) => cell.fg(Color::Red),
    }
}
