//! The migration of a fleet to a new lock, phase by phase.

mod advice;
mod languages;

use std::time::Duration;

use anstyle::{AnsiColor, Style};
use serde::Serialize;

use super::Report;
use super::explanation::explanation;
use super::exploration::grouped;
use super::step_text;
use crate::explore::Property;
use crate::legacy::Dialect;
use crate::plan::{EXAMPLE_BEGINS, EXAMPLE_LEASE, NoPlan, PhaseBounds, PhaseResult, PhaseVerdict, Plan, Residual};
use crate::protocols::Choice;
use crate::race_id::RaceId;
use crate::wire::Printable;
use advice::Advice;
use languages::LanguageLines;

pub use languages::Language;

/// The migration of a fleet to a new lock: the fields are those of its JSON.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Planned {
    fleet: Vec<&'static str>,
    /// Why no plan could be made. The phases are missing then, and a field that is `null` is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<String>,
    bridge: Option<String>,
    /// The old clients behind guards, as `explore --client` names them, if the plan is for guards.
    #[serde(skip_serializing_if = "Option::is_none")]
    guarded: Option<String>,
    stamp_of: Option<&'static str>,
    /// If a language was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    example_stamp: Option<ExampleStamp>,
    to: String,
    /// Whether no dialect of the fleet takes over a lock that another holds.
    excludes_itself: Option<bool>,
    /// The values that show that one does.
    stolen: Vec<String>,
    safe: bool,
    phases: Vec<PhaseRow>,
}

/// What a bridge of this fleet writes into the old key.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ExampleStamp {
    /// Bytes that are not text as `\xNN`.
    stamp: String,
    lease_ms: u64,
    /// When the lease begins, since 1970.
    begins_ms: i64,
}

impl ExampleStamp {
    fn of(plan: &Plan) -> Self {
        let lease_ms = u64::try_from(EXAMPLE_LEASE.as_millis()).unwrap_or(u64::MAX);
        Self { stamp: Printable(&plan.example_stamp()).to_string(), lease_ms, begins_ms: EXAMPLE_BEGINS.as_millis() }
    }

    fn text(&self) -> String {
        let Self { stamp, lease_ms, begins_ms } = self;
        format!(
            "For a lease of {} that begins at {} it is \"{stamp}\"; a token in it is the attempt's own.\n",
            step_text::time(*lease_ms),
            begins_ms / 1000
        )
    }
}

/// One phase.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct PhaseRow {
    phase: &'static str,
    states: usize,
    exhausted: bool,
    verdict: &'static str,
    bounds: Within,
    residual: Vec<ResidualRow>,
    deploy: String,
    watch: Vec<String>,
    back: String,
    /// For each language that was asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    write: Vec<LanguageLines>,
}

/// How far a phase was explored.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Within {
    clients: usize,
    time_ms: u64,
    nothing_new_in_the_last_second: bool,
    tick_ms: u64,
    clocks_within_ms: u64,
    crashes: u8,
    lost_replies: u8,
}

/// A race that a phase has. `new`: the first phase does not have it.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
    /// This plan, with what to install and to write in these languages.
    pub fn of(plan: &Plan, languages: &[Language]) -> Self {
        let fleet: Vec<_> = plan.fleet.iter().map(|dialect| dialect.name).collect();
        let step = |result: &PhaseResult| {
            let Advice { deploy, watch, back } = Advice::of(plan, result.phase);
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
            let (verdict, bounds) = (verdict(plan.verdict(result)), Within::of(result.bounds));
            let write = languages.iter().filter_map(|language| language.written(result.phase, &fleet)).collect();
            PhaseRow { phase, states, exhausted, verdict, bounds, residual, deploy, watch, back, write }
        };
        Self {
            fleet: fleet.clone(),
            refused: None,
            bridge: Some(plan.bridge()),
            guarded: plan.guarded(),
            stamp_of: Some(plan.stamp_of.name),
            example_stamp: (!languages.is_empty()).then(|| ExampleStamp::of(plan)),
            to: plan.to.clone(),
            excludes_itself: Some(plan.excludes_itself()),
            stolen: plan.stolen.iter().map(ToString::to_string).collect(),
            safe: plan.is_safe(),
            phases: plan.phases.iter().map(step).collect(),
        }
    }

    /// That there is no plan for this fleet.
    pub fn refused(fleet: &[&'static Dialect], to: &Choice, because: &NoPlan) -> Self {
        Self {
            fleet: fleet.iter().map(|dialect| dialect.name).collect(),
            refused: Some(because.to_string()),
            bridge: None,
            guarded: None,
            stamp_of: None,
            example_stamp: None,
            to: to.to_string(),
            excludes_itself: None,
            stolen: Vec::new(),
            safe: false,
            phases: Vec::new(),
        }
    }
}

const BOLD: Style = Style::new().bold();
const GOOD: Style = AnsiColor::Green.on_default();
const BAD: Style = AnsiColor::Red.on_default();

