//! What an exploration found.

use std::time::Duration;

use serde::Serialize;

use super::timeline::Page;
use super::{Report, step_text, timeline};
use crate::explore::{Bounds, End, Findings, Property, Trace};

/// What an exploration found: the fields are those of its JSON.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Exploration {
    states: usize,
    exhausted: bool,
    /// How many states were probably taken for others, if only bits of them were kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    taken_for_others: Option<f64>,
    seconds: f64,
    violations: Vec<ViolationRow>,
    #[serde(skip)]
    verdict: String,
    #[serde(skip)]
    asked: Asked,
}

/// What was asked.
#[derive(Clone, Copy, Debug)]
pub struct Asked {
    /// How long a tick is.
    pub tick: Duration,
    /// A shorter tick, which tells apart more of what the clients do than the one that was tried; `None` if that one tells
    /// apart all.
    pub finer_tick: Option<Duration>,
    /// How often the clock ticked at most.
    pub ticks: u16,
    /// Whether the clock never ends.
    pub for_all_time: bool,
    /// How many rules were named; none: all were meant.
    pub rules_named: usize,
    /// Whether states were hashed.
    pub hashed: bool,
    /// Whether clients work until they release, however late.
    pub heeds_no_lease: bool,
}

impl Asked {
    /// The name of a rule that was looked for: that two clients work at once is a rule of its own.
    fn rule(&self, property: Property) -> String {
        match property {
            Property::MutualExclusion if self.heeds_no_lease => "work excludes".to_owned(),
            property => property.to_string(),
        }
    }
}

/// A property that does not hold, and a shortest schedule that shows it.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct ViolationRow {
    property: String,
    steps: usize,
    trace: Vec<TraceEvent>,
    /// The place of the first of the steps that can repeat for ever, if some can.
    #[serde(skip_serializing_if = "Option::is_none")]
    repeats_from: Option<usize>,
    #[serde(skip)]
    schedule: Trace,
}

/// One step of a schedule, as the JSON of every command has it.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct TraceEvent {
    client: String,
    action: String,
    command: Option<String>,
    reply: Option<String>,
    at_ms: u64,
}

impl Exploration {
    /// What was found in so many seconds.
    pub fn of(findings: &Findings, seconds: f64, asked: Asked) -> Self {
        let violation = |violation: &crate::explore::Violation| ViolationRow {
            property: asked.rule(violation.property),
            steps: violation.actions.len(),
            trace: events(&violation.trace),
            repeats_from: violation.trace.cycle.map(|cycle| cycle.from),
            schedule: violation.trace.clone(),
        };
        Self {
            states: findings.states,
            exhausted: findings.end == End::Exhausted,
            taken_for_others: asked.hashed.then_some(findings.taken_for_others),
            seconds,
            violations: findings.violations.iter().map(violation).collect(),
            verdict: verdict(findings, asked),
            asked,
        }
    }

    /// The schedule that breaks the first rule, as a Mermaid sequence diagram; nothing if none is broken.
    pub fn mermaid(&self) -> Option<String> {
        Some(timeline::mermaid(&self.violations.first()?.schedule))
    }

    /// For every rule that is broken an HTML page that needs nothing else.
    pub fn pages(&self) -> impl Iterator<Item = (Property, String)> {
        self.violations.iter().map(|violation| (violation.schedule.property, self.page(violation)))
    }

    fn page(&self, violation: &ViolationRow) -> String {
        let trace = &violation.schedule;
        let facts = [
            ("Clients", violation.roles()),
            ("Breaks", violation.property.clone()),
            ("Steps", violation.steps.to_string()),
            ("States seen", grouped(self.states)),
            ("Allowed", allowed(trace.bounds, self.asked)),
        ];
        let title = format!("{} is broken", capitalised(&violation.property));
        Page { title: &title, story: "", facts: &facts, trace, prevented: None }.html()
    }
}

impl ViolationRow {
    fn roles(&self) -> String {
        let roles = self.schedule.actors.iter().map(|role| format!("{} {}", role.name, role.protocol));
        roles.collect::<Vec<_>>().join(", ")
    }
}

/// `4 ticks, 1 crash, 0 lost replies`.
fn allowed(bounds: Bounds, asked: Asked) -> String {
    let count = |number: u16, one: &str, many: &str| format!("{number} {}", if number == 1 { one } else { many });
    let ticks = if asked.for_all_time { "any time".to_owned() } else { count(bounds.ticks, "tick", "ticks") };
    let crashes = count(bounds.faults.crashes.into(), "crash", "crashes");
    let lost = count(bounds.faults.lost_replies.into(), "lost reply", "lost replies");
    let more = |number: u8, one: &str, many: &str| match number {
        0 => String::new(),
        number => format!(", {}", count(number.into(), one, many)),
    };
    let requests = more(bounds.faults.lost_requests, "lost request", "lost requests");
    let failovers = more(bounds.faults.failovers, "failover", "failovers");
    let faults = bounds.faults;
    let others = [
        more(faults.late_requests, "late request", "late requests"),
        more(faults.client_restarts, "client restart", "client restarts"),
        more(faults.clock_steps, "step of a client's clock", "steps of a client's clock"),
        more(faults.server_clock_steps, "step of the server's clock", "steps of the server's clock"),
        more(faults.restarts, "restart", "restarts"),
        more(faults.data_losses, "restart without data", "restarts without data"),
        more(faults.evictions, "eviction", "evictions"),
        more(faults.removals_at_deadline, "removal at a deadline", "removals at a deadline"),
    ];
    format!("{ticks}, {crashes}, {lost}{requests}{failovers}{}", others.concat())
}

