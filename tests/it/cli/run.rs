//! `lockshift run`: a command under a lock, from both ends of it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::process::Command;

use redis::{Connection, cmd};
use rustix::process::Signal;
use tempfile::TempDir;

use super::command::{Running, appears, done, lockshift, lockshift_at};
use crate::patience::until;
use crate::proxy::{Cut, Proxy};
use crate::server::Server;

/// A server, and a directory in which a command under the lock and a test can leave each other notes.
struct Scene {
    server: Server,
    notes: TempDir,
}

impl Scene {
    fn new() -> Self {
        Self { server: Server::start(), notes: TempDir::new().expect("a temporary directory") }
    }

    /// `lockshift run stock FLAGS -- sh -c SCRIPT`, in the directory of notes.
    fn start(&self, flags: &[&str], script: &str) -> Running {
        let mut command = lockshift_at(&self.server);
        command.current_dir(self.notes.path());
        Running::start(command, [&["run", "stock"], flags, &["--", "sh", "-c", script]].concat())
    }

    /// Starts it, and waits until the command under the lock runs: it says so by the note `started`.
    fn hold(&self, flags: &[&str], script: &str) -> Running {
        let running = self.start(flags, &format!("touch started; {script}"));
        appears(&self.note("started"));
        running
    }

    fn note(&self, name: &str) -> PathBuf {
        self.notes.path().join(name)
    }

    /// Leaves a note for the command under the lock.
    fn leave(&self, name: &str) {
        std::fs::write(self.note(name), "").expect("the directory is ours");
    }

    fn connect(&self) -> Connection {
        self.server.connect()
    }
}

fn value(connection: &mut Connection) -> Option<String> {
    cmd("GET").arg("stock").query(connection).unwrap()
}

const UNTIL_GO: &str = "while [ ! -e go ]; do sleep 0.01; done";

#[test]
fn the_command_has_the_lock_while_it_runs_and_gives_it_back() {
    let scene = Scene::new();
    let running = scene.hold(&[], &format!("{UNTIL_GO}; exit 7"));
    let mut connection = scene.connect();
    assert_eq!(value(&mut connection).map(|token| token.len()), Some(32), "a token");
    let left: i64 = cmd("PTTL").arg("stock").query(&mut connection).unwrap();
    assert!((20_001..=30_000).contains(&left), "30 s unless told otherwise, not {left} ms");

    scene.leave("go");
    let ended = running.done();
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(7), ""), "its own status, and no word from us");
    assert_eq!(value(&mut connection), None);
}

#[test]
fn who_comes_second_is_told_so() {
    let scene = Scene::new();
    let first = scene.hold(&[], UNTIL_GO);
    for (flags, code) in [(&["--nonblock"][..], 1), (&["-n", "-E", "75"], 75), (&["--wait", "30ms"], 1)] {
        let second = scene.start(flags, "touch never").done();
        assert_eq!(second.code, Some(code), "{flags:?}: {second:?}");
        assert_eq!(second.stderr, "lockshift: lock key `stock` is held by somebody else\n", "{flags:?}");
    }
    scene.leave("go");
    assert_eq!(first.done().code, Some(0));
    assert!(!scene.note("never").exists());
}

#[test]
fn who_waits_comes_next() {
    let scene = Scene::new();
    let first = scene.hold(&[], UNTIL_GO);
    let second = scene.start(&["--wait", "1m", "--json"], "[ -e go ]");
    scene.leave("go");
    assert_eq!(first.done().code, Some(0));
    let second = second.done();
    assert_eq!(second.code, Some(0), "{second:?}");
    assert_eq!(second.note()["acquired"], true);
}

#[test]
fn the_lock_is_renewed_for_as_long_as_the_command_runs() {
    let scene = Scene::new();
    let running = scene.hold(&["--lease", "400ms"], UNTIL_GO);
    let mut connection = scene.connect();
    let token = value(&mut connection).expect("it holds");
    let began = crate::patience::now();
    until("three leases have passed", || {
        assert_eq!(value(&mut connection).as_ref(), Some(&token), "nobody else, and never nobody");
        (began.elapsed().as_millis() > 1200).then_some(())
    });
    scene.leave("go");
    assert_eq!(running.done().code, Some(0));
}

