//! Who may import whom: the table in ARCHITECTURE.md, held.

use std::collections::BTreeMap;

use super::paths::mentions;
use super::sources::{Source, all_sources};

/// What each room under `src/` may import; `None`: everything.
type Law = BTreeMap<String, Option<Vec<String>>>;

#[test]
fn rooms_import_only_what_the_architecture_allows() {
    let law = law(&Source::read("ARCHITECTURE.md").text);
    assert!(law.len() >= 5, "the table in ARCHITECTURE.md was not found");
    let broken: Vec<_> = all_sources().iter().flat_map(|source| trespasses(source, &law)).collect();
    assert!(broken.is_empty(), "ARCHITECTURE.md does not allow this:\n{}", broken.join("\n"));
}

#[test]
fn every_room_stands_in_the_architecture() {
    let law = law(&Source::read("ARCHITECTURE.md").text);
    let sources = all_sources();
    let unknown: Vec<_> = sources.iter().filter_map(room).filter(|room| !law.contains_key(room)).collect();
    assert!(unknown.is_empty(), "the table in ARCHITECTURE.md does not know {unknown:?}");
}

#[test]
fn a_trespasser_is_caught() {
    let law = law("| `src/driver` | `wire`, `lock` | any protocol |\n| `src/cli` | everything below | bytes |\n");
    let file = |path: &str, text: &str| Source { path: path.into(), text: text.to_owned() };

    let honest = "use crate::wire::Key;\nuse lockshift_lock::Hold;\nuse super::host;\nuse redis::Cmd;\n";
    assert_eq!(trespasses(&file("src/driver/blocking.rs", honest), &law), [""; 0]);
    assert_eq!(trespasses(&file("src/cli/run.rs", "use crate::driver::Guard;"), &law), [""; 0]);

    for trespass in
        ["use lockshift_modern::TokenLock;", "use crate::{wire, modern::TokenLock};", "use super::super::modern;"]
    {
        let caught = trespasses(&file("src/driver/blocking.rs", trespass), &law);
        assert_eq!(caught, ["src/driver/blocking.rs imports `modern`"], "{trespass}");
    }
}

/// The rows of the table: `| `src/driver` | `wire`, `lock` | ... |`; a row may stand for several rooms.
fn law(architecture: &str) -> Law {
    let mut law = Law::new();
    for row in architecture.lines().filter(|line| line.starts_with("| `src/")) {
        let mut cells = row.split('|').map(str::trim).skip(1);
        let (rooms, allowed) = (cells.next().unwrap_or_default(), cells.next().unwrap_or_default());
        let allowed = (allowed != "everything below").then(|| quoted(allowed));
        for room in quoted(rooms) {
            law.insert(room, allowed.clone());
        }
    }
    law
}

/// The words in backticks, without their folder.
fn quoted(cell: &str) -> Vec<String> {
    cell.split('`').skip(1).step_by(2).map(|word| word.trim_start_matches("src/").to_owned()).collect()
}

/// The room under `src/` that the file belongs to.
fn room(source: &Source) -> Option<String> {
    let inside = source.path.strip_prefix("src").ok()?.with_extension("");
    let room = inside.iter().next()?.to_str()?.to_owned();
    (room != "lib" && room != "main").then_some(room)
}

/// What the file imports against the law.
fn trespasses(source: &Source, law: &Law) -> Vec<String> {
    let Some(room) = room(source) else { return Vec::new() };
    let Some(Some(allowed)) = law.get(&room) else { return Vec::new() };
    let depth = source.path.with_extension("").iter().count() - 1;
    let imported = mentions(&source.text).into_iter().filter_map(|path| imported_room(&path.segments, depth));
    let mut trespasses: Vec<_> = imported.filter(|other| *other != room && !allowed.contains(other)).collect();
    trespasses.sort();
    trespasses.dedup();
    trespasses.into_iter().map(|other| format!("{} imports `{other}`", source.path.display())).collect()
}

/// The room that a path leads to, from a file that many modules below the crate's root; `None` for foreign crates.
fn imported_room(path: &[String], depth: usize) -> Option<String> {
    let ups = path.iter().take_while(|segment| *segment == "super").count();
    match path[0].as_str() {
        "crate" | "lockshift" => path.get(1).cloned(),
        "super" if ups == depth => path.get(ups).cloned(),
        name => name.strip_prefix("lockshift_").map(str::to_owned),
    }
}
