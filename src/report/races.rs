//! The documented races: what exploring them has come to.

mod behind_guard;
mod detail;
mod index;
mod page;

use anstyle::{AnsiColor, Style};
use comfy_table::{Attribute, Cell, Color};
use serde::Serialize;

use super::exploration::{TraceEvent, events, grouped};
use super::{Report, table, timeline};
use crate::races::{GuardVerdict, RaceResult};
use behind_guard::BehindGuardRow;

pub use detail::{RaceDetail, mermaid};
pub use index::races_index;
pub use page::race_page;

/// What exploring the races has come to: in JSON an array of races.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Races(Vec<RaceRow>);

/// One race: the fields are those of its JSON.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct RaceRow {
    id: &'static str,
    title: &'static str,
    sources: &'static [&'static str],
    protocol: String,
    violates: String,
    reproduced: bool,
    steps: usize,
    states: usize,
    trace: Vec<TraceEvent>,
    prevented_by: Vec<Prevented>,
    /// The race with its old clients behind guards, in each mode; empty if no old client takes part.
    behind_guard: Vec<BehindGuardRow>,
    replayed: Option<Replayed>,
    /// What is not as the catalogue says.
    #[serde(skip)]
    amiss: Vec<String>,
}

/// What came of replaying a schedule on a real server: in JSON whether it answered the same, null if it was not asked.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(into = "Option<bool>")]
pub enum Replayed {
    /// It was not asked: why.
    Not(String),
    /// It answered the same.
    Same,
    /// It answered otherwise.
    Otherwise,
}

impl From<Replayed> for Option<bool> {
    fn from(replayed: Replayed) -> Self {
        match replayed {
            Replayed::Not(_) => None,
            Replayed::Same => Some(true),
            Replayed::Otherwise => Some(false),
        }
    }
}

/// A remedy, explored.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Prevented {
    protocol: String,
    reproduced: bool,
    exhausted: bool,
    states: usize,
    /// For how many ticks, beyond those of the race.
    ticks: u16,
}

impl Races {
    /// One more: what exploring it has come to, and what came of replaying it, if that was wanted.
    pub fn add(&mut self, result: &RaceResult, replayed: Option<Replayed>) {
        self.0.push(RaceRow::of(result, replayed));
    }

    /// Whether every race was reproduced, every remedy is clean, and no server answered otherwise.
    pub fn are_as_described(&self) -> bool {
        self.0.iter().all(|race| race.amiss.is_empty())
    }
}

impl RaceRow {
    fn of(result: &RaceResult, replayed: Option<Replayed>) -> Self {
        let race = result.race;
        let found = result.found.as_ref();
        let prevented = |(remedy, checked): &(&crate::races::Remedy, crate::races::Checked)| Prevented {
            protocol: remedy.name(&race.scenario),
            reproduced: checked.reproduced,
            exhausted: checked.exhausted,
            states: checked.states,
            ticks: checked.ticks,
        };
        Self {
            id: race.id.name(),
            title: race.title,
            sources: race.sources,
            protocol: race.protocol(),
            violates: race.violates.to_string(),
            reproduced: found.is_some_and(|found| found.fits_sketch),
            steps: found.map_or(0, |found| found.trace.steps.len()),
            states: found.map_or(0, |found| found.states),
            trace: found.map_or_else(Vec::new, |found| events(&found.trace)),
            prevented_by: result.prevented_by.iter().map(prevented).collect(),
            behind_guard: result.behind_guards.iter().map(BehindGuardRow::of).collect(),
            amiss: amiss(result, replayed.as_ref()),
            replayed,
        }
    }

    fn row(&self, with_replay: bool) -> Vec<Cell> {
        let prevented = |one: &Prevented| format!("{} ({}; {})", one.protocol, grouped(one.states), one.ticks);
        let guards = self.behind_guard.iter().filter_map(BehindGuardRow::cell);
        let prevented: Vec<String> = self.prevented_by.iter().map(prevented).chain(guards).collect();
        let name = Cell::new(self.id).add_attribute(Attribute::Bold);
        let mut row = vec![
            if self.amiss.is_empty() { name } else { name.fg(Color::Red) },
            Cell::new(&self.protocol),
            Cell::new(self.steps),
            Cell::new(grouped(self.states)),
            Cell::new(prevented.join("\n")),
        ];
        if with_replay {
            row.push(match self.replayed {
                None | Some(Replayed::Not(_)) => Cell::new("-"),
                Some(Replayed::Same) => Cell::new("yes").fg(Color::Green),
                Some(Replayed::Otherwise) => Cell::new("no").fg(Color::Red),
            });
        }
        row
    }
}

