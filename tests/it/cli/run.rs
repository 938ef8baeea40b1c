//! `lockshift run`: a command under a lock, from both ends of it.

mod key_types;
mod losing;
mod processes;
mod signals;
mod terminal;

use std::ffi::OsStr;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use redis::{Connection, cmd};
use tempfile::TempDir;

use super::command::{Running, appears, done, lockshift, lockshift_at};
use crate::patience::{now, pause, until};
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
    assert!((20_001..=30_000).contains(&left), "30 s by default, not {left} ms");

    scene.leave("go");
    let ended = running.done();
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(7), ""), "its own status, and no word from us");
    assert_eq!(value(&mut connection), None);
}

#[test]
fn the_second_client_is_refused_with_a_message() {
    let scene = Scene::new();
    let first = scene.hold(&[], UNTIL_GO);
    for (flags, code) in [(&["--nonblock"][..], 1), (&["-n", "-E", "75"], 75), (&["--wait", "30ms"], 1)] {
        let second = scene.start(flags, "touch never").done();
        assert_eq!(second.code, Some(code), "{flags:?}: {second:?}");
        assert_eq!(second.stderr, "lockshift: lock key `stock` is held by another client\n", "{flags:?}");
    }
    scene.leave("go");
    assert_eq!(first.done().code, Some(0));
    assert!(!scene.note("never").exists());
}

/// What keeps it out is not only what it has read: when to try again is no end of the lock.
#[test]
fn a_refused_client_is_shown_when_to_try_again() {
    let scene = Scene::new();
    let refused = |protocol: &str| scene.start(&["-n", "-p", protocol], "touch never").done();
    // Of a stamp that has passed, of a dialect that takes nothing over.
    let (now, _): (i64, i64) = cmd("TIME").query(&mut scene.connect()).unwrap();
    let stamp = |in_secs: i64| (now + in_secs).to_string();
    cmd("SET").arg("stock").arg(stamp(-100)).exec(&mut scene.connect()).unwrap();
    let for_ever = refused("bridge:php-setnx");
    let says = "lockshift: lock key `stock` is held by another client\n";
    assert_eq!((for_ever.code, for_ever.stderr.as_str()), (Some(1), says), "{for_ever:?}");
    // The new key ends before the old one does.
    cmd("SET").arg("stock").arg(stamp(500)).exec(&mut scene.connect()).unwrap();
    let token = "f47ac10b58cc4372a5670e02b2c3d479";
    cmd("SET").arg("{stock}:token").arg(token).arg("PX").arg(69_500).exec(&mut scene.connect()).unwrap();
    let longer = refused("bridge:php-getset");
    let says = "lockshift: lock key `stock` is held by another client: try again in 70 s\n";
    assert_eq!((longer.code, longer.stderr.as_str()), (Some(1), says), "{longer:?}");
    assert!(!scene.note("never").exists());
}

#[test]
fn a_user_without_the_rights_is_shown_what_prints_them() {
    let scene = Scene::new();
    cmd("ACL").arg(&["SETUSER", "app", "on", ">x", "~*", "+get"]).exec(&mut scene.connect()).unwrap();
    let mut command = lockshift();
    command.env("REDIS_URL", format!("redis://app:x@{}/", scene.server.address()));
    let ended = done(command, ["run", "stock", "--", "true"]);
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(ended.stderr.contains("grant them with ACL SETUSER: `lockshift protocols --acl PROTOCOL`"), "{ended:?}");
}

#[test]
fn a_conflict_that_is_no_failure_is_not_mentioned() {
    let scene = Scene::new();
    let first = scene.hold(&[], UNTIL_GO);
    for (flags, code) in [(&["--nonblock", "-E", "0"][..], 0), (&["--nonblock", "--quiet"], 1)] {
        let second = scene.start(flags, "touch never").done();
        assert_eq!((second.code, second.stderr.as_str()), (Some(code), ""), "{flags:?}");
    }
    scene.leave("go");
    assert_eq!(first.done().code, Some(0));
    assert!(!scene.note("never").exists());
}

