//! The audit of a trace: the races first.

mod describe;
mod dialects;
mod json;

use std::fmt::Write;
use std::net::SocketAddr;
use std::time::Duration;

use comfy_table::{Attribute, Cell};
use serde::Serialize;

pub(super) use self::describe::describe as described;
use self::dialects::alternatives;
use self::json::{FindingJson, LockJson, Others, TraceNote};
use super::exploration::grouped;
use super::{Report, table};
use crate::audit::Audit;

/// The audit of a trace.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AuditReport {
    lines: u64,
    commands: u64,
    keys: usize,
    seconds: f64,
    races: u64,
    locks: Vec<LockJson>,
    others: Others,
    findings: Vec<FindingJson>,
    notes: Vec<TraceNote>,
    #[serde(skip)]
    took: Duration,
    #[serde(skip)]
    all: bool,
}

/// Maximum number of locks that are shown, unless all are asked for.
const SHOWN: usize = 20;

impl AuditReport {
    /// The report of the audit of each server, which took so long.
    pub fn of(audits: Vec<(Option<SocketAddr>, Audit)>, took: Duration, all: bool) -> Self {
        let mut report = Self { took, all, ..Self::default() };
        for (server, audit) in audits {
            let server = server.map(|server| server.to_string());
            report.add(server.as_deref(), audit);
        }
        report.locks.sort_by_key(|lock| std::cmp::Reverse(lock.acquisitions));
        report.findings.sort_by_key(|finding| finding.lines.last().copied());
        report
    }

    fn add(&mut self, server: Option<&str>, audit: Audit) {
        self.lines = self.lines.max(audit.lines);
        self.commands += audit.commands;
        self.keys += audit.locks.len() + usize::try_from(audit.others.keys).unwrap_or(0);
        self.seconds = self.seconds.max((audit.length.as_secs_f64() * 1000.0).round() / 1000.0);
        self.races += audit.findings.iter().map(|finding| 1 + finding.more).sum::<u64>();
        self.locks.extend(audit.locks.iter().map(|lock| LockJson::of(server, lock)));
        self.others.add(&audit.others);
        self.findings.extend(audit.findings.into_iter().map(|finding| FindingJson::of(server, finding)));
        self.notes.extend(audit.stepped_back.iter().map(TraceNote::of));
    }

    fn findings(&self) -> String {
        let mut text = String::new();
        for found in &self.findings {
            let lines: Vec<String> = found.lines.iter().map(u64::to_string).collect();
            let race = found.race.unwrap_or(found.title);
            let FindingJson { at, certainty, says, more, .. } = found;
            let key = place(&found.key, found.database, found.server.as_deref());
            if *more > 0 {
                let _ = writeln!(text, "… and {} more {race}", commas(*more));
            }
            let noun = if lines.len() == 1 { "line" } else { "lines" };
            let _ = writeln!(text, "\x1b[1;31m{race}\x1b[0m  {key}  {at}  {certainty}, {noun} {}", lines.join(", "));
            let _ = writeln!(text, "  {says}");
        }
        if !text.is_empty() {
            text += "\n";
        }
        text
    }

    fn locks(&self, width: Option<u16>) -> String {
        let head = ["LOCK", "ACQUIRED", "REFUSED", "OVERRUN", "HELD P50", "P99", "WAIT P50", "P99", "SPOKEN"];
        let mut table = table::table(&head, width);
        table::flush_right(&mut table, 1..8);
        let shown = if self.all { self.locks.len() } else { SHOWN };
        for lock in self.locks.iter().take(shown) {
            table.add_row([
                Cell::new(place(&lock.key, lock.database, lock.server.as_deref())).add_attribute(Attribute::Bold),
                Cell::new(lock.acquisitions),
                Cell::new(lock.refusals),
                Cell::new(lock.overruns),
                Cell::new(shown_ms(lock.held_p50_ms)),
                Cell::new(shown_ms(lock.held_p99_ms)),
                Cell::new(shown_ms(lock.waited_p50_ms)),
                Cell::new(shown_ms(lock.waited_p99_ms)),
                Cell::new(alternatives(&lock.dialects, self.all)),
            ]);
        }
        let speakers = if self.all { self.speakers(width) } else { String::new() };
        table::text(table) + &self.not_shown(shown) + &speakers
    }

