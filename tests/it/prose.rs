//! The documents: each command in them runs as it is written, and each output is what the command prints.

mod contributing;
mod features;
mod shown;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use redis::cmd;
use tempfile::TempDir;

use super::server::Server;

#[test]
fn every_command_runs_as_written() {
    let server = Server::start();
    let directory = TempDir::new().unwrap();
    script(directory.path(), "backup.sh");
    // A recording of a server without clients is empty, and an empty trace is no verdict.
    let mut client = server.connect();
    std::thread::spawn(move || while cmd("BLPOP").arg("idle").arg(0.05).exec(&mut client).is_ok() {});
    let mut ran = 0;
    for document in documents() {
        for line in commands(&read(&document)) {
            let Output { status, stderr, .. } = shell(&line, &server, directory.path());
            let stderr = String::from_utf8_lossy(&stderr);
            // A recording into a file ends with this line, and has no other output.
            let is_quiet = stderr.lines().all(|line| line.starts_with("lockshift: recorded "));
            let has_ended_well = matches!(status.code(), Some(0 | 1)) && is_quiet;
            assert!(has_ended_well, "{document}: {line}: {status}: {stderr}");
            ran += 1;
        }
    }
    assert!(ran >= 15, "only {ran} commands were found");
}

/// The documents that a user reads, by their paths from the root.
fn documents() -> Vec<String> {
    let pages = fs::read_dir(root().join("docs")).expect("there is a folder docs");
    let pages = pages.map(|page| format!("docs/{}", page.expect("it can be listed").file_name().display()));
    let mut documents: Vec<_> = pages.filter(|page| page.ends_with(".md")).collect();
    documents.sort();
    documents.extend(["README.md".to_owned(), "migration-guide.md".to_owned()]);
    documents
}

/// The lines in fences marked `sh` that call the command.
fn commands(document: &str) -> Vec<String> {
    let lines = fences(document, "sh").into_iter().flat_map(str::lines);
    lines.filter(|line| line.starts_with("lockshift ")).map(str::to_owned).collect()
}

/// What is in the fences of this kind, one after the other.
fn fences<'a>(document: &'a str, kind: &str) -> Vec<&'a str> {
    let begins = format!("```{kind}\n");
    let rest: Vec<&str> = document.split(begins.as_str()).skip(1).collect();
    rest.into_iter().filter_map(|rest| rest.split("```").next()).collect()
}

/// Runs a line in a shell that finds the command, with this server in place of the one that is named, and a second in
/// place of minutes.
fn shell(line: &str, server: &Server, directory: &Path) -> Output {
    let binary = Path::new(env!("CARGO_BIN_EXE_lockshift")).parent().expect("it is in a directory");
    let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap_or_default());
    let line = line
        .replace("redis://127.0.0.1/", &server.url())
        .replace("--for 60s", "--for 1s")
        .replace("--for 5m", "--for 1s");
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(line).current_dir(directory).env("PATH", path).env("REDIS_URL", server.url());
    shell.output().expect("there is a shell")
}

fn script(directory: &Path, name: &str) {
    use std::os::unix::fs::PermissionsExt;
    let path = directory.join(name);
    fs::write(&path, "#!/bin/sh\nexit 0\n").expect("the directory is ours");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("the file is ours");
}

/// A file, by its path from the root.
fn read(document: &str) -> String {
    let path = root().join(document);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}