#[test]
fn a_command_may_run_for_a_limited_time() {
    let scene = Scene::new();
    for (flags, code) in [(&["--max-runtime", "300ms"][..], 124), (&["--max-runtime", "1m"], 0)] {
        let running = scene.start(&[flags, &["--json", "--on-lost", "warn"]].concat(), "sleep 1; touch done");
        let ended = running.done();
        assert_eq!((ended.code, ended.note()["timed_out"].as_bool()), (Some(code), Some(code == 124)), "{ended:?}");
        assert_eq!(scene.note("done").exists(), code == 0);
        assert_eq!(value(&mut scene.connect()), None);
    }
}

/// A socket that nobody reads, and its other end, which takes no byte more.
fn stalled() -> (UnixStream, UnixStream) {
    let (unread, mut full) = UnixStream::pair().unwrap();
    full.set_nonblocking(true).unwrap();
    while full.write(b"x").is_ok() {}
    full.set_nonblocking(false).unwrap();
    (unread, full)
}

#[test]
fn a_standard_error_that_nobody_reads_holds_up_neither_the_end_of_the_command_nor_the_release() {
    for (flags, code) in [(&["--max-runtime", "300ms"][..], 124), (&["--lease", "3s"], 5)] {
        let scene = Scene::new();
        let (_unread, full) = stalled();
        let mut command = lockshift_at(&scene.server);
        command.current_dir(scene.notes.path());
        let script = ["--", "sh", "-c", "touch started; exec sleep 60 2> stderr"];
        let running =
            Running::start_with(OwnedFd::from(full).into(), command, [&["run", "stock"], flags, &script].concat());
        appears(&scene.note("started"));
        let mut connection = scene.connect();
        if code == 5 {
            cmd("DEL").arg("stock").exec(&mut connection).unwrap();
        }
        until("the lock is released", || value(&mut connection).is_none().then_some(()));
        assert_eq!(running.done().code, Some(code), "{flags:?}");
    }
}

#[test]
fn a_command_without_any_time_is_not_run() {
    let scene = Scene::new();
    let ended = scene.start(&["--max-runtime", "0s", "--json"], "touch never").done();
    let note = ended.note();
    assert_eq!((ended.code, note["timed_out"].as_bool()), (Some(124), Some(true)), "{ended:?}");
    assert!(!ended.stderr.contains("was killed"), "{ended:?}");
    assert_eq!((note["released"].as_str(), value(&mut scene.connect())), (Some("freed"), None), "{ended:?}");
}

#[test]
fn each_way_to_wait_comes_to_its_turn() {
    for (policy, protocol) in [("backoff", "token"), ("notified", "token,announce=publish"), ("fair", "fair")] {
        let scene = Scene::new();
        let flags = ["--wait-policy", policy, "--json"];
        let first = scene.hold(&flags, UNTIL_GO);
        let second = scene.start(&flags, "[ -e go ]");
        scene.leave("go");
        assert_eq!(first.done().code, Some(0), "{policy}");
        let second = second.done();
        assert_eq!((second.code, second.note()["protocol"].as_str()), (Some(0), Some(protocol)), "{second:?}");
    }
}