    /// What makes findings less sure: shared connections, pools, commands that were not understood.
    fn doubts(&self) -> String {
        let mut text = String::new();
        let mut count = |of: fn(&LockJson) -> u64, doubt: &str| {
            let locks = self.locks.iter().filter(|lock| of(lock) > 0);
            let (keys, times) = locks.fold((0, 0), |(keys, times), lock| (keys + 1, times + of(lock)));
            if keys > 0 {
                let (times, keys) = (counted(times, "time"), counted(keys, "key"));
                let _ = writeln!(text, "{doubt}: {times} on {keys}");
            }
        };
        count(|lock| lock.multiplexed, "clients share a connection, so findings on these keys are at most possible");
        count(|lock| lock.pooled, "clients use several connections, so findings on these keys are at most possible");
        count(
            |lock| lock.lapsed,
            "leases ended without a release, by clients that crashed or worked for longer, and a trace cannot tell which",
        );
        count(|lock| lock.unrecognised, "no known protocol sends a command that tries to acquire");
        count(
            |lock| lock.unfollowed,
            "commands whose effect is not followed may have changed these keys, so findings on them are at most possible",
        );
        text
    }

    /// The clients that acquired each lock, and the protocols that they may speak.
    fn speakers(&self, width: Option<u16>) -> String {
        let mut table = table::table(&["LOCK", "CLIENT", "ACQUIRED", "SPOKEN"], width);
        table::flush_right(&mut table, 2..3);
        for lock in &self.locks {
            for speaker in &lock.speakers {
                table.add_row([
                    Cell::new(place(&lock.key, lock.database, lock.server.as_deref())).add_attribute(Attribute::Bold),
                    Cell::new(&speaker.client),
                    Cell::new(speaker.acquisitions),
                    Cell::new(alternatives(&speaker.dialects, false)),
                ]);
            }
        }
        format!("\n{}", table::text(table))
    }

    /// The locks that the table does not show.
    fn not_shown(&self, shown: usize) -> String {
        let rest = self.locks.iter().skip(shown);
        let (keys, acquired) = rest.fold((0, 0), |(keys, acquired), lock| (keys + 1, acquired + lock.acquisitions));
        match (keys + self.others.keys, acquired + self.others.acquisitions) {
            (0, _) => String::new(),
            (1, acquired) => format!("and 1 other key, {} acquisitions\n", commas(acquired)),
            (keys, acquired) => format!("and {} other keys, {} acquisitions\n", commas(keys), commas(acquired)),
        }
    }
}

impl TraceNote {
    fn text(&self) -> String {
        let Self { line, times, .. } = self;
        let by = shown_ms(Some(self.by_ms));
        let times = if *times == 1 { String::new() } else { format!(", the first of {} times", commas(*times)) };
        format!("the clock goes back by {by} at line {line}{times}: durations across it are wrong by as much\n")
    }
}

impl Report for AuditReport {
    fn text(&self, width: Option<u16>) -> String {
        let races = match self.races {
            0 => "no race".to_owned(),
            1 => "1 race".to_owned(),
            count => format!("{} races", commas(count)),
        };
        let notes: String = self.notes.iter().map(TraceNote::text).chain([self.doubts()]).collect();
        let rate = self.lines as f64 / self.took.as_secs_f64().max(1e-9);
        let locks = if self.locks.is_empty() { "no lock was acquired\n".to_owned() } else { self.locks(width) };
        let lines = if self.lines == 1 { "1 line".to_owned() } else { format!("{} lines", self.lines) };
        format!(
            "{}{locks}\n{notes}{races} in {lines} over {:.1} s ({:.1} million lines a second)\n",
            self.findings(),
            self.seconds,
            rate / 1e6
        )
    }
}

/// A key, its database unless that is 0, and its server if that is known.
fn place(key: &str, database: u32, server: Option<&str>) -> String {
    let database = if database == 0 { String::new() } else { format!(" (database {database})") };
    let server = server.map(|server| format!(" at {server}")).unwrap_or_default();
    format!("{key}{database}{server}")
}

/// A number and its noun.
fn counted(number: u64, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{} {noun}s", commas(number)) }
}

/// A number with commas between its thousands.
fn commas(number: u64) -> String {
    grouped(usize::try_from(number).unwrap_or(usize::MAX))
}

/// A length of time, as short as can be read.
pub(super) fn shown_ms(millis: Option<f64>) -> String {
    match millis {
        None => "-".to_owned(),
        Some(millis) if millis < 10.0 => format!("{millis:.2} ms"),
        Some(millis) if millis < 10_000.0 => format!("{millis:.0} ms"),
        Some(millis) => format!("{:.1} s", millis / 1e3),
    }
}
