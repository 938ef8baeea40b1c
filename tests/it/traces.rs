//! The example traces in `tests/traces`, recorded from real clients: the audit finds in each what its README says.

use std::path::PathBuf;

use crate::cli::{done, lockshift};
use crate::golden::golden;

/// A trace, and the races in it.
const TRACES: [(&str, &[&str]); 4] = [
    ("php-fleet", &["ttl-is-not-ownership"]),
    ("python-fleet", &[]),
    ("php-beside-token", &["token-read-as-stamp"]),
    ("migration", &[]),
];

/// Where a trace is.
pub(crate) fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/traces/{name}.log"))
}

/// What the audit prints, without how fast it was.
pub(crate) fn audited(name: &str) -> String {
    let mut command = lockshift();
    command.arg("audit").arg(path(name));
    let shown = done(command, [""; 0]);
    assert_eq!(shown.stderr, "", "{name}");
    let (text, _rate) = shown.stdout.rsplit_once(" (").expect("it says how fast it was");
    format!("{text}\n")
}

#[test]
fn each_shows_the_races_that_it_was_recorded_for_and_no_other() {
    for (name, races) in TRACES {
        let mut command = lockshift();
        command.arg("audit").arg(path(name));
        let shown = done(command, ["--json"]);
        let findings = shown.json()["findings"].as_array().expect("they are listed").clone();
        let mut found: Vec<_> = findings.iter().map(|found| found["race"].as_str().unwrap_or_default()).collect();
        found.dedup();
        assert_eq!((shown.code, found.as_slice()), (Some(i32::from(!races.is_empty())), races), "{name}");
        golden(&format!("tests/traces/{name}.audit"), &audited(name));
    }
}
