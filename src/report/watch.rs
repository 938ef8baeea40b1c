//! Locks as they are now, and what happens to them.

use std::time::Duration;

use comfy_table::{Attribute, Cell, Color};
use serde::Serialize;

use super::audit::{described, shown_ms};
use super::moment::iso8601;
use super::table;
use crate::audit::{Finding, HoldChange, HoldEvent, LiveLock};
use crate::race_id::RaceId;
use crate::wire::UnixTime;

/// Something that happened: a line of text, or of JSON.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "event", rename_all = "snake_case")]
#[expect(missing_docs, reason = "a field that needs no comment has the name of its meaning")]
#[non_exhaustive]
pub enum WatchEvent {
    /// A client has acquired a lock.
    Acquired {
        /// By the server's clock, as in ISO 8601.
        at: String,
        key: String,
        database: u32,
        client: String,
        /// From the first try.
        waited_ms: f64,
    },
    /// A client has released a lock.
    Released { at: String, key: String, database: u32, client: String, held_ms: f64 },
    /// A hold ended without a release: its client or another one acquired after the lease had ended, or the lock was lost.
    Ended { at: String, key: String, database: u32, client: String, held_ms: f64 },
    /// A race happened. It comes again if later commands show that it is another one.
    Finding {
        at: String,
        key: String,
        database: u32,
        /// `null` if no documented race explains it.
        race: Option<&'static str>,
        certainty: &'static str,
        clients: Vec<String>,
        /// A sentence for people.
        says: String,
    },
    /// What MONITOR costs the server.
    Cost {
        /// The share of one processor of the server, from 0 on; an upper bound.
        share: f64,
        /// Bytes that wait in the server for this command to read them; `null` if the server does not say.
        waiting_bytes: Option<u64>,
    },
}

impl From<HoldEvent> for WatchEvent {
    fn from(event: HoldEvent) -> Self {
        let HoldEvent { key, database, client, at, what } = event;
        let (at, key, client) = (iso8601(at), key.to_string(), client.to_string());
        match what {
            HoldChange::Acquired { waited } => Self::Acquired { at, key, database, client, waited_ms: millis(waited) },
            HoldChange::Released { held } => Self::Released { at, key, database, client, held_ms: millis(held) },
            HoldChange::Ended { held } => Self::Ended { at, key, database, client, held_ms: millis(held) },
        }
    }
}

impl From<&Finding> for WatchEvent {
    fn from(finding: &Finding) -> Self {
        let verdict = &finding.verdict;
        Self::Finding {
            at: iso8601(verdict.at),
            key: finding.key.to_string(),
            database: finding.database,
            race: verdict.race.map(RaceId::name),
            certainty: verdict.certainty.name(),
            clients: verdict.clients.iter().map(ToString::to_string).collect(),
            says: described(verdict),
        }
    }
}

impl WatchEvent {
    /// One line for people, without a line feed.
    pub fn text(&self) -> String {
        self.painted(&self.sentence())
    }

    /// As much of that line as fits into so many columns.
    fn clipped(&self, columns: u16) -> String {
        self.painted(&self.sentence().chars().take(usize::from(columns)).collect::<String>())
    }

    fn painted(&self, sentence: &str) -> String {
        match self {
            Self::Finding { .. } => format!("\x1b[1;31m{sentence}\x1b[0m"),
            Self::Acquired { .. } | Self::Released { .. } | Self::Ended { .. } | Self::Cost { .. } => {
                sentence.to_owned()
            }
        }
    }

    fn sentence(&self) -> String {
        match self {
            Self::Acquired { at, key, client, waited_ms, .. } => {
                format!("{at}  {key}  {client} acquired after {}", shown_ms(Some(*waited_ms)))
            }
            Self::Released { at, key, client, held_ms, .. } => {
                format!("{at}  {key}  {client} released after {}", shown_ms(Some(*held_ms)))
            }
            Self::Ended { at, key, client, held_ms, .. } => {
                format!("{at}  {key}  {client} did not release in {}", shown_ms(Some(*held_ms)))
            }
            Self::Finding { at, key, race, certainty, says, .. } => {
                let race = race.unwrap_or("two clients hold at once");
                format!("{at}  {key}  {race}, {certainty}: {says}")
            }
            Self::Cost { share, .. } => {
                format!("MONITOR costs the server at most {:.1} % of a processor", share * 100.0)
            }
        }
    }
}

/// What a terminal shows: the locks that clients hold or wait for, and what happened last.
#[derive(Clone, Debug, Default)]
pub struct LiveView {
    /// The locks now.
    pub locks: Vec<LiveLock>,
    /// The moment of the server's clock that this is about.
    pub at: Option<UnixTime>,
    /// Findings and the last events, oldest first.
    pub events: Vec<WatchEvent>,
    /// Number of findings so far.
    pub findings: u64,
    /// Number of commands so far.
    pub commands: u64,
    /// What MONITOR costs, if that is measured.
    pub cost: Option<f64>,
}

impl LiveView {
    /// A page of at most so many lines and columns.
    pub fn text(&self, lines: usize, width: u16) -> String {
        const HEAD: usize = 4;
        let room = lines.saturating_sub(HEAD);
        let shown = self.locks.len().min(room / 2);
        let mut rows = table::table(&["LOCK", "HELD BY", "FOR", "LEASE ENDS", "WAITING", "LONGEST"], Some(width));
        table::flush_right(&mut rows, [2, 3, 4, 5]);
        let at = self.at.unwrap_or(UnixTime::from_nanos(0));
        for lock in &self.locks[..shown] {
            let first = lock.holders.first();
            let clients: Vec<_> = lock.holders.iter().map(|holder| holder.client.to_string()).collect();
            let since = |since: UnixTime| shown_ms(Some(millis(at.saturating_since(since))));
            let ends = match first.map(|holder| holder.ends_at) {
                None => String::new(),
                Some(None) => "never".to_owned(),
                Some(Some(ends_at)) => format!("in {}", shown_ms(Some(millis(ends_at.saturating_since(at))))),
            };
            let holders = Cell::new(clients.join(", "));
            let holders = if clients.len() > 1 { holders.fg(Color::Red) } else { holders };
            let longest = lock.waiters.iter().map(|(_, since)| *since).min();
            rows.add_row([
                Cell::new(&lock.key).add_attribute(Attribute::Bold),
                holders,
                Cell::new(first.map(|holder| since(holder.since)).unwrap_or_default()),
                Cell::new(ends),
                Cell::new(lock.waiters.len()),
                Cell::new(longest.map(since).unwrap_or_default()),
            ]);
        }
        let mut text = table::text(rows);
        if shown < self.locks.len() {
            text += &format!("and {} more locks\n", self.locks.len() - shown);
        }
        let used = text.lines().count();
        let events = self.events.len().saturating_sub(lines.saturating_sub(used + 2));
        text.push('\n');
        self.events[events..].iter().for_each(|event| text += &format!("{}\n", event.clipped(width)));
        let cost = self.cost.map_or_else(String::new, |cost| format!(", MONITOR costs at most {:.1} %", cost * 100.0));
        text + &format!("{} commands, {} findings{cost}; Ctrl-C ends", self.commands, self.findings)
    }
}

fn millis(length: Duration) -> f64 {
    (length.as_secs_f64() * 1e6).round() / 1e3
}
