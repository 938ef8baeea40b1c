//! One schedule as a picture: a lane for every client, the keys beside them. What is drawn is decided here; how, in the
//! files below.

mod abridged;
mod html;
mod mermaid;
mod text;

use super::step_text;
use crate::explore::{Action, Content, Event, Exchange, Outcome, PriorCommand, Step, Trace};
use abridged::Abridged;

pub(super) use html::{Page, Prevented};
pub(super) use mermaid::mermaid;
pub(super) use text::{paragraph, text};

/// What the picture shows.
struct Picture<'a> {
    trace: &'a Trace,
    /// What had happened before the first step, each with the moment: `-7 s`.
    before: Vec<(String, String)>,
    /// What follows, row by row.
    rows: Vec<TimelineRow>,
}

/// One line of the picture: one step of the schedule, or several ticks of the clock in which nothing else changes.
struct TimelineRow {
    /// The places of its first and its last step.
    steps: (usize, usize),
    /// When, in milliseconds since the start.
    at_ms: u64,
    /// Who acts: the place among the clients.
    actor: Option<usize>,
    /// What the keys hold after it.
    keys: Vec<Cell>,
    /// One cell for every client.
    lanes: Vec<Lane>,
    /// What happens to the clock or the server; what a client does is in its lane.
    aside: Option<String>,
    /// Whether this step broke the rule.
    is_blamed: bool,
    /// Whether it can repeat for ever, with all rows after it.
    repeats: bool,
}

/// What a key holds.
struct Cell {
    /// The value, short enough for a lane; `None`: there is no such key.
    value: Option<String>,
    /// How long it still lives.
    ttl_ms: Option<u64>,
    /// Whether this row has changed the value.
    is_new: bool,
}

/// One client in one row.
struct Lane {
    /// The command that the server ran for it, and the reply.
    exchange: Option<(String, String)>,
    /// Whether the reply is lost.
    loses_reply: bool,
    /// What that means to it.
    note: Option<String>,
    /// What it believes afterwards.
    belief: LaneBelief,
}

/// What a client believes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LaneBelief {
    /// Not to hold.
    Outside,
    /// To hold.
    Holds,
    /// To hold what another believes to hold.
    Clashes,
}

impl<'a> Picture<'a> {
    fn of(trace: &'a Trace) -> Self {
        let mut rows: Vec<TimelineRow> = Vec::new();
        for (index, step) in trace.steps.iter().enumerate() {
            let row = TimelineRow::of(trace, index, step);
            match rows.last_mut() {
                Some(last) if last.is_continued_by(&row, trace) => last.extend_to(row, trace),
                _ => rows.push(row),
            }
        }
        let before = trace.prelude.iter().filter(|prior| !only_loads_a_script(prior));
        let before = before.map(|prior| {
            let moment =
                if prior.ms_before == 0 { "before".to_owned() } else { format!("-{}", seconds(prior.ms_before)) };
            let command = Abridged { command: &prior.command, keys: &trace.keys }.to_string();
            (moment, format!("an earlier client: {command} → {}", abridged::reply(&prior.reply)))
        });
        Self { trace, before: before.collect(), rows }
    }

    /// The row that shows this step.
    fn row_of(&self, step: usize) -> usize {
        self.rows.iter().position(|row| row.steps.1 >= step).unwrap_or(0)
    }

    /// What is wrong in the end, if anything is: `broken: mutual exclusion (A and B both hold)`.
    fn verdict(&self) -> Option<String> {
        if let Some(cycle) = self.trace.cycle {
            let name = &self.trace.actors[cycle.starving].name;
            return Some(format!("broken: {} ({name} can wait for ever)", self.trace.property));
        }
        self.trace.blame?;
        let last = self.trace.steps.last()?;
        let names: Vec<&str> =
            self.trace.clashing(&last.after).iter().map(|who| self.trace.actors[*who].name.as_str()).collect();
        let how = match names.as_slice() {
            [] | [_] => String::new(),
            [one, other] => format!(" ({one} and {other} both hold)"),
            [firsts @ .., last] => format!(" ({} and {last} all hold)", firsts.join(", ")),
        };
        Some(format!("broken: {}{how}", self.trace.property))
    }
}

/// Whether it only loads a script, which a fleet has done long ago.
fn only_loads_a_script(prior: &&PriorCommand) -> bool {
    prior.command.is("SCRIPT")
}

impl TimelineRow {
    fn of(trace: &Trace, index: usize, step: &Step) -> Self {
        let was = |key: usize| step.before.keys.get(key).and_then(Option::as_ref).map(|content| &content.value);
        let cell = |(key, content): (usize, &Option<Content>)| Cell {
            value: content.as_ref().map(|content| abridged::value(&content.value)),
            ttl_ms: content.as_ref().and_then(|content| content.ttl_ms),
            is_new: was(key) != content.as_ref().map(|content| &content.value),
        };
        let clashing = trace.clashing(&step.after);
        Self {
            steps: (index, index),
            at_ms: step.at_ms,
            actor: step.actor,
            keys: step.after.keys.iter().enumerate().map(cell).collect(),
            lanes: (0..trace.actors.len()).map(|who| Lane::of(trace, step, who, &clashing)).collect(),
            aside: step.actor.is_none().then(|| aside(trace, step.action, 1)),
            is_blamed: trace.blame == Some(index),
            repeats: trace.cycle.is_some_and(|cycle| cycle.from <= index),
        }
    }

