//! Files of one crate do not import each other in a circle.
//!
//! A file imports the file that *defines* what it names: `pub use` lines are followed, and are no imports themselves, so
//! that a parent may declare and re-export its children while they use each other.

use std::collections::{BTreeMap, BTreeSet};

use super::paths::{Mention, mentions};
use super::sources::{Source, all_sources};

/// A module of a crate: `["driver", "blocking"]`; the root is empty.
type Module = Vec<String>;
/// What each module mentions.
type Mentions = BTreeMap<Module, Vec<Mention>>;
/// Which modules each module imports.
type Imports = BTreeMap<Module, BTreeSet<Module>>;

/// The folders of the crates that the library consists of; the root package has its sources in `src`.
const CRATES: [&str; 5] = ["", "wire", "lock", "legacy", "modern"];

#[test]
fn no_files_import_each_other_in_a_circle() {
    let sources = all_sources();
    let circles = CRATES.iter().filter_map(|folder| {
        let files = sources.iter().filter_map(|source| Some((module(folder, source)?, source.text.as_str())));
        let imports = imports(files);
        assert!(!imports.is_empty(), "the sources of `{folder}` were not found");
        Some(format!("{folder}: {}", circle(&imports)?.join(" -> ")))
    });
    let circles: Vec<_> = circles.collect();
    assert!(circles.is_empty(), "these files import each other in a circle:\n{}", circles.join("\n"));
}

#[test]
fn a_circle_is_caught_and_a_re_export_is_not_a_circle() {
    let tree = [
        (vec![], "mod shop; pub use shop::Till;"),
        (vec!["shop".to_owned()], "mod till; mod coin; pub use till::Till; pub use coin::Coin;"),
        (vec!["shop".to_owned(), "till".to_owned()], "use super::Coin;"),
    ];
    let with = |coin: &'static str| {
        let coin = (vec!["shop".to_owned(), "coin".to_owned()], coin);
        circle(&imports(tree.clone().into_iter().chain([coin])))
    };
    assert_eq!(with("use std::fmt;"), None);
    assert_eq!(
        with("fn owner() -> crate::Till { todo!() }"),
        Some(["shop::coin", "shop::till", "shop::coin"].map(str::to_owned).to_vec())
    );
}

/// The module that this file is, in the crate of this folder; `None` for files of other crates.
fn module(folder: &str, source: &Source) -> Option<Module> {
    let inside = source.path.strip_prefix(folder).ok()?.strip_prefix("src").ok()?.with_extension("");
    let module: Module = inside.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    match module[0].as_str() {
        "lib" => Some(Module::new()),
        "main" | "bin" => None,
        _ => Some(module),
    }
}

fn imports<'a>(files: impl Iterator<Item = (Module, &'a str)>) -> Imports {
    let all: Mentions = files.map(|(module, text)| (module, mentions(text))).collect();
    let of = |(from, paths): (&Module, &Vec<Mention>)| {
        let named =
            paths.iter().filter(|path| !path.handed_on).filter_map(|path| definer(&all, from, &path.segments, 0));
        (from.clone(), named.filter(|to| to != from).collect())
    };
    all.iter().map(of).collect()
}

/// The module that defines what `path` names, seen from `from`; `None` for other crates.
fn definer(all: &Mentions, from: &Module, path: &[String], hops: usize) -> Option<Module> {
    let absolute = absolute(all, from, path)?;
    let inside = (0..=absolute.len()).rev().find(|&length| all.contains_key(&absolute[..length]))?;
    let (module, rest) = absolute.split_at(inside);
    let handed_on =
        |name: &String| all[module].iter().find(|path| path.handed_on && path.segments.last() == Some(name));
    match rest.first().and_then(handed_on) {
        Some(path) if hops < 8 => definer(all, &module.to_vec(), &path.segments, hops + 1),
        _ => Some(module.to_vec()),
    }
}

/// The path from the crate's root on; `None` if it leads out of the crate.
fn absolute(all: &Mentions, from: &Module, path: &[String]) -> Option<Module> {
    let ups = path.iter().take_while(|segment| *segment == "super").count();
    let below = |base: &[String], rest: &[String]| Some([base, rest].concat());
    match path[0].as_str() {
        "crate" => below(&[], &path[1..]),
        "self" => below(from, &path[1..]),
        "super" => below(from.get(..from.len().checked_sub(ups)?)?, &path[ups..]),
        child if all.contains_key(&[from.as_slice(), &[child.to_owned()]].concat()) => below(from, path),
        _ => None,
    }
}

/// The first circle found, its first module named again at the end.
fn circle(imports: &Imports) -> Option<Vec<String>> {
    let mut done = BTreeSet::new();
    imports.keys().find_map(|start| walk(imports, start, &mut Vec::new(), &mut done))
}

fn walk(imports: &Imports, at: &Module, way: &mut Vec<Module>, done: &mut BTreeSet<Module>) -> Option<Vec<String>> {
    if let Some(start) = way.iter().position(|passed| passed == at) {
        let circle = way[start..].iter().chain([at]);
        return Some(circle.map(|module| module.join("::")).collect());
    }
    if !done.insert(at.clone()) {
        return None;
    }
    way.push(at.clone());
    let found = imports.get(at)?.iter().find_map(|next| walk(imports, next, way, done));
    way.pop();
    found
}
