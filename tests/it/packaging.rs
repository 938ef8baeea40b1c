//! What `packaging/build` packs: the files that the metadata names exist or are made, and every version is that of the
//! workspace. Building the packages takes minutes and is a command of its own.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Where the script puts what the binary prints: man pages, completions, the unit.
const MADE: &str = "target/packaging/share/";

#[test]
fn every_file_of_a_package_exists_or_is_made_by_the_script() {
    let script = read("packaging/build");
    for (kind, assets) in packages() {
        assert!(assets.len() >= 10, "{kind}: {assets:?}");
        for asset in assets {
            let is_made = asset.source.strip_prefix(MADE).is_some_and(|made| {
                let name = made.strip_suffix("/*.1.gz").unwrap_or(made);
                script.contains(name)
            });
            let is_there = asset.source == "target/release/lockshift" || root().join(&asset.source).is_file();
            assert!(is_made || is_there, "{kind} packs {}, which is not there", asset.source);
        }
    }
}

#[test]
fn both_packages_install_the_same() {
    let names = |assets: &[Asset]| -> BTreeSet<String> { assets.iter().map(|asset| asset.source.clone()).collect() };
    let [deb, rpm] = packages().map(|(_, assets)| names(&assets));
    assert_eq!(deb, rpm);
}

#[test]
fn the_unit_in_a_package_runs_what_the_package_installs() {
    let (unit, script) = (read("deploy/lockshift-guard.service"), read("packaging/build"));
    assert!(unit.contains("ExecStart=/usr/local/bin/lockshift "), "{unit}");
    assert!(script.contains("sed 's#/usr/local/bin/#/usr/bin/#' deploy/lockshift-guard.service"));
    let start = unit.lines().find(|line| line.starts_with("ExecStart=")).expect("it starts a program");
    let options = start.split_once("--config ").expect("it reads its options").1;
    for (kind, assets) in packages() {
        let installs =
            |asset: &Asset| format!("/{}", asset.dest.trim_start_matches('/')).starts_with("/etc/lockshift/");
        let file = assets.iter().find(|asset| installs(asset)).unwrap_or_else(|| panic!("{kind} has no options"));
        let name = Path::new(&file.source).file_name().expect("a file has a name");
        assert_eq!(Path::new(options), Path::new("/etc/lockshift").join(name), "{kind}");
    }
}

#[test]
fn every_version_is_that_of_the_workspace() {
    let formula = read("packaging/homebrew/lockshift.rb");
    assert!(formula.contains(&format!("tag: \"v{VERSION}\"")), "{formula}");
    for (file, line) in [
        ("clients/node/package.json", format!("\"version\": \"{VERSION}\"")),
        ("clients/python/pyproject.toml", format!("version = \"{VERSION}\"")),
        ("clients/java/pom.xml", format!("<version>{VERSION}</version>")),
    ] {
        assert!(read(file).contains(&line), "{file} has no {line}");
    }
}

/// A file in a package.
#[derive(Debug)]
struct Asset {
    source: String,
    dest: String,
}

/// What each kind of package holds, from the metadata in `Cargo.toml`.
fn packages() -> [(&'static str, Vec<Asset>); 2] {
    let cargo = std::env::var("CARGO").expect("cargo runs the tests");
    let mut command = Command::new(cargo);
    command.args(["metadata", "--format-version", "1", "--no-deps", "--frozen"]).current_dir(root());
    let output = command.output().expect("cargo runs");
    assert!(output.status.success(), "{output:?}");
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    let packages = metadata["packages"].as_array().expect("it lists packages");
    let package = packages.iter().find(|package| package["name"] == "lockshift").expect("this one is there");
    let metadata = &package["metadata"];
    let text = |value: &Value| value.as_str().expect("a path is text").to_owned();
    let assets = |kind: &str, source: fn(&Value) -> [&Value; 2]| {
        let listed = metadata[kind]["assets"].as_array().expect("a package has assets");
        let asset = |entry: &Value| Asset { source: text(source(entry)[0]), dest: text(source(entry)[1]) };
        listed.iter().map(asset).collect()
    };
    [
        ("deb", assets("deb", |entry| [&entry[0], &entry[1]])),
        ("rpm", assets("generate-rpm", |entry| [&entry["source"], &entry["dest"]])),
    ]
}

fn read(file: &str) -> String {
    fs::read_to_string(root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}
