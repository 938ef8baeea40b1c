//! CONTRIBUTING says which files a change edits. Each list has an example, and names the files in which that example
//! stands: no more and no fewer.

use std::collections::BTreeSet;
use std::path::Path;

use super::{read, root};

#[test]
fn the_lists_of_files_to_edit_are_complete() {
    let text = read("CONTRIBUTING.md");
    let sections: Vec<_> = text.split("\n### ").skip(1).collect();
    assert_eq!(sections.len(), 6, "a dialect, a modern lock, a race, a fault, a finding and an option");
    let files = sources();
    for section in sections {
        let (title, body) = section.split_once('\n').expect("a section has a body");
        let body = body.split("\n## ").next().unwrap_or_default();
        let example = body
            .lines()
            .find_map(|line| line.strip_prefix("Example: ").or(line.strip_prefix("Examples: ")))
            .expect("a section has an example");
        let needles: Vec<_> = example.split('`').skip(1).step_by(2).collect();
        let bullets = body.lines().filter_map(|line| line.strip_prefix("- ")?.split(':').next());
        let listed: BTreeSet<_> = bullets.flat_map(|paths| paths.split('`').skip(1).step_by(2)).collect();
        let holds = |text: &str| needles.iter().any(|needle| text.contains(needle));
        let found: BTreeSet<_> = files.iter().filter(|(_, text)| holds(text)).map(|(path, _)| path.as_str()).collect();
        assert!(
            !found.is_empty() && found == listed,
            "{title}: {needles:?} stands in {found:#?}, listed are {listed:#?}"
        );
    }
}

/// Every source, script and table of the workspace, by its path from the root.
fn sources() -> Vec<(String, String)> {
    let mut files = Vec::new();
    for room in ["wire", "lock", "legacy", "modern", "src", "tests"] {
        collect(&root().join(room), &mut files);
    }
    files
}

fn collect(folder: &Path, files: &mut Vec<(String, String)>) {
    for entry in std::fs::read_dir(folder).expect("the folder can be listed") {
        let path = entry.expect("an entry can be read").path();
        if path.is_dir() {
            // Recorded traces and foreign programs contain names that were not written for this list.
            if !["traces", "clients"].iter().any(|name| path.ends_with(name)) {
                collect(&path, files);
            }
        } else if path.extension().is_some_and(|kind| ["rs", "lua", "txt", "tsv"].iter().any(|known| kind == *known)) {
            let text = std::fs::read_to_string(&path).expect("a source is text");
            let name = path.strip_prefix(root()).expect("it is below the root").display().to_string();
            files.push((name, text));
        }
    }
}
