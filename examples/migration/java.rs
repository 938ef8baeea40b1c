//! The Java workers: compiled when the example starts, against the libraries that `tests/interop/prepare` has fetched.

use std::error::Error;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::program::folder;

/// The compiled workers of both sides. Each side has a Jedis of its own.
pub(crate) struct JavaClasses {
    /// Deleted with it.
    folder: TempDir,
    old_libraries: Vec<PathBuf>,
    new_libraries: Vec<PathBuf>,
}

impl JavaClasses {
    /// Compiles the workers; `None` if `prepare` was not run for `jedis-lock` and `lockshift-jedis`.
    pub(crate) fn compile() -> Result<Option<Self>, Box<dyn Error>> {
        let prepared = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/interop");
        // Written when all else is there.
        let is_ready = |client: &str| prepared.join(client).join("made-of").is_file();
        if !is_ready("jedis-lock") || !is_ready("lockshift-jedis") {
            return Ok(None);
        }
        let compiled = Self {
            folder: TempDir::new()?,
            old_libraries: vec![prepared.join("jedis-lock/lib/*")],
            new_libraries: vec![prepared.join("lockshift-jedis/classes"), prepared.join("lockshift-jedis/lib/*")],
        };
        compile("OldWorker", &compiled.folder.path().join("old"), &compiled.old_libraries)?;
        compile("NewWorker", &compiled.folder.path().join("new"), &compiled.new_libraries)?;
        Ok(Some(compiled))
    }

    /// Starts a worker with the published jedis-lock.
    pub(crate) fn old_worker(&self) -> Command {
        java("OldWorker", &self.folder.path().join("old"), &self.old_libraries)
    }

    /// Starts a worker with the package for Java.
    pub(crate) fn new_worker(&self) -> Command {
        java("NewWorker", &self.folder.path().join("new"), &self.new_libraries)
    }
}

fn compile(main_class: &str, classes: &Path, libraries: &[PathBuf]) -> Result<(), Box<dyn Error>> {
    let mut javac = Command::new("javac");
    javac.args(["-nowarn", "-d"]).arg(classes).arg("-cp").arg(class_path(libraries));
    let sources = ["Worker", main_class].map(|class| folder().join("java").join(format!("{class}.java")));
    let output = javac.args(sources).output().map_err(|error| format!("cannot start javac: {error}"))?;
    let printed = String::from_utf8_lossy(&output.stderr);
    output.status.success().then_some(()).ok_or_else(|| format!("cannot compile {main_class}.java: {printed}").into())
}

/// Small, and quick to start.
fn java(main_class: &str, classes: &Path, libraries: &[PathBuf]) -> Command {
    let all: Vec<PathBuf> = [classes.to_owned()].into_iter().chain(libraries.iter().cloned()).collect();
    let mut java = Command::new("java");
    java.args(["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto", "-Xmx64m", "-cp"]);
    java.arg(class_path(&all)).arg(main_class);
    java
}

fn class_path(parts: &[PathBuf]) -> OsString {
    let mut path = OsString::new();
    for (index, part) in parts.iter().enumerate() {
        if index > 0 {
            path.push(if cfg!(windows) { ";" } else { ":" });
        }
        path.push(part);
    }
    path
}
