//! The readme and the guide: every command in them is run as it is written, and what they print is what is printed.

use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

use super::server::Server;

const DOCUMENTS: [&str; 2] = ["README.md", "migration-guide.md"];

#[test]
fn every_command_runs_as_written() {
    let server = Server::start();
    let directory = TempDir::new().unwrap();
    script(directory.path(), "backup.sh");
    let mut ran = 0;
    for document in DOCUMENTS {
        for line in commands(&read(document)) {
            let Output { status, stderr, .. } = shell(&line, &server, directory.path());
            let said = String::from_utf8_lossy(&stderr);
            assert!(matches!(status.code(), Some(0 | 1)) && said.is_empty(), "{document}: {line}: {status}: {said}");
            ran += 1;
        }
    }
    assert!(ran >= 7, "only {ran} commands were found in {DOCUMENTS:?}");
}

#[test]
fn the_matrix_is_what_is_printed() {
    let server = Server::start();
    let readme = read("README.md");
    let shown = block(&readme, "$ lockshift matrix ");
    let (command, table) = shown.split_once('\n').expect("a command and what it prints");
    let table = table.split("\n\n").next().expect("a table");
    let printed = shell(command.trim_start_matches("$ "), &server, Path::new("."));
    let printed = String::from_utf8(printed.stdout).expect("names are text");
    let printed: Vec<_> = printed.lines().take_while(|line| !line.is_empty()).map(str::trim_end).collect();
    assert_eq!(printed.join("\n"), table.trim_end());
}

/// The lines in fences marked `sh` that call the command.
fn commands(document: &str) -> Vec<String> {
    let fences = document.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
    fences.flat_map(str::lines).filter(|line| line.starts_with("lockshift ")).map(str::to_owned).collect()
}

/// The fence that begins with these words.
fn block<'a>(document: &'a str, begins: &str) -> &'a str {
    let fences = document.split("```console\n").skip(1).filter_map(|rest| rest.split("```").next());
    fences.into_iter().find(|fence| fence.starts_with(begins)).expect("the readme shows it")
}

/// Runs a line in a shell that finds the command, with this server in place of the one that is named.
fn shell(line: &str, server: &Server, directory: &Path) -> Output {
    let binary = Path::new(env!("CARGO_BIN_EXE_lockshift")).parent().expect("it is in a directory");
    let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap_or_default());
    let line = line.replace("redis://127.0.0.1/", &server.url());
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(line).current_dir(directory).env("PATH", path).env("REDIS_URL", server.url());
    shell.output().expect("there is a shell")
}

fn script(directory: &Path, name: &str) {
    use std::os::unix::fs::PermissionsExt;
    let path = directory.join(name);
    std::fs::write(&path, "#!/bin/sh\nexit 0\n").expect("the directory is ours");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("the file is ours");
}

fn read(document: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(document);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
