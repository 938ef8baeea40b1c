//! The JSON schemas of everything that is printed as JSON, made from the types that are printed: `schemas/NAME.json`.

use std::fs;
use std::path::PathBuf;

use clap::CommandFactory;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;

use super::args::Args;
use super::guard::event_line::EventLine;
use super::record::Recorded;
use crate::report::{
    AuditReport, ComparisonReport, Doctor, DryRun, Exploration, Granted, GuardStatistics, Inspection, Matrix, Odds,
    Planned, Protocols, Races, Ran, ScanReport, WatchEvent,
};

/// The locks of a server, and what was counted.
#[derive(Serialize, JsonSchema)]
struct ScanJson {
    locks: Vec<Inspection>,
    #[serde(flatten)]
    scanned: ScanReport,
}

/// What is printed, and by which arguments.
struct Printed {
    file: &'static str,
    by: &'static str,
    schema: fn() -> schemars::Schema,
}

const fn printed<T: JsonSchema>(file: &'static str, by: &'static str) -> Printed {
    let schema = || SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>();
    Printed { file, by, schema }
}

const PRINTED: [Printed; 18] = [
    printed::<AuditReport>("audit", "audit --json"),
    printed::<ComparisonReport>("compare", "compare --json"),
    printed::<Doctor>("doctor", "doctor --json"),
    printed::<DryRun>("dry-run", "dry-run --json"),
    printed::<Exploration>("explore", "explore --json"),
    printed::<GuardStatistics>("guard", "guard --json"),
    printed::<EventLine>("guard-event", "guard --events FILE: one line"),
    printed::<Inspection>("inspect", "inspect --json"),
    printed::<Matrix>("matrix", "matrix --json"),
    printed::<Odds>("odds", "odds --json"),
    printed::<Planned>("plan", "plan --json"),
    printed::<Protocols>("protocols", "protocols --json"),
    printed::<Granted>("protocols-acl", "protocols --acl --json"),
    printed::<Races>("races", "races --json"),
    printed::<Recorded>("record", "record --json: one line"),
    printed::<Ran>("run", "run --json, on standard error"),
    printed::<ScanJson>("scan", "scan --json"),
    printed::<WatchEvent>("watch", "watch --json: one line"),
];

/// Commands that print no result: scripts for shells, a manual, and the supervisor that `run` starts.
const WITHOUT_A_RESULT: [&str; 3] = ["completions", "man", "supervise"];

fn path(file: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "schemas", &format!("{file}.json")].iter().collect()
}

#[test]
fn the_schema_files_are_those_of_the_types() {
    for Printed { file, by, schema } in PRINTED {
        let mut schema = schema();
        schema.insert("title".to_owned(), format!("lockshift {by}").into());
        let actual = serde_json::to_string_pretty(&schema).expect("a schema is JSON") + "\n";
        if std::env::var_os("LOCKSHIFT_BLESS").is_some() {
            fs::write(path(file), &actual).expect("the file can be written");
        }
        let kept = fs::read_to_string(path(file)).unwrap_or_default();
        assert!(kept == actual, "schemas/{file}.json is not that of its type: run the test with LOCKSHIFT_BLESS=1");
    }
}

#[test]
fn every_command_that_prints_a_result_has_a_schema_and_every_schema_is_listed() {
    for command in Args::command().get_subcommands() {
        let has_schema = PRINTED.iter().any(|printed| printed.file == command.get_name());
        let has_none = WITHOUT_A_RESULT.contains(&command.get_name());
        assert!(has_schema != has_none, "{} prints JSON that no schema describes", command.get_name());
    }
    let document = fs::read_to_string([env!("CARGO_MANIFEST_DIR"), "/docs/json.md"].concat()).unwrap_or_default();
    let unlisted: Vec<_> = PRINTED
        .iter()
        .map(|printed| format!("schemas/{}.json", printed.file))
        .filter(|file| !document.contains(file))
        .collect();
    assert!(unlisted.is_empty(), "docs/json.md does not name {unlisted:?}");
    let folder = fs::read_dir(path("x").parent().expect("a folder")).expect("the folder exists");
    let count = folder.filter(|entry| entry.as_ref().is_ok_and(|entry| entry.path().is_file())).count();
    assert_eq!(count, PRINTED.len(), "a file of schemas/ belongs to nothing");
}