    /// Whether the next row is but one more tick.
    fn is_continued_by(&self, next: &Self, trace: &Trace) -> bool {
        let ticks = |row: &Self| trace.steps[row.steps.0].action == Action::Tick;
        let quiet =
            |row: &Self| row.lanes.iter().all(|lane| lane.note.is_none()) && !row.keys.iter().any(|key| key.is_new);
        let alike = self.repeats == next.repeats && !self.is_blamed && !next.is_blamed;
        ticks(self) && ticks(next) && alike && quiet(self) && quiet(next)
    }

    fn extend_to(&mut self, next: Self, trace: &Trace) {
        let ticks = next.steps.1 - self.steps.0 + 1;
        let aside = aside(trace, Action::Tick, u64::try_from(ticks).unwrap_or(u64::MAX));
        *self = Self { steps: (self.steps.0, next.steps.1), aside: Some(aside), ..next };
    }
}

impl Lane {
    fn of(trace: &Trace, step: &Step, who: usize, clashing: &[usize]) -> Self {
        let belief = match step.after.beliefs[who] {
            None => LaneBelief::Outside,
            Some(_) if clashing.contains(&who) => LaneBelief::Clashes,
            Some(_) => LaneBelief::Holds,
        };
        if step.actor != Some(who) {
            let has_expired =
                step.actor.is_none() && belief == LaneBelief::Outside && step.before.beliefs[who].is_some();
            return Self {
                loses_reply: false,
                exchange: None,
                note: has_expired.then(|| "lease ends".to_owned()),
                belief,
            };
        }
        let exchange = |exchange: &Exchange| {
            let command = Abridged { command: &exchange.command, keys: &trace.keys }.to_string();
            (command, abridged::reply(&exchange.reply))
        };
        let note = match &step.event {
            Event::RequestLost => "the request is lost".to_owned(),
            Event::ReplyLost => "the reply is lost".to_owned(),
            // The reply says already what went wrong.
            Event::Ended { outcome: Outcome::Failed, .. } => step_text::outcome(Outcome::Failed).to_owned(),
            event => step_text::event(event),
        };
        let note = Some(note).filter(|note| !note.is_empty());
        let loses_reply = step.event == Event::ReplyLost;
        Self { loses_reply, exchange: step.exchange.as_ref().map(exchange), note, belief }
    }

    fn is_silent(&self) -> bool {
        self.exchange.is_none() && self.note.is_none()
    }
}

fn aside(trace: &Trace, action: Action, ticks: u64) -> String {
    match action {
        Action::Tick => {
            format!("{} pass{}", seconds(trace.tick_ms * ticks), if trace.tick_ms * ticks <= 1000 { "es" } else { "" })
        }
        Action::Leap => "time passes until every lease has expired".to_owned(),
        Action::FailOver(place, 1) => format!("{} is replaced by a replica that lacks the last write", server(place)),
        Action::FailOver(place, lost) => {
            format!("{} is replaced by a replica that lacks the last {lost} writes", server(place))
        }
        Action::Restart(place) => {
            format!("{} restarts with its data; scripts and connections are gone", server(place))
        }
        Action::LoseData(place) => format!("{} restarts without its data", server(place)),
        Action::Evict(place, _) => format!("{} evicts a key", server(place)),
        Action::RemoveAtDeadline(place, _) => {
            format!("{} removes a key in the millisecond of its deadline", server(place))
        }
        Action::SetServerClock(place, ticks) => {
            let way = if ticks < 0 { "back" } else { "ahead" };
            let far = seconds(trace.tick_ms * u64::from(ticks.unsigned_abs()));
            format!("{}'s clock is set {far} {way}", server(place))
        }
        // Steps of clients, which have their words in their lanes.
        _ => String::new(),
    }
}

/// The server at this place; those beside the first by the mark of the commands that are for them.
fn server(place: u8) -> String {
    if place == 0 { "the server".to_owned() } else { format!("server @{place}") }
}

/// A client as its lane is headed: `A php-getset`, and how far its clock is off.
fn heading(role: &crate::explore::Role) -> String {
    match role.skew_ms {
        0 => format!("{} {}", role.name, role.protocol),
        ahead_ms if ahead_ms > 0 => {
            format!("{} {} (clock {} fast)", role.name, role.protocol, seconds(ahead_ms.unsigned_abs()))
        }
        behind_ms => format!("{} {} (clock {} slow)", role.name, role.protocol, seconds(behind_ms.unsigned_abs())),
    }
}

/// Milliseconds as a person reads them: `4 s`, `1.5 s`.
fn seconds(millis: u64) -> String {
    let text = format!("{}.{:03}", millis / 1000, millis % 1000);
    format!("{} s", text.trim_end_matches('0').trim_end_matches('.'))
}
