//! One schedule as a picture: a lane for every client, the keys beside them. What is drawn is decided here; how, in the
//! files below.

mod abridged;
mod text;

use crate::explore::{Action, Content, Step, Trace};
use abridged::Abridged;

pub(super) use text::text;

/// One line of the picture: one step of the schedule.
struct Row {
    /// The number of the step, from 1.
    number: usize,
    /// When, in milliseconds since the start.
    at_ms: u64,
    /// What the keys hold after the step.
    keys: Vec<String>,
    /// One cell for every client.
    lanes: Vec<Lane>,
    /// What happens to the clock or the server; a client's step has its words in its lane.
    aside: Option<String>,
    /// Whether this step broke the rule.
    is_blamed: bool,
    /// Whether more than one client believes after this step to hold the same lock.
    is_broken: bool,
}

/// One client at one step.
#[derive(Default)]
struct Lane {
    /// What it does, line by line; nothing if it is not its step.
    words: Vec<String>,
    /// Whether it believes after the step that it holds.
    believes: bool,
}

/// The rows of a schedule. Steps in which nothing can be seen (a reply that arrives and changes nothing) are kept: a
/// client that has an answer and does not act on it yet is what many races are made of.
fn rows(trace: &Trace) -> Vec<Row> {
    let row = |(index, step): (usize, &Step)| Row {
        number: index + 1,
        at_ms: step.at_ms,
        keys: step.after.keys.iter().map(|content| content_words(content.as_ref())).collect(),
        lanes: lanes(trace, step),
        aside: step.actor.is_none().then(|| aside(trace, step)),
        is_blamed: trace.blame == Some(index),
        is_broken: step.after.beliefs.iter().flatten().count() > 1,
    };
    trace.steps.iter().enumerate().map(row).collect()
}

fn lanes(trace: &Trace, step: &Step) -> Vec<Lane> {
    let lane = |(who, belief): (usize, &Option<_>)| Lane {
        words: if step.actor == Some(who) { words(trace, step) } else { Vec::new() },
        believes: belief.is_some(),
    };
    step.after.beliefs.iter().enumerate().map(lane).collect()
}

/// What a client does in its step: the command and its reply, and what that means to it.
fn words(trace: &Trace, step: &Step) -> Vec<String> {
    let mut words = Vec::new();
    if let Some(exchange) = &step.exchange {
        words.push(Abridged { exchange, keys: &trace.keys }.to_string());
    }
    match step.action {
        Action::LoseReply(_) => words.push("the reply is lost".to_owned()),
        Action::Crash(_) => words.push("dies".to_owned()),
        Action::Step(_) | Action::FailOver(_) | Action::Tick | Action::Leap if !step.note.is_empty() => {
            words.push(step.note.clone());
        }
        Action::Step(_) | Action::FailOver(_) | Action::Tick | Action::Leap => {}
    }
    words
}

fn aside(trace: &Trace, step: &Step) -> String {
    match step.action {
        Action::Tick | Action::Leap => step.note.clone(),
        Action::FailOver(_) | Action::Step(_) | Action::LoseReply(_) | Action::Crash(_) => {
            format!("the {} {}", trace.name_of(step), step.note)
        }
    }
}

/// What a key holds, and for how long.
fn content_words(content: Option<&Content>) -> String {
    match content {
        None => "-".to_owned(),
        Some(Content { value, ttl_ms, .. }) => {
            let value = abridged::word(value);
            match ttl_ms {
                None => value,
                Some(ttl_ms) => format!("{value} ({})", seconds(*ttl_ms)),
            }
        }
    }
}

/// Milliseconds as a person reads them: `4 s`, `1.5 s`.
fn seconds(millis: u64) -> String {
    let text = format!("{}.{:03}", millis / 1000, millis % 1000);
    format!("{} s", text.trim_end_matches('0').trim_end_matches('.'))
}
