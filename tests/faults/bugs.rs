//! The bugs that `tests/faults/reintroduce` puts back, to see that the suite finds them: their patches must apply.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Every patch, by name.
fn patches() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/faults/bugs");
    let entries = std::fs::read_dir(folder).expect("the folder of the patches can be listed");
    let paths = entries.map(|entry| entry.expect("an entry can be read").path());
    let mut patches: Vec<_> = paths.filter(|path| path.extension().is_some_and(|kind| kind == "patch")).collect();
    patches.sort();
    patches
}

/// # Errors
/// Which patches do not apply, and why.
pub(crate) fn assert_apply() -> Result<(), String> {
    let patches = patches();
    assert!(patches.len() >= 3, "three bugs at least are reintroduced");
    let mut refused = Vec::new();
    for patch in patches {
        let mut git = Command::new("git");
        let check = git.args(["apply", "--check"]).arg(&patch).current_dir(env!("CARGO_MANIFEST_DIR")).output();
        let output = check.map_err(|error| format!("cannot start git: {error}"))?;
        if !output.status.success() {
            refused.push(format!("{}: {}", patch.display(), String::from_utf8_lossy(&output.stderr)));
        }
    }
    if refused.is_empty() { Ok(()) } else { Err(refused.join("\n")) }
}