#[test]
fn a_lost_lock_ends_the_command() {
    let scene = Scene::new();
    let running = scene.hold(&["--lease", "600ms", "--json"], "exec sleep 60");
    cmd("SET").arg("stock").arg("somebody else").exec(&mut scene.connect()).unwrap();
    let ended = running.done();
    assert_eq!(ended.code, Some(128 + 15), "{ended:?}");
    assert!(ended.stderr.contains("`stock` is lost, it is not ours any more: ending the command"), "{ended:?}");
    assert_eq!((ended.note()["lost"].as_bool(), ended.note()["released"].as_str()), (Some(true), Some("lost")));
    assert_eq!(value(&mut scene.connect()).as_deref(), Some("somebody else"));
}

#[test]
fn a_command_that_does_not_heed_the_loss_is_killed() {
    let scene = Scene::new();
    let running = scene.hold(&["--lease", "600ms"], "trap '' TERM; while :; do sleep 0.1; done");
    cmd("DEL").arg("stock").exec(&mut scene.connect()).unwrap();
    assert_eq!(running.done().code, Some(128 + 9));
}

#[test]
fn a_lost_lock_may_be_no_more_than_a_warning() {
    let scene = Scene::new();
    let running = scene.hold(&["--lease", "600ms", "--on-lost", "warn"], &format!("{UNTIL_GO}; exit 7"));
    let mut connection = scene.connect();
    cmd("DEL").arg("stock").exec(&mut connection).unwrap();
    // When the next renewal has found it gone is nobody's to see; that it has not come back is.
    let began = crate::patience::now();
    until("a lease has passed", || (began.elapsed().as_millis() > 700).then_some(()));
    assert_eq!(value(&mut connection), None);
    scene.leave("go");
    let ended = running.done();
    assert_eq!(ended.code, Some(7), "{ended:?}");
    assert!(ended.stderr.contains("is lost, it is not ours any more: the command goes on without it"), "{ended:?}");
}

#[test]
fn signals_are_passed_on() {
    for (signal, name) in [(Signal::INT, "INT"), (Signal::TERM, "TERM"), (Signal::HUP, "HUP"), (Signal::QUIT, "QUIT")] {
        let scene = Scene::new();
        let trap = format!("trap 'exit 9' {name}; touch ready; {UNTIL_GO}");
        let running = scene.start(&[], &trap);
        appears(&scene.note("ready"));
        running.signal(signal);
        assert_eq!(running.done().code, Some(9), "{name}");
        assert_eq!(value(&mut scene.connect()), None, "{name}");
    }
}

#[test]
fn a_command_ended_by_a_signal_has_the_status_that_a_shell_gives_it() {
    let scene = Scene::new();
    assert_eq!(scene.start(&[], "kill -KILL $$").done().code, Some(128 + 9));
    assert_eq!(value(&mut scene.connect()), None);
}

#[test]
fn whoever_is_asked_to_end_while_waiting_leaves_nothing_behind() {
    let scene = Scene::new();
    let first = scene.hold(&[], UNTIL_GO);
    let held = value(&mut scene.connect());
    let second = scene.start(&[], "touch never");
    until("the second has tried", || (tries(&scene) > 1).then_some(()));
    second.signal(Signal::INT);
    assert_eq!(second.done().code, Some(128 + 2));
    assert_eq!(value(&mut scene.connect()), held);
    scene.leave("go");
    assert_eq!(first.done().code, Some(0));
    assert!(!scene.note("never").exists());
}

/// How often a SET has been sent to the server.
fn tries(scene: &Scene) -> u64 {
    let stats: String = cmd("INFO").arg("commandstats").query(&mut scene.connect()).unwrap();
    let calls = stats.lines().find_map(|line| line.strip_prefix("cmdstat_set:calls=")?.split(',').next());
    calls.map_or(0, |calls| calls.parse().unwrap())
}

#[test]
fn a_command_that_cannot_be_run_leaves_no_lock_behind() {
    let scene = Scene::new();
    for (program, code) in [("./nonesuch", 127), (scene.notes.path().to_str().unwrap(), 126)] {
        let mut command = lockshift_at(&scene.server);
        command.current_dir(scene.notes.path());
        let refused = done(command, ["run", "stock", "--", program]);
        assert_eq!(refused.code, Some(code), "{refused:?}");
        assert!(refused.stderr.starts_with(&format!("lockshift: cannot run `{program}`: ")), "{refused:?}");
        assert_eq!(value(&mut scene.connect()), None);
    }
}

#[test]
fn what_the_command_reads_and_prints_is_its_own() {
    let scene = Scene::new();
    let mut command = assert_cmd::Command::from_std(lockshift_at(&scene.server));
    command.args(["run", "stock", "--", "sh", "-c", "cat; echo aside >&2"]);
    let output = command.write_stdin(&b"\xff in \x00 and out\n"[..]).output().unwrap();
    assert_eq!(output.stdout, b"\xff in \x00 and out\n");
    assert_eq!(output.stderr, b"aside\n");
}

