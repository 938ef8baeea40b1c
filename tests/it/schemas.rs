//! The schema files of `schemas/`, held against all JSON that the command prints in these tests.

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use jsonschema::validator_for;
use serde_json::{Value, json};

use crate::cli::command::{Done, done, lockshift, lockshift_at};
use crate::server::Server;

/// Panics unless this is what the schema describes, and nothing more.
pub(crate) fn conforms(name: &str, value: &Value) {
    let errors = errors(name, value);
    assert!(errors.is_empty(), "schemas/{name}.json does not describe {value:#}:\n{}", errors.join("\n"));
}

/// Panics unless what the command has printed as JSON is what its schema describes; does nothing without `--json`.
pub(crate) fn hold(args: &[OsString], done: &Done) {
    let args: Vec<_> = args.iter().filter_map(|arg| arg.to_str()).take_while(|arg| *arg != "--").collect();
    let Some(command) = args.iter().find(|arg| !arg.starts_with('-')).filter(|_| args.contains(&"--json")) else {
        return;
    };
    let values = |text: &str| -> Vec<Value> {
        let parsed = serde_json::Deserializer::from_str(text).into_iter().map_while(Result::ok);
        parsed.collect()
    };
    let (name, printed) = match *command {
        "protocols" if args.contains(&"--acl") => ("protocols-acl", values(&done.stdout)),
        // Standard output belongs to the command under the lock.
        "run" => ("run", done.stderr.lines().filter(|line| line.starts_with('{')).flat_map(values).collect()),
        command => (command, values(&done.stdout)),
    };
    printed.iter().for_each(|value| conforms(name, value));
}

fn errors(name: &str, value: &Value) -> Vec<String> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("schemas/{name}.json"));
    let text = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let mut schema: Value = serde_json::from_str(&text).expect("a schema is JSON");
    close(&mut schema, false);
    let validator = validator_for(&schema).unwrap_or_else(|error| panic!("schemas/{name}.json: {error}"));
    validator.iter_errors(value).map(|error| format!("{} at {}", error, error.instance_path())).collect()
}

/// Forbids fields that the schema does not name. Users of the files may meet more, from a later version.
fn close(schema: &mut Value, is_branch: bool) {
    match schema {
        Value::Object(fields) => {
            let has_properties = fields.contains_key("properties");
            for (name, inner) in fields.iter_mut() {
                let are_branches = has_properties && ["oneOf", "anyOf", "allOf"].contains(&name.as_str());
                match inner {
                    Value::Array(branches) => branches.iter_mut().for_each(|branch| close(branch, are_branches)),
                    inner => close(inner, false),
                }
            }
            if has_properties && !is_branch {
                fields.insert("unevaluatedProperties".to_owned(), Value::Bool(false));
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| close(item, false)),
        _ => {}
    }
}

#[test]
fn a_value_that_is_not_as_described_is_caught() {
    let line = json!({ "at": 1.5, "database": 0, "client": "127.0.0.1:5", "command": ["GET", "k"] });
    conforms("record", &line);
    for (field, value) in
        [("at", json!("soon")), ("database", json!(-1)), ("command", json!("GET k")), ("new", json!(1))]
    {
        let mut other = line.clone();
        other[field] = value;
        assert!(!errors("record", &other).is_empty(), "{other}");
    }
    for field in ["at", "database", "client", "command"] {
        let mut other = line.clone();
        other.as_object_mut().unwrap().remove(field);
        assert!(!errors("record", &other).is_empty(), "{other}");
    }
}

/// What the other tests let a command print is held against its schema as well; these let each command print something.
#[test]
fn every_command_prints_what_its_schema_describes() {
    let server = Server::start();
    let lock = lockshift_at(&server).args(["run", "stock", "--json", "--", "true"]).output().unwrap();
    assert!(lock.status.success(), "{lock:?}");
    redis::cmd("SET").arg("stock").arg("1700000000").exec(&mut server.connect()).unwrap();
    const TRACE: &str = "tests/traces/php-fleet.log";
    let rows: [(&str, &[&str]); 14] = [
        ("audit", &["audit", TRACE]),
        ("compare", &["compare", "token", "--seconds", "0.2", "--clients", "2"]),
        ("doctor", &["doctor", "--fleet", "token"]),
        ("dry-run", &["dry-run", TRACE, "--to", "token", "--lease", "7s"]),
        ("explore", &["explore", "--client", "naive-setnx", "--client", "token", "--ticks", "1"]),
        ("inspect", &["inspect", "stock"]),
        ("matrix", &["matrix", "token", "php-getset"]),
        ("odds", &["odds", TRACE, "--periods", "2"]),
        ("protocols", &["protocols"]),
        ("protocols-acl", &["protocols", "token", "--acl"]),
        ("races", &["races", "late-unlock"]),
        ("run", &["run", "--json", "stack", "--", "true"]),
        ("scan", &["scan"]),
        ("watch", &["watch", TRACE]),
    ];
    for (name, args) in rows {
        let ended = done(lockshift_at(&server), [&["--json"], args].concat());
        assert!(matches!(ended.code, Some(0 | 1)), "{name}: {ended:?}");
        let printed = match name {
            "run" => ended.note(),
            "watch" => serde_json::from_str(ended.stdout.lines().next().unwrap()).unwrap(),
            _ => ended.json(),
        };
        conforms(name, &printed);
    }
    // Each of these has a test that says so; exploring a plan takes too long to do it twice.
    let elsewhere = [
        ("guard", "tests/it/guard/observing.rs"),
        ("guard-event", "tests/it/guard/observing.rs"),
        ("plan", "tests/it/cli/plan.rs"),
        ("record", "tests/it/cli/record.rs"),
    ];
    for (name, file) in elsewhere {
        let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap();
        assert!(
            text.contains(&format!("conforms(\"{name}\"")),
            "{file} does not hold JSON against schemas/{name}.json"
        );
    }
    let known: Vec<_> = rows.iter().map(|row| row.0).chain(elsewhere.map(|row| row.0)).collect();
    for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas")).unwrap() {
        let name = entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned();
        assert!(known.contains(&name.as_str()), "no test prints what schemas/{name}.json describes");
    }
    assert_eq!(done(lockshift(), ["--json"]).code, Some(2), "without a command nothing is printed");
}
