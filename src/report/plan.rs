//! The migration of a fleet to a new lock, phase by phase.

use anstyle::{AnsiColor, Style};
use serde::Serialize;

use super::Report;
use super::explanation::explanation;
use super::exploration::grouped;
use super::step_text;
use crate::plan::{Advice, BOUNDS, PhaseResult, Plan, Residual};
use crate::race_id::RaceId;

/// The migration of a fleet to a new lock: the fields are those of its JSON.
#[derive(Clone, Debug, Serialize)]
pub struct Planned {
    fleet: Vec<&'static str>,
    bridge: String,
    stamp_of: &'static str,
    to: String,
    safe: bool,
    phases: Vec<PhaseRow>,
}

/// One phase.
#[derive(Clone, Debug, Serialize)]
struct PhaseRow {
    phase: &'static str,
    states: usize,
    exhausted: bool,
    residual: Vec<ResidualRow>,
    deploy: String,
    watch: Vec<String>,
    back: String,
}

/// A race that a phase has. `new`: the first phase does not have it.
#[derive(Clone, Debug, Serialize)]
struct ResidualRow {
    property: &'static str,
    race: Option<&'static str>,
    #[serde(rename = "deed")]
    cause: Option<String>,
    by: Option<String>,
    new: bool,
    steps: usize,
    says: String,
}

impl Planned {
    /// This plan.
    pub fn of(plan: &Plan) -> Self {
        let step = |result: &PhaseResult| {
            let Advice { deploy, watch, back } = plan.advice(result.phase);
            let race = |residual: &Residual| ResidualRow {
                property: residual.property.name(),
                race: residual.race.map(RaceId::name),
                cause: residual.cause.as_ref().map(step_text::cause),
                by: residual.by().map(str::to_owned),
                new: plan.is_new(residual),
                steps: residual.trace.steps.len(),
                says: explanation(&residual.trace),
            };
            let residual = result.residuals.iter().map(race).collect();
            let (phase, states, exhausted) = (result.phase.name(), result.states, result.exhausted);
            PhaseRow { phase, states, exhausted, residual, deploy, watch, back }
        };
        Self {
            fleet: plan.fleet.iter().map(|dialect| dialect.name).collect(),
            bridge: plan.bridge(),
            stamp_of: plan.stamp_of.name,
            to: plan.to.clone(),
            safe: plan.is_safe(),
            phases: plan.phases.iter().map(step).collect(),
        }
    }
}

const BOLD: Style = Style::new().bold();
const GOOD: Style = AnsiColor::Green.on_default();
const BAD: Style = AnsiColor::Red.on_default();

/// What was explored.
fn bounds() -> String {
    let [lease, longer] = BOUNDS.leases.map(|lease| lease.as_secs());
    format!(
        "Explored in each phase: {} clients with leases of {lease} s and {longer} s whose clocks agree, for {} s in whole \
         seconds;\nand two clients, {} of which may crash. A race that needs more is not found.\n",
        BOUNDS.clients, BOUNDS.ticks, BOUNDS.crashes
    )
}

impl Report for Planned {
    fn text(&self, _width: Option<u16>) -> String {
        let mut text = format!("{} to {}, across {}", self.fleet.join(" + "), self.to, self.bridge);
        text += &format!("\nThe stamp in the old key is one that {} reads.\n", self.stamp_of);
        text += &bounds();
        for (number, step) in self.phases.iter().enumerate() {
            text += &format!("\n{BOLD}{}  {}{BOLD:#}\n{}", number + 1, step.phase, step.text());
        }
        text += &match self.safe {
            true => format!(
                "\n{GOOD}Safe within these bounds:{GOOD:#} no phase has a race that the old clients do not have among themselves.\n"
            ),
            false => format!("\n{BAD}Not safe.{BAD:#}\n"),
        };
        text
    }
}

impl PhaseRow {
    fn text(&self) -> String {
        let seen = if self.exhausted { "all of them" } else { "there are more" };
        let mut text = format!("   explored  {} states, {seen}\n", grouped(self.states));
        let races = by_race(&self.residual);
        match races.as_slice() {
            [] => text += &format!("   races     {GOOD}none{GOOD:#}\n"),
            [first, others @ ..] => {
                text += &format!("   races     {first}\n");
                others.iter().for_each(|race| text += &format!("             {race}\n"));
            }
        }
        text += &format!("   deploy    {}\n", self.deploy);
        for (index, command) in self.watch.iter().enumerate() {
            text += &format!("   {:<9} {command}\n", if index == 0 { "watch" } else { "" });
        }
        text + &format!("   back      {}\n", self.back)
    }
}

/// A line for each race and whose it is, with the rules that it breaks.
fn by_race(residual: &[ResidualRow]) -> Vec<String> {
    let mut lines: Vec<(String, bool, Vec<&str>)> = Vec::new();
    for race in residual {
        let name = race.name();
        match lines.iter_mut().find(|(known, new, _)| *known == name && *new == race.new) {
            Some((_, _, rules)) if rules.contains(&race.property) => {}
            Some((_, _, rules)) => rules.push(race.property),
            None => lines.push((name, race.new, vec![race.property])),
        }
    }
    let line = |(name, new, rules): (String, bool, Vec<&str>)| {
        let new = if new { format!("   {BAD}new{BAD:#}") } else { String::new() };
        format!("{name} ({}){new}", rules.join(", "))
    };
    lines.into_iter().map(line).collect()
}

impl ResidualRow {
    /// The race and whose it is; one without a name is described.
    fn name(&self) -> String {
        match (self.race, &self.by, &self.cause) {
            (Some(race), Some(by), _) => format!("{race}, by {by}"),
            (Some(race), None, _) => race.to_owned(),
            (None, _, Some(cause)) => cause.clone(),
            (None, _, None) => "no cause".to_owned(),
        }
    }
}