#[test]
fn a_key_is_bytes() {
    let scene = Scene::new();
    let key = OsStr::from_bytes(b"stock \xff\xfe");
    let args: [&OsStr; 6] = [
        OsStr::new("run"),
        key,
        OsStr::new("--json"),
        OsStr::new("--"),
        OsStr::new("printenv"),
        OsStr::new("LOCKSHIFT_KEY"),
    ];
    let mut command = lockshift_at(&scene.server);
    let output = command.args(args).output().unwrap();
    assert_eq!(output.stdout, b"stock \xff\xfe\n");
    let note: serde_json::Value = serde_json::from_slice(&output.stderr).unwrap();
    assert_eq!(note["key"], r"stock \xff\xfe");
}

#[test]
fn a_fence_from_outside_is_not_ours() {
    let scene = Scene::new();
    let mut command = lockshift_at(&scene.server);
    command.env("LOCKSHIFT_FENCE", "34");
    let ended = done(command, ["run", "stock", "--", "sh", "-c", "echo ${LOCKSHIFT_FENCE-none}"]);
    assert_eq!(ended.stdout, "none\n");
}

#[test]
fn it_says_in_json_how_it_went() {
    let scene = Scene::new();
    let ended = done(lockshift_at(&scene.server), ["run", "stock", "--json", "--", "sh", "-c", "echo out; exit 3"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(3), "out\n"));
    let note = ended.note();
    let fields: Vec<_> = note.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(fields, ["acquired", "key", "lost", "protocol", "ran_ms", "released", "status", "waited_ms"]);
    assert_eq!(
        ["acquired", "key", "lost", "protocol", "released", "status"].map(|field| note[field].to_string()),
        ["true", "\"stock\"", "false", "\"token\"", "\"freed\"", "3"]
    );
}

#[test]
fn a_server_that_dies_meanwhile_does_not_take_the_result_with_it() {
    let mut scene = Scene::new();
    let running = scene.hold(&["--json"], &format!("{UNTIL_GO}; exit 7"));
    scene.server.kill();
    scene.leave("go");
    let ended = running.done();
    assert_eq!(ended.code, Some(7), "{ended:?}");
    assert!(ended.stderr.contains("`stock`"), "{ended:?}");
    assert_eq!(ended.note()["released"], "unknown");
}

#[test]
fn a_lost_reply_is_neither_yes_nor_no() {
    let scene = Scene::new();
    let proxy = Proxy::before(&scene.server);
    let mut command = lockshift();
    command.current_dir(scene.notes.path()).env("REDIS_URL", proxy.url());
    // The first message is the connection's own greeting, the second the SET.
    proxy.cut(1, Cut::After);
    let ended = done(command, ["run", "stock", "--json", "--", "touch", "never"]);
    assert!(!proxy.spare(), "the wire was cut");
    assert_eq!(ended.code, Some(4), "{ended:?}");
    assert!(ended.stderr.contains("`stock`") && ended.stderr.contains("SET"), "{ended:?}");
    assert!(ended.note()["acquired"].is_null(), "{ended:?}");
    assert!(!scene.note("never").exists());
    assert_eq!(value(&mut scene.connect()), None, "what it may have won it has given back");
}

#[test]
fn a_server_that_hangs_does_not_keep_a_command_running_without_its_lock() {
    let scene = Scene::new();
    let running = scene.hold(&["--lease", "1s", "--json"], "exec sleep 60");
    scene.server.pause();
    let ended = running.done();
    scene.server.resume();
    assert_eq!(ended.code, Some(128 + 15), "{ended:?}");
    assert!(ended.stderr.contains("`stock` is lost, its lease ran out before it was renewed"), "{ended:?}");
    assert_eq!(ended.note()["lost"], true);
}

#[test]
fn a_signal_that_is_to_be_ignored_stays_ignored() {
    let scene = Scene::new();
    let mut shell = Command::new("sh");
    // As nohup does it.
    let script = r#"trap '' HUP; exec "$0" run stock -- sh -c 'touch started; while [ ! -e go ]; do sleep 0.01; done'"#;
    shell.args(["-c", script, env!("CARGO_BIN_EXE_lockshift")]);
    shell.current_dir(scene.notes.path()).env("REDIS_URL", scene.server.url());
    let running = Running::start(shell, [""; 0]);
    appears(&scene.note("started"));
    running.signal(Signal::HUP);
    scene.leave("go");
    assert_eq!(running.done().code, Some(0));
}
