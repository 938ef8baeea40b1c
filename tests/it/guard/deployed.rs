//! The files of `deploy/` fit the command.

use std::path::Path;

use redis::cmd;

use crate::guard_process::GuardProcess;
use crate::server::Server;

fn text(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

/// The file as it stands, and with every line that is commented out.
#[test]
fn the_example_of_a_configuration_is_one() {
    let server = Server::start();
    let example = text("deploy/guard.toml");
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("guard.toml").display().to_string();
    // The address is that of the test.
    let local = example.replace("127.0.0.1:9121", "127.0.0.1:0");
    std::fs::write(&path, &local).unwrap();
    let guard = GuardProcess::start(&server.url(), &[], &["--config", &path]);
    cmd("PING").exec(&mut guard.connect()).unwrap();

    let option = |line: &str| line.strip_prefix("# ").filter(|rest| rest.contains(" = ")).map(str::to_owned);
    let all: Vec<String> = local.lines().map(|line| option(line).unwrap_or_else(|| line.to_owned())).collect();
    std::fs::write(&path, all.join("\n")).unwrap();
    let mut command = crate::cli::command::lockshift();
    command.args(["guard", "--redis", &server.url()]);
    let done = crate::cli::command::done(command, ["--config", &path]);
    assert!(done.code == Some(2) && done.stderr.contains("cannot read `/etc/lockshift/"), "{done:?}");
}

/// `packaging/build image` builds and starts its last stage. Of the first one, which takes an image of Rust, the files are
/// checked: all that it copies exists, the crate's own files are among that, and the compiler is new enough.
#[test]
fn the_container_file_copies_what_exists() {
    let file = text("deploy/Containerfile");
    let copied: Vec<&str> = file
        .lines()
        .filter_map(|line| line.strip_prefix("COPY ").filter(|rest| !rest.starts_with("--from")))
        .flat_map(|line| line.split(' ').collect::<Vec<_>>().split_last().map(|(_, from)| from.to_vec()).unwrap())
        .collect();
    for path in &copied {
        assert!(Path::new(env!("CARGO_MANIFEST_DIR")).join(path).exists(), "{path}");
    }
    let cargo = text("Cargo.toml");
    let members = cargo.lines().find_map(|line| line.strip_prefix("members = ")).unwrap();
    let quoted = members.split('"').skip(1).step_by(2).filter(|member| *member != ".");
    for needed in quoted.chain(["Cargo.toml", "Cargo.lock", "src", "benches", "examples", "tests"]) {
        assert!(copied.contains(&needed), "{needed} is not copied");
    }
    let version = cargo.lines().find_map(|line| line.strip_prefix("rust-version = ")).unwrap().trim_matches('"');
    assert!(file.contains(&format!("rust:{version}-bookworm")), "the compiler of {version}");
    assert!(file.lines().any(|line| line == "USER 65532:65532"), "not as root");
}