fn capitalised(words: &str) -> String {
    let mut characters = words.chars();
    characters.next().map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
}

/// The steps of a schedule.
pub(super) fn events(trace: &Trace) -> Vec<TraceEvent> {
    let event = |step: &crate::explore::Step| TraceEvent {
        client: trace.name_of(step).into_owned(),
        action: step_text::event(&step.event),
        command: step.exchange.as_ref().map(|exchange| exchange.command.to_string()),
        reply: step.exchange.as_ref().map(|exchange| exchange.reply.to_string()),
        at_ms: step.at_ms,
    };
    trace.steps.iter().map(event).collect()
}

fn verdict(findings: &Findings, asked: Asked) -> String {
    let states = grouped(findings.states);
    let bounds = if asked.for_all_time { "for all time" } else { "within these bounds" };
    let tick = step_text::time(u64::try_from(asked.tick.as_millis()).unwrap_or(u64::MAX));
    let rule = match asked.rules_named {
        0 => "a rule",
        1 => "that rule",
        _ => "one of those rules",
    };
    match (findings.violations.len(), findings.end) {
        (_, End::Exhausted) if !findings.unknown_commands.is_empty() => {
            let unknown: Vec<&str> = findings.unknown_commands.iter().map(String::as_str).collect();
            let unknown = unknown.join(", ");
            format!(
                "All {states} states were seen, but {unknown} is not simulated: rules that none breaks are not judged."
            )
        }
        (0, End::Exhausted) => {
            format!("Impossible {bounds}, in ticks of {tick}: none of {states} states breaks {rule}.{}", between(asked))
        }
        (0, End::StatesBound(_) | End::MemoryBound(_) | End::Interrupted | End::Satisfied) => {
            format!("Nothing found in {states} states, but there are more: this says nothing about those.")
        }
        (0, End::Hashed) => format!("Nothing found in {states} states. {}", left_out(findings)),
        (_, End::Hashed) => format!("{states} states were seen. {}", left_out(findings)),
        (_, End::Exhausted) => format!("All {states} states were seen."),
        (_, End::Satisfied) => format!("{states} states were seen, until nothing was left to find."),
        (_, End::StatesBound(_) | End::MemoryBound(_) | End::Interrupted) => {
            format!("{states} states were seen, but there are more: this says nothing about other rules.")
        }
    }
}

/// That moments between ticks were not tried, where the clients tell them apart, and how they are.
fn between(asked: Asked) -> String {
    let Some(finer) = asked.finer_tick else { return String::new() };
    let ticks = if asked.for_all_time {
        String::new()
    } else {
        format!(" --ticks {}", (asked.tick.as_secs_f64() / finer.as_secs_f64() * f64::from(asked.ticks)).ceil())
    };
    format!("\nMoments between ticks were not tried: --tick {}{ticks} tries them.", humantime::format_duration(finer))
}

/// What a search that hashed states says of those it did not see.
fn left_out(findings: &Findings) -> String {
    let left_out = match findings.taken_for_others {
        few if few < 0.01 => "Fewer than 0.01 more were probably left out".to_owned(),
        some if some < 10.0 => format!("About {some:.2} more were probably left out"),
        many => format!("About {} more were probably left out", grouped(many.round() as usize)),
    };
    format!("{left_out} because of their hashes: this says nothing about those, nor about what only they lead to.")
}

/// A number with commas between its thousands.
pub(super) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let first = (digits.len() + 2) % 3 + 1;
    let (head, tail) = digits.split_at(first.min(digits.len()));
    tail.as_bytes().chunks(3).fold(head.to_owned(), |text, group| text + "," + &String::from_utf8_lossy(group))
}

impl Report for Exploration {
    fn text(&self, width: Option<u16>) -> String {
        let mut text = String::new();
        for violation in &self.violations {
            text += &format!("{}, broken in {} steps: {}\n\n", violation.property, violation.steps, violation.roles());
            text += &timeline::text(&violation.schedule, width);
            text += "\n";
        }
        text + &self.verdict + "\n"
    }
}

#[test]
fn numbers_with_commas() {
    for (number, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (246_933, "246,933"), (12_118_981, "12,118,981")] {
        assert_eq!(grouped(number), text);
    }
}
