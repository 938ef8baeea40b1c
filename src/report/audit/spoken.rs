//! Which protocols may have been spoken, in a line.

use crate::protocols::{Generation, Protocol, find};

/// So many protocols are named in a line.
const NAMED: usize = 3;

/// The protocols, those of each generation by themselves: what they have in common is that nobody can tell them apart.
pub(super) fn spoken(dialects: &[String], all: bool) -> String {
    let mut groups: Vec<(Option<Generation>, Vec<&str>)> = Vec::new();
    for dialect in dialects {
        let generation = find(dialect).ok().map(Protocol::generation);
        match groups.iter_mut().find(|(other, _)| *other == generation) {
            Some((_, group)) => group.push(dialect),
            None => groups.push((generation, vec![dialect])),
        }
    }
    let groups: Vec<String> = groups.into_iter().map(|(_, group)| alternatives(&group, all)).collect();
    groups.join("; ")
}

fn alternatives(dialects: &[&str], all: bool) -> String {
    let named = if all { dialects.len() } else { NAMED };
    let more = dialects.len().saturating_sub(named);
    let more = if more > 0 { format!(", or {more} more") } else { String::new() };
    dialects[..named.min(dialects.len())].join(", ") + &more
}
