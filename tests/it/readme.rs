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

fn show(id: &str) -> String {
    let told = done(lockshift(), ["races", "--show", id]);
    assert_eq!((told.code, told.stderr.as_str()), (Some(0), ""), "{id}");
    told.stdout
}
