//! What an exploration found.

use serde::Serialize;

use super::{Report, timeline};
use crate::explore::{End, Findings, Trace};

/// What an exploration found: the fields are those of its JSON.
#[derive(Clone, Debug, Serialize)]
pub struct Exploration {
    states: usize,
    exhausted: bool,
    seconds: f64,
    violations: Vec<Violation>,
    #[serde(skip)]
    verdict: String,
}

/// A property that does not hold, and a shortest schedule that shows it.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Violation {
    property: String,
    steps: usize,
    trace: Vec<Event>,
    #[serde(skip)]
    told: Trace,
}

/// One step of a schedule, as the JSON of every command has it.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Event {
    client: String,
    action: String,
    command: Option<String>,
    reply: Option<String>,
    at_ms: u64,
}

impl Exploration {
    /// What was found in so many seconds.
    pub fn of(findings: &Findings, seconds: f64) -> Self {
        let violation = |violation: &crate::explore::Violation| Violation {
            property: violation.property.to_string(),
            steps: violation.actions.len(),
            trace: events(&violation.trace),
            told: violation.trace.clone(),
        };
        Self {
            states: findings.worlds,
            exhausted: findings.end == End::Exhausted,
            seconds,
            violations: findings.violations.iter().map(violation).collect(),
            verdict: verdict(findings),
        }
    }
}

/// The steps of a schedule.
pub(super) fn events(trace: &Trace) -> Vec<Event> {
    let event = |step: &crate::explore::Step| Event {
        client: trace.name_of(step).to_owned(),
        action: step.note.clone(),
        command: step.exchange.as_ref().map(|exchange| exchange.command.to_string()),
        reply: step.exchange.as_ref().map(|exchange| exchange.reply.to_string()),
        at_ms: step.at_ms,
    };
    trace.steps.iter().map(event).collect()
}

fn verdict(findings: &Findings) -> String {
    let worlds = grouped(findings.worlds);
    match (findings.violations.len(), findings.end) {
        (0, End::Exhausted) => format!("Impossible within these bounds: none of {worlds} states breaks a rule."),
        (0, End::WorldsBound(_) | End::BytesBound(_) | End::Satisfied) => {
            format!("Nothing found in {worlds} states, but there are more: this says nothing about those.")
        }
        (_, End::Exhausted) => format!("All {worlds} states were seen."),
        (_, End::WorldsBound(_) | End::BytesBound(_) | End::Satisfied) => format!("{worlds} states were seen."),
    }
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
            let roles: Vec<_> =
                violation.told.actors.iter().map(|role| format!("{} {}", role.name, role.protocol)).collect();
            text += &format!("{}, broken in {} steps: {}\n\n", violation.property, violation.steps, roles.join(", "));
            text += &timeline::text(&violation.told, width);
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
