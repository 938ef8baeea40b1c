//! Why a rule was broken, in a few sentences.

use super::step_text::time;
use crate::explore::{Action, Belief, Content, Cycle, Step, Trace};

/// Why the rule was broken; nothing where none was.
pub fn explanation(trace: &Trace) -> String {
    if let Some(cycle) = trace.cycle {
        return why_it_starves(trace, cycle);
    }
    let Some(culprit) = trace.blame else { return String::new() };
    let held = (0..trace.actors.len()).filter_map(|who| why_it_holds(trace, who));
    held.chain(why_it_broke(trace, culprit)).collect::<Vec<_>>().join(" ")
}

/// How a client waits for ever.
fn why_it_starves(trace: &Trace, cycle: Cycle) -> String {
    let winners = |role: usize| {
        let won = |step: &Step| step.before.beliefs[role].is_none() && step.after.beliefs[role].is_some();
        trace.steps[cycle.from..].iter().any(won)
    };
    let winners: Vec<&str> =
        (0..trace.actors.len()).filter(|role| winners(*role)).map(|role| trace.actors[role].name.as_str()).collect();
    let (first, last) = (cycle.from + 1, trace.steps.len());
    let who = if winners.is_empty() {
        String::new()
    } else {
        format!("{} acquires again and again, ", winners.join(" and "))
    };
    let starving = &trace.actors[cycle.starving].name;
    format!(
        "Steps {first} to {last} can repeat for ever: every client goes on, time passes, {who}and {starving} never acquires."
    )
}

/// Why a client believes in the end that it holds.
fn why_it_holds(trace: &Trace, who: usize) -> Option<String> {
    let belief = (*trace.steps.last()?.after.beliefs.get(who)?)?;
    let won = |step: &Step| step.before.beliefs[who].is_none() && step.after.beliefs[who].is_some();
    let won = trace.steps.iter().rposition(won)?;
    let mine = trace.steps[..=won].iter().rev().filter(|step| step.actor == Some(who) && step.exchange.is_some());
    let wrote =
        |step: &&Step| step.before.keys.iter().zip(&step.after.keys).any(|(before, after)| writes(before, after));
    let decisive = mine.clone().find(wrote).or_else(|| mine.clone().next())?;
    let exchange = decisive.exchange.as_ref()?;
    let name = &trace.actors[who].name;
    Some(format!("{name} holds {} because its {} was answered {}.", period(belief), exchange.command, exchange.reply))
}

fn why_it_broke(trace: &Trace, culprit: usize) -> Option<String> {
    let step = trace.steps.get(culprit)?;
    let (name, at) = (trace.name_of(step), time(step.at_ms));
    if let Action::Tick | Action::Leap = step.action {
        let has_expired = |who: &usize| {
            step.before.beliefs[*who].is_some_and(|held| held.from_ms + trace.actors[*who].lease_ms <= step.at_ms)
        };
        let whose = (0..trace.actors.len()).find(has_expired)?;
        return Some(format!("At {at}, {}'s lease expired.", trace.actors[whose].name));
    }
    let Some(exchange) = &step.exchange else {
        return Some(format!("At {at}, {name} {}.", super::step_text::event(&step.event)));
    };
    let decided = trace.steps[..culprit].iter().rev().find(|earlier| earlier.actor == step.actor);
    let late = decided.map(|earlier| earlier.at_ms).filter(|decided| *decided < step.at_ms);
    let decided = late.map(|decided| format!(", decided at {},", time(decided))).unwrap_or_default();
    Some(format!("{name}'s {}{decided} ran at {at} and was answered {}.", exchange.command, exchange.reply))
}

/// `[0 s, 2 s)`.
fn period(belief: Belief) -> String {
    match belief.until_ms {
        Some(until_ms) => format!("[{}, {})", time(belief.from_ms), time(until_ms)),
        None => format!("from {} until it releases", time(belief.from_ms)),
    }
}

/// Whether a key holds something else than before.
fn writes(before: &Option<Content>, after: &Option<Content>) -> bool {
    before.as_ref().map(|content| &content.value) != after.as_ref().map(|content| &content.value)
}