#[test]
fn a_waiter_runs_next() {
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
fn a_waiter_waits_for_a_server_too() {
    let mut scene = Scene::new();
    scene.server.kill();
    let refused = scene.start(&["--wait", "200ms"], "touch never").done();
    assert_eq!(refused.code, Some(3), "{refused:?}");
    assert!(refused.stderr.contains("no server answers"), "{refused:?}");
    let waiting = scene.start(&["--wait", "1m"], "exit 7");
    pause(Duration::from_millis(300));
    scene.server.restart();
    assert_eq!(waiting.done().code, Some(7));
    assert!(!scene.note("never").exists());
}

/// The servers that would be asked where to listen cannot be asked yet.
#[test]
fn each_way_to_wait_waits_for_a_cluster_or_sentinels() {
    let mut scene = Scene::new();
    scene.server.kill();
    let address = scene.server.address();
    for url in [format!("redis://{address}?cluster=true"), format!("redis+sentinel://{address}/main")] {
        for policy in ["backoff", "notified", "fair"] {
            let mut command = lockshift();
            command.env("REDIS_URL", &url);
            let began = now();
            let refused = done(command, ["run", "stock", "--wait", "500ms", "--wait-policy", policy, "--", "true"]);
            assert!(began.elapsed() >= Duration::from_millis(500), "{url}, {policy}: {:?}", began.elapsed());
            assert_eq!(refused.code, Some(3), "{url}, {policy}: {refused:?}");
        }
    }
}

/// As one does that is out of memory or loads its data: a connection to it opens, and no command is answered in time.
#[test]
fn a_waiter_waits_for_a_server_that_hangs_when_it_comes() {
    let scene = Scene::new();
    scene.server.pause();
    let waiting = scene.start(&["--wait", "1m"], "exit 7");
    // It is given up after four seconds where there is no time limit.
    pause(Duration::from_secs(5));
    scene.server.resume();
    assert_eq!(waiting.done().code, Some(7));
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
    assert_eq!(note["key"], r"$'stock \xff\xfe'");
}

/// No environment variable holds such a byte.
#[test]
fn a_key_with_a_zero_byte_is_refused() {
    let scene = Scene::new();
    let refused = done(lockshift_at(&scene.server), ["run", r"$'a\x00b'", "--", "true"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("cannot hold its zero byte: choose another key"), "{refused:?}");
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
    assert_eq!(
        fields,
        [
            "acquired",
            "ended_early",
            "key",
            "lost",
            "protocol",
            "ran_ms",
            "released",
            "status",
            "timed_out",
            "waited_ms"
        ]
    );
    assert_eq!(
        ["acquired", "key", "lost", "protocol", "released", "status"].map(|field| note[field].to_string()),
        ["true", "\"stock\"", "false", "\"token\"", "\"freed\"", "3"]
    );
}

#[test]
fn a_server_that_cannot_be_used_ends_in_json_too() {
    let mut scene = Scene::new();
    let address = scene.server.address();
    let refused = |url: String| {
        let mut command = lockshift();
        command.env("REDIS_URL", url);
        let refused = done(command, ["run", "stock", "--json", "--", "true"]);
        assert_eq!((refused.code, refused.note()["acquired"].as_bool()), (Some(3), Some(false)), "{refused:?}");
    };
    refused(format!("rediss://{address}"));
    scene.server.kill();
    refused(format!("redis://{address}"));
}

#[test]
fn the_last_line_is_json_whatever_the_command_writes_before_it() {
    let scene = Scene::new();
    for (words, before) in [("partial", "partial\n"), ("whole\\n", "whole\n\n"), ("", "\n")] {
        let ended = scene.start(&["--json"], &format!("printf '{words}' >&2; exit 3")).done();
        assert_eq!((ended.code, ended.note()["status"].as_u64()), (Some(3), Some(3)), "{ended:?}");
        assert!(ended.stderr.starts_with(&format!("{before}{{")), "{ended:?}");
    }
}

#[test]
fn a_name_becomes_the_key_that_the_program_makes_of_it() {
    let server = Server::start();
    let under = |protocol: &str, name: &str| {
        let script = "printf %s \"$LOCKSHIFT_KEY\"";
        done(lockshift_at(&server), ["run", "--name", name, "--protocol", protocol, "--", "sh", "-c", script])
    };
    for (protocol, key) in [
        ("gorlock", "gorlock:stock"),
        ("npm-redis-lock", "lock.stock"),
        ("kdyby-redis-php8", "stock:lock"),
        ("mlanett-redis-lock", "lock:owner:stock"),
        ("bridge:php-getset+predis-getset", "lock:stock"),
        ("token", "stock"),
    ] {
        let ran = under(protocol, "stock");
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), key), "{protocol}: {}", ran.stderr);
    }

    let ran = under("bridge:php-getset+php-setnx", "stock");
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("make different keys of a name (lock:NAME, NAME): pass KEY"), "{}", ran.stderr);
    // The bridge of gorlock has its new key beside gorlock:stock, not beside stock.
    let beside = under("token,key=sibling", "stock");
    assert_eq!(beside.code, Some(2), "{beside:?}");
    assert!(
        beside.stderr.contains("beside the key of old clients, which a name does not tell: pass KEY"),
        "{beside:?}"
    );
    let both = ["run", "stock", "--name", "stock", "--", "true"];
    assert_eq!(done(lockshift_at(&server), both).code, Some(2), "a key or a name");
}
