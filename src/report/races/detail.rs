//! One race in detail: its story, its schedule, what prevents it.

use anstyle::Style;
use serde::Serialize;

use super::super::exploration::grouped;
use super::super::{Report, step_text, timeline};
use super::{Races, Replayed, behind_guard};
use crate::races::{RaceResult, Scenario};

/// One race in detail. In JSON an array with this race alone.
#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
pub struct RaceDetail<'a> {
    races: Races,
    #[serde(skip)]
    result: &'a RaceResult,
}

impl<'a> RaceDetail<'a> {
    /// What exploring this race has come to.
    pub fn of(result: &'a RaceResult, replayed: Option<Replayed>) -> Self {
        let mut races = Races::default();
        races.add(result, replayed);
        Self { races, result }
    }

    /// Whether it was reproduced, every remedy is clean, and no server answered otherwise.
    pub fn is_as_described(&self) -> bool {
        self.races.are_as_described()
    }
}

impl Report for RaceDetail<'_> {
    fn text(&self, width: Option<u16>) -> String {
        let RaceResult { race, found, variations, prevented_by, .. } = self.result;
        let strong = Style::new().bold();
        let mut text = format!("{strong}{}{strong:#}\n", race.title);
        text += &timeline::paragraph(race.story, width);
        text.push('\n');
        match found {
            Some(found) => text += &timeline::text(&found.trace, width),
            None => text += "It was not reproduced.\n",
        }
        text += &timeline::paragraph(&bounds(&race.scenario), width);
        text.push('\n');
        for (variation, found) in variations {
            let line = match found {
                Some(found) => format!("Also found: {} ({} steps).", variation.what, found.trace.steps.len()),
                None => format!("NOT reproduced: {}.", variation.what),
            };
            text += &timeline::paragraph(&line, width);
        }
        for (remedy, checked) in prevented_by {
            let verdict = if checked.prevents() { "Prevented by" } else { "NOT prevented by" };
            let (name, states) = (remedy.name(&race.scenario), grouped(checked.states));
            let time = step_text::time(race.scenario.millis(checked.ticks));
            let line = format!("{verdict} {name} ({states} states, {time}): {}.", remedy.because);
            text += &timeline::paragraph(&line, width);
        }
        for line in behind_guard::paragraphs(&self.result.behind_guards, &race.scenario) {
            text += &timeline::paragraph(&line, width);
        }
        if let Some(remark) = race.remark {
            text.push('\n');
            text += &timeline::paragraph(remark, width);
        }
        text
    }
}

/// Within which bounds a shortest schedule was looked for.
fn bounds(scenario: &Scenario) -> String {
    let Scenario { participants, bounds, .. } = scenario;
    let faults = bounds.faults;
    let faults = [(faults.crashes, "crash"), (faults.lost_replies, "lost reply"), (faults.failovers, "failover")];
    let faults: String =
        faults.iter().filter(|(most, _)| *most > 0).map(|(most, what)| format!(", {most} {what}")).collect();
    let clients = if participants.len() == 1 { "client" } else { "clients" };
    format!("Explored: {} {clients}, {}{faults}.", participants.len(), step_text::time(scenario.millis(bounds.ticks)))
}

/// The schedule of a race as a Mermaid sequence diagram; nothing if it was not found.
pub fn mermaid(result: &RaceResult) -> Option<String> {
    Some(timeline::mermaid(&result.found.as_ref()?.trace))
}
