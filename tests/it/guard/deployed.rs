//! The files of `deploy/` fit the command.

use std::os::unix::fs::PermissionsExt;
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
    // The permissions are those of a Unix socket.
    command.args([
        "guard",
        "--redis",
        &server.url(),
        "--listen",
        &format!("unix:{}", directory.path().join("s").display()),
    ]);
    let done = crate::cli::command::done(command, ["--config", &path]);
    assert!(done.code == Some(2) && done.stderr.contains("cannot read `/etc/lockshift/"), "{done:?}");
}

/// Clients of other users connect to a service by that.
#[test]
fn the_file_of_a_unix_socket_has_the_permissions_that_are_asked_for() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("guard.sock");
    let rules = [("lock:*".to_owned(), "php-getset")];
    let listen = format!("unix:{}", path.display());
    let _guard = GuardProcess::listening_on(&listen, "redis://127.0.0.1:1/", &rules, &["--listen-mode", "0660"]);
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o660);
    for (listen, mode, reason) in [("127.0.0.1:0", "0660", "it needs --listen unix:PATH"), (&listen, "rw", "octal")] {
        let mut command = crate::cli::command::lockshift();
        command.args(["guard", "--redis", "redis://127.0.0.1:1/", "--guard", "lock:*=php-getset", "--listen", listen]);
        let done = crate::cli::command::done(command, ["--listen-mode", mode]);
        assert!(done.code == Some(2) && done.stderr.contains(reason), "{done:?}");
    }
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
