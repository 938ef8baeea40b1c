//! Servers that are newer than the one in PATH: `tests/servers/fetch` keeps them under `target/servers`.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The program of the server of this name, as that script knows it. One that is not here fails the test.
pub(crate) fn fetched(name: &str) -> PathBuf {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/servers/fetch");
    let output = Command::new(script).args(["--offline", name]).output().expect("bash runs the script");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    PathBuf::from(String::from_utf8(output.stdout).expect("a path in UTF-8").trim_end())
}
