//! What is in a key.

use std::time::Duration;

use anstyle::{AnsiColor, Style};
use comfy_table::{Attribute, Cell, Color};
use serde::Serialize;

use super::{Report, moment, table};
use crate::inspect::{Finding, Reaction, TokenForm};
use crate::lock::Mode;
use crate::protocols::Holder;
use crate::wire::{Printable, Ttl, UnixTime};

/// What is in a key: the fields are those of its JSON.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Inspection {
    key: String,
    exists: bool,
    #[serde(rename = "type")]
    kind: String,
    /// The value of a string, with its control characters escaped; `null` for another type, without a key, or if it is
    /// too long for a lock.
    value: Option<String>,
    dialects: Vec<String>,
    holders: Vec<HashHolder>,
    /// The protocols whose clients would wait, would acquire, would fail, and would wait until the key is gone.
    held_for: Vec<String>,
    takers: Vec<String>,
    errors: Vec<String>,
    not_read_by: Vec<String>,
    expires_at: Option<String>,
    expired: Option<bool>,
    pttl_ms: i64,
    hazards: Vec<String>,
    /// The form of a token by which alone it is taken for a lock.
    token: Option<Token>,
    /// What each hazard is called, in the same order: `no-ttl`.
    hazard_ids: Vec<&'static str>,
    /// Absent for each key of a scan.
    #[serde(skip_serializing_if = "Option::is_none")]
    server_hazards: Option<Vec<String>>,
    #[serde(skip)]
    finding: Finding,
    #[serde(skip)]
    names_all: bool,
}

/// The form of a token of other programs.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Token {
    alphabet: &'static str,
    length: usize,
    programs: &'static [&'static str],
}

impl Token {
    fn of(form: &TokenForm) -> Self {
        Self { alphabet: form.alphabet.name(), length: form.length, programs: form.programs }
    }

    fn text(&self) -> String {
        let Self { alphabet, length, programs } = self;
        format!("likely: {length} characters of {alphabet}, as {} write them, and a TTL", programs.join(", "))
    }
}

/// One holder of a lock that is a hash.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct HashHolder {
    owner: String,
    shared: bool,
    entries: u64,
}

impl HashHolder {
    fn by(holder: &Holder) -> Self {
        Self { owner: holder.owner.clone(), shared: holder.mode == Mode::Shared, entries: holder.entries }
    }

    fn text(&self) -> String {
        let times = if self.entries == 1 { String::new() } else { format!(", {} times", self.entries) };
        format!("{}{}{times}", self.owner, if self.shared { ", shared" } else { "" })
    }
}

impl Inspection {
    /// What this finding says; in the text with every protocol's name, or with the first few of each kind.
    pub fn of(finding: Finding, names_all: bool) -> Self {
        let names = |reaction: Reaction| {
            let readers = finding.readers.iter().filter(|reader| reader.now == reaction && finding.is_lock());
            readers.map(|reader| reader.member.name().to_owned()).collect::<Vec<_>>()
        };
        let is_string = finding.sight.kind == "string";
        let value = finding.sight.value.as_ref().filter(|_| is_string);
        Self {
            value: value.map(|value| Printable(value).to_string()),
            held_for: names(Reaction::Wait),
            takers: names(Reaction::Take),
            errors: names(Reaction::Fail),
            not_read_by: names(Reaction::WaitForTheKeyToGo),
            hazard_ids: finding.hazards.iter().map(|hazard| hazard.name()).collect(),
            key: finding.sight.key.to_string(),
            exists: finding.sight.exists(),
            kind: finding.sight.kind.clone(),
            dialects: finding.writers.iter().map(|writer| writer.name().to_owned()).collect(),
            holders: finding.holders.iter().map(HashHolder::by).collect(),
            expires_at: finding.expires_at.map(moment::iso8601),
            expired: finding.is_expired,
            pttl_ms: finding.sight.ttl.0,
            hazards: finding.hazards.iter().map(ToString::to_string).collect(),
            token: finding.token.map(Token::of),
            server_hazards: None,
            finding,
            names_all,
        }
    }