/// What is not as the catalogue says.
fn amiss(result: &RaceResult, replayed: Option<&Replayed>) -> Vec<String> {
    let id = result.race.id;
    let mut amiss = Vec::new();
    match &result.found {
        None => amiss.push(format!("{id} was not reproduced")),
        Some(found) if !found.fits_sketch => amiss.push(format!("{id}: the rule is broken, but in another way")),
        Some(_) => {}
    }
    for (variation, found) in &result.variations {
        if !found.as_ref().is_some_and(|found| found.fits_sketch) {
            amiss.push(format!("{id}, {}: was not reproduced", variation.what));
        }
    }
    for (remedy, checked) in &result.prevented_by {
        if !checked.prevents() {
            let what = if checked.reproduced { "does not prevent it" } else { "was not explored to the end" };
            amiss.push(format!("{id}: {} {what}", remedy.name(&result.race.scenario)));
        }
    }
    for behind in result.behind_guards.iter().filter(|behind| !behind.is_as_described()) {
        let what = match behind.verdict {
            GuardVerdict::Remains(_) => "does not prevent it, and the catalogue does not say why",
            GuardVerdict::Prevented(_) | GuardVerdict::Unguardable(_) => {
                "has a reason in the catalogue why the race remains, which it does not"
            }
        };
        amiss.push(format!("{id}: {} {what}", behind.protocol));
    }
    if replayed == Some(&Replayed::Otherwise) {
        amiss.push(format!("{id}: the server answered otherwise than the simulated one"));
    }
    amiss
}

impl Report for Races {
    fn text(&self, width: Option<u16>) -> String {
        let with_replay = self.0.iter().any(|race| race.replayed.is_some());
        let mut head = vec!["RACE", "PROTOCOL", "STEPS", "STATES", "PREVENTED BY (STATES; TICKS)"];
        if with_replay {
            head.push("REPLAYED");
        }
        let mut table = table::table(&head, width);
        table::flush_right(&mut table, 2..4);
        for race in &self.0 {
            table.add_row(race.row(with_replay));
        }
        let mut text = table::text(table) + "\n";
        for line in self.0.iter().flat_map(|race| &race.amiss) {
            let style: Style = AnsiColor::Red.on_default();
            text += &format!("{style}{line}{style:#}\n");
        }
        for race in &self.0 {
            if let Some(Replayed::Not(why)) = &race.replayed {
                text += &timeline::paragraph(&format!("{} was not replayed: {why}.", race.id), width);
            }
        }
        text + &timeline::paragraph(&self.summary(), width)
    }
}

impl Races {
    fn summary(&self) -> String {
        let reproduced = self.0.iter().filter(|race| race.reproduced).count();
        let remedies: Vec<&Prevented> = self.0.iter().flat_map(|race| &race.prevented_by).collect();
        let clean = remedies.iter().filter(|one| one.exhausted && !one.reproduced).count();
        let guarded: Vec<usize> =
            self.0.iter().flat_map(|race| &race.behind_guard).filter_map(BehindGuardRow::prevented_within).collect();
        let old = self.0.iter().filter(|race| !race.behind_guard.is_empty()).count();
        let prevented = |race: &&RaceRow| race.behind_guard.iter().any(|row| row.prevented_within().is_some());
        let by_guard = match old {
            0 => String::new(),
            _ => {
                format!("A guard prevents {} of {old} races of old clients. ", self.0.iter().filter(prevented).count())
            }
        };
        let explored = self.0.iter().map(|race| race.states).chain(remedies.iter().map(|one| one.states));
        let states = explored.chain(guarded).sum();
        format!(
            "{reproduced} of {} races reproduced on a shortest schedule; {clean} of {} remedies explored to the end and clean, \
             each for longer than its race. {by_guard}{} states in all.",
            self.0.len(),
            remedies.len(),
            grouped(states)
        )
    }
}
