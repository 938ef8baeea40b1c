//! The protocols that may be spoken, in one line.

use crate::protocols::{Generation, Protocol, find};

/// Maximum number of protocols that are named for each generation.
const NAMED: usize = 3;

/// Protocols of one generation, behind one kind of guard or none.
struct Group<'a> {
    generation: Option<Generation>,
    /// What the name of a client behind a guard begins with.
    prefix: Option<&'a str>,
    names: Vec<&'a str>,
}

/// The protocols, those of each generation and behind each kind of guard by themselves: alternatives that the trace cannot tell
/// apart.
pub(super) fn alternatives(dialects: &[String], all: bool) -> String {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for name in dialects {
        let prefix = name.split_once(':').map(|(prefix, _)| prefix);
        let generation = find(name).ok().map(Protocol::generation);
        match groups.iter_mut().find(|group| group.generation == generation && group.prefix == prefix) {
            Some(group) => group.names.push(name),
            None => groups.push(Group { generation, prefix, names: vec![name] }),
        }
    }
    let groups: Vec<String> = groups.into_iter().map(|group| of_generation(&group.names, all)).collect();
    groups.join("; ")
}

fn of_generation(dialects: &[&str], all: bool) -> String {
    let named = if all { dialects.len() } else { NAMED };
    let more = dialects.len().saturating_sub(named);
    let more = if more > 0 { format!(", or {more} more") } else { String::new() };
    dialects[..named.min(dialects.len())].join(", ") + &more
}
