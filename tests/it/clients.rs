//! The packages in other languages carry the tables and the scripts of this library, as it sends them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use lockshift::bridge::{Bridge, tables};
use lockshift::legacy;
use lockshift::lock::Lease;
use lockshift::wire::script_file;

use crate::golden::golden;

/// Where each package keeps its tables and scripts.
const FOLDERS: &[&str] = &[
    "clients/java/src/main/resources/dev/lockshift",
    "clients/node/data",
    "clients/php/data",
    "clients/python/lockshift/data",
];

#[test]
fn every_package_has_the_tables_of_the_catalogue() {
    let tables = tables();
    for folder in FOLDERS {
        golden(&format!("{folder}/shapes.tsv"), &tables.shapes);
        golden(&format!("{folder}/dialects.tsv"), &tables.dialects);
    }
}

#[test]
fn every_package_has_the_scripts_of_this_library_byte_for_byte() {
    let scripts = [
        ("bridge-acquire", script_file!("../../src/bridge/lua/acquire.lua").text()),
        ("bridge-extend", script_file!("../../src/bridge/lua/extend.lua").text()),
        ("bridge-release", script_file!("../../src/bridge/lua/release.lua").text()),
        ("token-extend", script_file!("../../modern/src/lua/extend.lua").text()),
        ("token-release", script_file!("../../modern/src/lua/release.lua").text()),
    ];
    for folder in FOLDERS {
        for (name, text) in scripts {
            golden(&format!("{folder}/{name}.lua"), text);
        }
    }
}

/// Which fleets the packages accept: none of its dialects takes over what another one writes, and one stamp keeps out all of them.
#[test]
fn a_package_accepts_the_fleets_of_two_dialects_that_this_library_accepts() {
    let lease = Lease::new(Duration::from_secs(60)).unwrap();
    let table = tables().dialects;
    let rows: BTreeMap<&str, Vec<&str>> = table
        .lines()
        .map(|row| row.split('\t').collect::<Vec<_>>())
        .map(|columns| (columns[0], columns[1..].to_vec()))
        .collect();
    let leaves = |name: &str| rows[name][4].split(',').collect::<BTreeSet<_>>();
    let respected: BTreeMap<&str, BTreeSet<&str>> = rows.keys().map(|name| (*name, leaves(name))).collect();
    let mut differ = Vec::new();
    for (one, own) in &rows {
        for (other, others) in rows.range::<str, _>((std::ops::Bound::Excluded(*one), std::ops::Bound::Unbounded)) {
            let both = [&respected[one], &respected[other]];
            let excludes = both[1].contains(own[0]) && both[0].contains(others[0]);
            let has_stamp = [own[1], others[1]].iter().any(|stamp| both.iter().all(|leaves| leaves.contains(stamp)));
            let dialects = [one, other].map(|name| legacy::find(name).unwrap());
            let is_accepted = Bridge::new(&dialects, "k".into(), lease).is_ok();
            if (excludes && has_stamp) != is_accepted {
                differ.push((*one, *other, is_accepted));
            }
        }
    }
    assert!(differ.is_empty(), "{differ:?}");
}
