//! The rows as they are written: each field that a row sets counts, and no field is set to what it has already.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::{env, fs};

use lockshift_legacy::Dialect;
use lockshift_legacy::catalogue::{catalogue, find};

/// Every field of a row as text, by its name.
fn fields(row: &Dialect) -> BTreeMap<&'static str, String> {
    let Dialect {
        name,
        also,
        family,
        language,
        source,
        key,
        keys,
        form,
        lease_unit,
        clock,
        claim,
        look,
        takeover,
        candidate,
        loser,
        ttl,
        refresh,
        release,
        retry,
        on_error,
    } = row;
    BTreeMap::from([
        ("name", format!("{name:?}")),
        ("also", format!("{also:?}")),
        ("family", format!("{family:?}")),
        ("language", format!("{language:?}")),
        ("source", format!("{source:?}")),
        ("key", format!("{key:?}")),
        ("keys", format!("{keys:?}")),
        ("form", format!("{form:?}")),
        ("lease_unit", format!("{lease_unit:?}")),
        ("clock", format!("{clock:?}")),
        ("claim", format!("{claim:?}")),
        ("look", format!("{look:?}")),
        ("takeover", format!("{takeover:?}")),
        ("candidate", format!("{candidate:?}")),
        ("loser", format!("{loser:?}")),
        ("ttl", format!("{ttl:?}")),
        ("refresh", format!("{refresh:?}")),
        ("release", format!("{release:?}")),
        ("retry", format!("{retry:?}")),
        ("on_error", format!("{on_error:?}")),
    ])
}

/// A row as its source has it.
struct Source {
    name: String,
    set: Vec<String>,
    base: Option<String>,
}

/// The rows in the catalogue's files, by the names of their constants.
fn sources() -> BTreeMap<String, Source> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/catalogue");
    let mut found = BTreeMap::new();
    for file in fs::read_dir(folder).expect("the catalogue is there") {
        let text = fs::read_to_string(file.expect("a file").path()).expect("it can be read");
        for row in text.split("\npub const ").skip(1) {
            let Some((constant, body)) = row.split_once(": Dialect =") else { continue };
            let body = body.split_once("\n};").or(body.split_once("};")).expect("a row ends").0;
            let one_line = !body.trim_start().starts_with("Dialect {\n");
            let body = if one_line { body.replace(", ", ",\n    ").replace("{ ", "{\n    ") } else { body.to_owned() };
            let lines = body.lines().filter_map(|line| line.strip_prefix("    ").filter(|line| !line.starts_with(' ')));
            let mut source = Source { name: String::new(), set: Vec::new(), base: None };
            for line in lines {
                match (line.strip_prefix(".."), line.split_once(": ")) {
                    (Some(base), _) => source.base = Some(base.trim_matches([' ', ',', '}']).to_owned()),
                    (None, Some((field, value))) => {
                        if field == "name" {
                            source.name = value.trim_matches(['"', ',']).to_owned();
                        }
                        source.set.push(field.to_owned());
                    }
                    (None, None) => {}
                }
            }
            found.insert(constant.to_owned(), source);
        }
    }
    found
}

#[test]
fn no_row_sets_a_field_to_what_its_base_has() {
    let sources = sources();
    assert_eq!(sources.len(), catalogue().count(), "a row is not understood");
    let mut needless = Vec::new();
    for (constant, source) in &sources {
        let Some(base) = &source.base else { continue };
        let row = find(&source.name).unwrap_or_else(|| panic!("{constant}: no row {}", source.name));
        let base = find(&sources[base].name).expect("its base is a row");
        let (own, inherited) = (fields(row), fields(base));
        let same = source.set.iter().filter(|field| own[field.as_str()] == inherited[field.as_str()]);
        needless.extend(same.map(|field| format!("{}: {field}", source.name)));
    }
    assert!(needless.is_empty(), "these fields are inherited already:\n{}", needless.join("\n"));
}

/// `rows.txt` has every row as `lockshift protocols` describes it, its other names and its source: a field that is deleted
/// from a row changes it. Run with
/// `LOCKSHIFT_BLESS=1`, it is written anew; what changes is then to be held against the program's source.
#[test]
fn every_row_is_as_it_was_read_in_its_source() {
    let mut actual = String::new();
    for row in catalogue() {
        writeln!(actual, "{} ({}, {}, {})", row.name, row.family, row.language, row.key).expect("a String");
        if !row.also.is_empty() {
            writeln!(actual, "  also: {}", row.also.join(", ")).expect("a String");
        }
        writeln!(actual, "  source: {}", row.source).expect("a String");
        writeln!(actual, "  writes: {}; leases in {}", row.encoding(), row.lease_unit).expect("a String");
        for option in row.options() {
            writeln!(actual, "  {option}").expect("a String");
        }
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/rows.txt");
    if env::var_os("LOCKSHIFT_BLESS").is_some() {
        fs::write(&path, &actual).expect("it can be written");
    }
    let expected = fs::read_to_string(&path).expect("the table is there");
    for (number, (actual, expected)) in (1..).zip(actual.lines().zip(expected.lines())) {
        assert_eq!(actual, expected, "line {number} of tests/data/rows.txt");
    }
    assert_eq!(actual.lines().count(), expected.lines().count(), "rows were added or deleted");
}
