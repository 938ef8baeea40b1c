//! Words that must not be in the repository: paths of one machine, and the old private vocabulary.

use std::fs;

use super::sources::{all_files, root};

#[test]
fn nothing_here_names_the_machine_it_was_written_on() {
    // In two parts each, or this file would be the first to break the rule.
    let foreign = [["/wo", "rk/"], ["../sha", "red"], ["/tmp", "/wt"], ["/ho", "me/"], ["/ro", "ot/"], ["/Us", "ers/"]];
    let foreign = foreign.map(|halves| halves.concat());
    let mut broken = Vec::new();
    for path in all_files() {
        let Ok(text) = fs::read_to_string(root().join(&path)) else { continue };
        for (number, line) in text.lines().enumerate() {
            if foreign.iter().any(|word| line.contains(word)) {
                broken.push(format!("{}:{}: {line}", path.display(), number + 1));
            }
        }
    }
    assert!(broken.is_empty(), "these lines name a place that no other client has:\n{}", broken.join("\n"));
}
