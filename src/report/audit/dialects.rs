//! The protocols that may be spoken, in one line.

use crate::protocols::{Generation, Protocol, find};

/// Maximum number of protocols that are named for each generation.
const NAMED: usize = 3;

/// The protocols, those of each generation by themselves: alternatives that the trace cannot tell apart.
pub(super) fn alternatives(dialects: &[String], all: bool) -> String {
    let mut groups: Vec<(Option<Generation>, Vec<&str>)> = Vec::new();
    for dialect in dialects {
        let generation = find(dialect).ok().map(Protocol::generation);
        match groups.iter_mut().find(|(other, _)| *other == generation) {
            Some((_, group)) => group.push(dialect),
            None => groups.push((generation, vec![dialect])),
        }
    }
    let groups: Vec<String> = groups.into_iter().map(|(_, group)| of_generation(&group, all)).collect();
    groups.join("; ")
}

fn of_generation(dialects: &[&str], all: bool) -> String {
    let named = if all { dialects.len() } else { NAMED };
    let more = dialects.len().saturating_sub(named);
    let more = if more > 0 { format!(", or {more} more") } else { String::new() };
    dialects[..named.min(dialects.len())].join(", ") + &more
}