impl Report for Planned {
    fn text(&self, _width: Option<u16>) -> String {
        if let Some(because) = &self.refused {
            return format!("{because}\n");
        }
        let excludes_itself = self.excludes_itself == Some(true);
        let mut text = match excludes_itself {
            true if self.phases.first().is_some_and(PhaseRow::breaks_exclusion) => {
                format!(
                    "{GOOD}The old clients exclude each other today{GOOD:#}, but for the races of the first phase.\n"
                )
            }
            true if !self.phases.first().is_some_and(|phase| phase.exhausted) => {
                "The old clients exclude each other today, as far as was explored: there is more of the first phase.\n"
                    .to_owned()
            }
            true => format!("{GOOD}The old clients exclude each other today.{GOOD:#}\n"),
            false => {
                let stolen = self.stolen.join(", ");
                format!("{BAD}The old clients do not exclude each other today:{BAD:#} {stolen}.\n")
            }
        };
        let way = match &self.guarded {
            Some(guarded) => format!("behind guards: {guarded}"),
            None => {
                let [bridge, dialect] = [self.bridge.as_deref(), self.stamp_of].map(Option::unwrap_or_default);
                format!("across {bridge}\nThe stamp in the old key is one that {dialect} reads.")
            }
        };
        text += &format!("{} to {}, {way}\n", self.fleet.join(" + "), self.to);
        text += &self.example_stamp.as_ref().map(ExampleStamp::text).unwrap_or_default();
        for (number, step) in self.phases.iter().enumerate() {
            text += &format!("\n{BOLD}{}  {}{BOLD:#}\n{}", number + 1, step.phase, step.text());
        }
        let named = |verdict: &str| {
            let phases = self.phases.iter().filter(|step| step.verdict == verdict).map(|step| step.phase);
            phases.collect::<Vec<_>>().join(", ")
        };
        let (broken, open) = (named(UNSAFE), named(NOT_EXHAUSTED));
        text += &match (self.safe, excludes_itself) {
            (true, _) => format!(
                "\n{GOOD}Safe within these bounds:{GOOD:#} no phase has a race that the old clients do not have among \
                 themselves.\n"
            ),
            (false, false) => format!("\n{BAD}Not safe: separate the keys first.{BAD:#}\n"),
            (false, true) if !broken.is_empty() => format!("\n{BAD}Not safe:{BAD:#} {broken}.\n"),
            (false, true) => format!("\n{BAD}Not known to be safe:{BAD:#} not all was seen of {open}.\n"),
        };
        text
    }
}

impl PhaseRow {
    /// Whether two clients can hold at once.
    fn breaks_exclusion(&self) -> bool {
        self.residual.iter().any(|race| race.property == Property::MutualExclusion.name())
    }

    fn text(&self) -> String {
        let seen = if self.exhausted { "all of them" } else { "there are more" };
        let mut text = format!("   explored  {} states, {seen}\n", grouped(self.states));
        self.bounds.explored().into_iter().for_each(|line| text += &format!("             {line}\n"));
        let (colour, faults) = if self.verdict == SAFE { (GOOD, "tolerates") } else { (BAD, "tried") };
        text += &format!("   {faults:<9} {}\n", self.bounds.faults());
        text += &format!("   verdict   {colour}{}{colour:#}\n", self.verdict);
        let races = by_race(&self.residual);
        match races.as_slice() {
            [] if self.exhausted => text += &format!("   races     {GOOD}none{GOOD:#}\n"),
            [] => text += "   races     none found\n",
            [first, others @ ..] => {
                text += &format!("   races     {first}\n");
                others.iter().for_each(|race| text += &format!("             {race}\n"));
            }
        }
        text += &format!("   deploy    {}\n", self.deploy);
        for LanguageLines { language, install, lines } in &self.write {
            text += &format!(
                "   {language:<9} from a copy of lockshift, in clients/{language}/README.md:\n             {install}\n"
            );
            lines.iter().for_each(|line| text += &format!("             {line}\n"));
        }
        for (index, command) in self.watch.iter().enumerate() {
            text += &format!("   {:<9} {command}\n", if index == 0 { "watch" } else { "" });
        }
        text + &format!("   back      {}\n", self.back)
    }
}

const UNSAFE: &str = "unsafe: a race that the old clients do not have among themselves";
const SAFE: &str = "safe within these bounds";
const NOT_EXHAUSTED: &str = "not exhausted: nothing new found, but not all was seen";

fn verdict(verdict: PhaseVerdict) -> &'static str {
    match verdict {
        PhaseVerdict::Unsafe => UNSAFE,
        PhaseVerdict::SafeWithinBounds => SAFE,
        PhaseVerdict::NotExhausted => NOT_EXHAUSTED,
    }
}

impl Within {
    fn of(bounds: PhaseBounds) -> Self {
        let millis = |length: Duration| u64::try_from(length.as_millis()).unwrap_or(u64::MAX);
        Self {
            clients: bounds.clients,
            time_ms: millis(bounds.time),
            nothing_new_in_the_last_second: bounds.nothing_new_at_last,
            tick_ms: millis(bounds.tick),
            clocks_within_ms: millis(bounds.clocks_within),
            crashes: bounds.crashes,
            lost_replies: bounds.lost_replies,
        }
    }

    /// How much was explored.
    fn explored(self) -> [String; 2] {
        let last = if self.nothing_new_in_the_last_second { ", the last of which brought nothing new" } else { "" };
        [
            format!("{} clients for {}{last}", self.clients, step_text::time(self.time_ms)),
            format!("2 clients, each acquiring twice, and in ticks of {}", step_text::time(self.tick_ms)),
        ]
    }

    /// What went wrong in what was explored.
    fn faults(self) -> String {
        let Self { crashes, lost_replies, .. } = self;
        let apart = match self.clocks_within_ms {
            0 => "clocks that agree".to_owned(),
            apart => format!("clocks {} apart", step_text::time(apart)),
        };
        format!("{crashes} crash, {lost_replies} lost reply, each of 2 clients; {apart}")
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
