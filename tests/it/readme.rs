//! The README shows three races: what stands there is what the command prints.

use std::fs;
use std::path::Path;

use crate::cli::{done, lockshift};
use crate::golden::golden;

const BEGINS: &str = "<!-- races:";
const ENDS: &str = "<!-- /races -->";

#[test]
fn the_races_in_the_readme_are_those_that_the_command_shows() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let readme = fs::read_to_string(path).expect("there is a README");
    let mut parts = readme.split(BEGINS);
    let mut renewed = parts.next().unwrap_or_default().to_owned();
    let mut shown = 0;
    for part in parts {
        let (id, rest) = part.split_once(" -->").expect("a marker names a race and ends");
        let (_, after) = rest.split_once(ENDS).expect("what begins ends");
        renewed +=
            &format!("{BEGINS}{id} -->\n\n```console\n$ lockshift races --show {id}\n{}```\n\n{ENDS}{after}", show(id));
        shown += 1;
    }
    assert_eq!(shown, 3, "three races are told");
    golden("README.md", &renewed);
}

#[test]
fn every_feature_in_the_readme_has_the_test_that_it_names() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = fs::read_to_string(root.join("README.md")).expect("there is a README");
    let (_, table) = readme.split_once("| feature | held by |").expect("there is a table of features");
    let table = table.split("\n\n").next().unwrap_or_default();
    let links: Vec<_> =
        table.split("[`").skip(1).filter_map(|link| link.split(')').next()?.split_once("`](")).collect();
    assert!(links.len() > 20, "{table}");
    for (test, file) in links {
        let source = fs::read_to_string(root.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
        assert!(source.contains(&format!("fn {test}")), "there is no test {test} in {file}");
    }
}

fn show(id: &str) -> String {
    let told = done(lockshift(), ["races", "--show", id]);
    assert_eq!((told.code, told.stderr.as_str()), (Some(0), ""), "{id}");
    told.stdout
}
