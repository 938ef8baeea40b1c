//! One race as an HTML page that needs nothing else.

use super::super::exploration::grouped;
use super::super::timeline::{Page, Prevented};
use super::behind_guard;
use crate::races::{Checked, RaceProtocol, RaceResult, Remedy, Speaks};

/// The page of a race, what prevents it beside it; nothing if it was not found.
pub fn race_page(result: &RaceResult) -> Option<String> {
    let race = result.race;
    let found = result.found.as_ref()?;
    let mut facts = vec![
        ("Race", race.id.to_string()),
        ("Protocol", race.protocol()),
        ("Breaks", race.violates.to_string()),
        ("Steps", found.trace.steps.len().to_string()),
        ("States seen", grouped(found.states)),
        ("Sources", race.sources.join("; ")),
    ];
    facts.extend(
        behind_guard::paragraphs(&result.behind_guards, &race.scenario).into_iter().map(|line| ("Guard", line)),
    );
    let best = best(result).map(|(remedy, checked)| {
        (remedy.name(&race.scenario), remedy.because, grouped(checked.states), race.under(remedy, found))
    });
    let prevented =
        best.as_ref().map(|(remedy, because, states, followed)| Prevented { remedy, because, states, followed });
    Some(Page { title: race.title, story: race.story, facts: &facts, trace: &found.trace, prevented }.html())
}

/// The remedy that says most beside the race: the token lock where that helps, or else the first that does.
fn best(result: &RaceResult) -> Option<&(&'static Remedy, Checked)> {
    let helps = || result.prevented_by.iter().filter(|(_, checked)| checked.prevents());
    helps().find(|(remedy, _)| remedy.speaks == Speaks::All(RaceProtocol::TOKEN)).or_else(|| helps().next())
}