    /// The same, with what endangers every lock of the server.
    #[must_use]
    pub fn on_server(self, hazards: Vec<String>) -> Self {
        Self { server_hazards: Some(hazards), ..self }
    }

    fn value(&self) -> String {
        match &self.finding.sight.value {
            Some(value) => format!("\"{}\"", Printable(value)),
            None => "too long for a lock".to_owned(),
        }
    }

    fn ends(&self, ends_at: UnixTime) -> String {
        let at = self.finding.sight.at;
        let distance = match ends_at.saturating_since(at) {
            Duration::ZERO => format!("{} ago", moment::length(at.saturating_since(ends_at))),
            left => format!("in {}", moment::length(left)),
        };
        format!("{} ({distance})", moment::local(ends_at))
    }

    fn ttl(&self) -> String {
        match self.finding.sight.ttl {
            Ttl::NO_EXPIRY => "none".to_owned(),
            ttl => ttl.left_of_millis().map_or_else(|| "gone".to_owned(), moment::length),
        }
    }

    fn written_by(&self) -> String {
        if self.dialects.is_empty() { "no known lock".to_owned() } else { self.list(&self.dialects) }
    }

    /// Who holds it, if it is a hash that says so.
    fn held_by(&self) -> Option<String> {
        let holders: Vec<_> = self.holders.iter().map(HashHolder::text).collect();
        (!holders.is_empty()).then(|| holders.join("; "))
    }

    /// The names of the protocols that would do this now.
    fn names(&self, reaction: Reaction) -> Option<String> {
        let readers = self.finding.readers.iter().filter(|reader| reader.now == reaction);
        let names: Vec<_> = readers.map(|reader| reader.member.name().to_owned()).collect();
        (!names.is_empty() && self.finding.is_lock()).then(|| self.list(&names))
    }

    fn list(&self, names: &[String]) -> String {
        const SHOWN: usize = 6;
        match names.len() {
            few if few <= SHOWN || self.names_all => names.join(", "),
            all => format!("{} and {} more", names[..SHOWN - 1].join(", "), all - (SHOWN - 1)),
        }
    }

    fn rows(&self) -> Vec<(&'static str, String)> {
        let is_string = self.kind == "string";
        let ends = if self.expired == Some(true) { "ended" } else { "ends" };
        let rows = [
            ("type", Some(self.kind.clone())),
            ("value", is_string.then(|| self.value())),
            (ends, self.finding.expires_at.map(|moment| self.ends(moment))),
            ("TTL", Some(self.ttl())),
            ("written by", (is_string || self.finding.is_lock()).then(|| self.written_by())),
            ("token", self.token.as_ref().map(Token::text)),
            ("held by", self.held_by()),
            ("held for", self.names(Reaction::Wait)),
            ("taken by", self.names(Reaction::Take)),
            ("an error to", self.names(Reaction::Fail)),
            ("not read by", self.names(Reaction::WaitForTheKeyToGo)),
        ];
        rows.into_iter().filter_map(|(label, text)| Some((label, text?))).collect()
    }
}

impl Report for Inspection {
    fn text(&self, width: Option<u16>) -> String {
        let bold = Style::new().bold();
        let red = Style::new().fg_color(Some(AnsiColor::Red.into()));
        let title = &self.key;
        if !self.exists {
            return format!("{bold}{title}{bold:#}  {red}no such key{red:#}\n");
        }
        let mut rows = table::bare(width);
        for (label, text) in self.rows() {
            rows.add_row([Cell::new(format!("  {label}")).add_attribute(Attribute::Dim), Cell::new(text)]);
        }
        for hazard in &self.hazards {
            rows.add_row([Cell::new("  hazard").fg(Color::Yellow), Cell::new(hazard)]);
        }
        for hazard in self.server_hazards.iter().flatten() {
            rows.add_row([Cell::new("  server").fg(Color::Yellow), Cell::new(hazard)]);
        }
        format!("{bold}{title}{bold:#}\n{}", table::text(rows))
    }
}
