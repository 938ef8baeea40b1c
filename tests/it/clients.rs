//! The packages in other languages carry the tables and the scripts of this library, as it sends them.

use lockshift::bridge::tables;
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
