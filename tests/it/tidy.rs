//! The rules of the house, as tests: what no compiler checks and no reviewer should have to.

mod cycles;
mod enums;
mod paths;
mod rooms;
mod sources;
mod words;

use std::collections::BTreeSet;
use std::process::Command;

use sources::{Source, all_sources};

#[test]
fn a_file_says_first_what_it_is() {
    each(|source| source.text.starts_with("//! "), "opens with `//!`: what it is, and where it ends");
}

#[test]
fn a_module_is_a_file_of_its_name() {
    each(|source| !source.path.ends_with("mod.rs"), "is `foo.rs` beside `foo/`, never `foo/mod.rs`");
}

#[test]
fn a_module_is_named_after_what_is_in_it() {
    const SAY_NOTHING: [&str; 9] = ["util", "utils", "common", "helper", "helpers", "manager", "misc", "type", "types"];
    each(|source| !SAY_NOTHING.contains(&source.stem().as_str()), "has a name that says what is in it");
}

#[test]
fn pure_crates_have_no_machine_under_them() {
    for pure in ["wire", "lock", "legacy", "modern"] {
        let root = Source::read(format!("{pure}/src/lib.rs"));
        assert!(root.text.contains("\n#![no_std]\n"), "{pure} is no_std: no socket, clock or thread exists in it");
    }
}

#[test]
fn clocks_and_chance_are_asked_for_in_one_place() {
    let escapes = |source: &Source| source.text.contains(concat!("clippy::", "disallowed_methods"));
    let allowed = |source: &Source| source.path.starts_with("tests") || source.path.ends_with("src/driver/host.rs");
    each(|source| allowed(source) || !escapes(source), "leaves clocks, sleeping and randomness to src/driver/host.rs");
}

#[test]
fn this_binary_has_an_index() {
    let main = Source::read("tests/it/main.rs");
    let modules = main.text.lines().filter_map(|line| line.strip_prefix("mod ")?.strip_suffix(';'));
    let missing: Vec<_> = modules.filter(|name| !main.text.contains(&format!("//! - [`{name}`]: "))).collect();
    assert!(missing.is_empty(), "tests/it/main.rs does not say what these are: {missing:?}");
}

#[test]
fn the_library_alone_brings_no_command_line_and_no_runtime() {
    let listed = cargo_tree(&["--package=lockshift", "--no-default-features", "--edges=normal", "--prefix=none"]);
    let packages: Vec<_> = listed.lines().filter_map(|line| line.split(' ').next()).collect();
    assert!(packages.contains(&"redis"), "{listed}");
    for unwanted in ["clap", "mlua", "indicatif", "env_logger", "serde", "tokio", "smol", "async-std"] {
        assert!(!packages.contains(&unwanted), "without default features the library still brings {unwanted}");
    }
}

/// Panics with the files that do not keep the rule.
fn each(keeps: impl Fn(&Source) -> bool, rule: &str) {
    let sources = all_sources();
    assert!(sources.len() > 30, "the sources were not found");
    let broken: Vec<_> = sources.iter().filter(|source| !keeps(source)).map(|source| source.path.display()).collect();
    assert!(broken.is_empty(), "every .rs file {rule}, but not {broken:#?}");
}

/// Each dependency is weighed before it is added.
#[test]
fn each_dependency_of_the_library_has_its_reason() {
    let architecture = Source::read("ARCHITECTURE.md").text;
    let section = architecture.split("\n## ").find(|section| section.starts_with("Dependencies")).unwrap();
    let reasons: BTreeSet<&str> =
        section.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`')).map(|(name, _)| name).collect();
    let tree = cargo_tree(&[
        "--workspace",
        "--edges=normal",
        "--no-default-features",
        "--depth=1",
        "--prefix=depth",
        "--no-dedupe",
    ]);
    let names = tree.lines().filter_map(|line| line.strip_prefix('1')?.split_whitespace().next());
    let depends: BTreeSet<&str> = names.filter(|name| !name.starts_with("lockshift-")).collect();
    assert_eq!(depends, reasons, "on the left what the library depends on, on the right what ARCHITECTURE.md explains");
}

/// Crates share instances of generic functions, so the library would run those of a dependency that is not optimised.
#[test]
fn each_dependency_of_the_library_is_optimised() {
    let manifest = Source::read("Cargo.toml").text;
    let section = manifest.split("\n[profile.dev.package]\n").nth(1).and_then(|rest| rest.split("\n[").next()).unwrap();
    let slow: BTreeSet<&str> = section.lines().filter_map(|line| Some(line.split_once(" = ")?.0)).collect();
    assert!(slow.contains("jsonschema"), "the list was not found: {section}");
    let listed = cargo_tree(&["--workspace", "--all-features", "--edges=normal", "--prefix=none"]);
    let used: BTreeSet<&str> = listed.lines().filter_map(|line| line.split(' ').next()).collect();
    assert!(used.contains("tokio"), "{listed}");
    assert_eq!(slow.intersection(&used).collect::<Vec<_>>(), Vec::<&&str>::new());
}

/// What `cargo tree` lists, each line with a name and its version.
fn cargo_tree(args: &[&str]) -> String {
    let cargo = std::env::var("CARGO").expect("cargo runs the tests");
    let mut tree = Command::new(cargo);
    tree.args(["tree", "--frozen", "--format={p}"]).args(args).current_dir(sources::root());
    let output = tree.output().expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("package names are text")
}
