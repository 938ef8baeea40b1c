//! `--config`: what a file says, and that SIGHUP reads it again.

use redis::{Commands, Connection};
use rustix::process::Signal;
use tempfile::TempDir;

use super::server_secs;
use crate::guard_process::GuardProcess;
use crate::patience::{PATIENCE, until};
use crate::server::Server;

/// A directory with this text in `guard.toml`, and the path of that.
fn file(text: &str) -> (TempDir, String) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("guard.toml");
    std::fs::write(&path, text).unwrap();
    let path = path.display().to_string();
    (directory, path)
}

/// Whether the guard decides about this key: then it writes another stamp than its client.
fn is_guarded(client: &mut Connection, direct: &mut Connection, key: &str) -> bool {
    let now = server_secs(direct);
    let own = (now + 30).to_string();
    direct.del::<_, ()>(key).unwrap();
    assert_eq!(client.set_nx(key, &own), Ok(true));
    let stored: String = direct.get(key).unwrap();
    assert_eq!(client.del(key), Ok(1));
    stored != own
}

#[test]
fn a_file_that_cannot_be_used_is_refused_with_the_line() {
    for (text, reasons) in [
        ("redis = \"redis://127.0.0.1:1/\"\nlisen = \"127.0.0.1:0\"\n", &["line 2", "unknown field `lisen`"][..]),
        ("guard = [\"lock:*=php-getst\"]\n", &["line 1", "did you mean `php-getset`?"]),
        ("mode = \"watch\"\n", &["line 1", "`observe`"]),
        ("renew = \"soon\"\n", &["line 1"]),
        ("listen = \"nowhere\"\n", &["expected HOST:PORT or unix:PATH"]),
        ("listen = \"127.0.0.1:0\"\n", &["--guard is neither on the command line nor in the file"]),
        ("guard = [\"lock:*=php-getset\"]\n", &["--listen is neither"]),
        ("guard = [\"lock:*=celery-once\"]\nlisten = \"127.0.0.1:0\"\n", &["cannot guard lock:*=celery-once"]),
        ("tls-cert = \"a\"\nlisten = \"127.0.0.1:0\"\nguard = [\"a=php-getset\"]", &["belong together"]),
    ] {
        let (_directory, path) = file(text);
        let mut command = crate::cli::command::lockshift();
        command.env_remove("REDIS_URL").args(["guard", "--redis", "redis://127.0.0.1:1/"]);
        let done = crate::cli::command::done(command, ["--config", &path]);
        let named = reasons.iter().all(|reason| done.stderr.contains(reason));
        assert!(done.code == Some(2) && named, "{text}: {done:?}");
    }
    let done = crate::cli::command::done(crate::cli::command::lockshift(), ["guard", "--config", "/no/such/file"]);
    assert!(done.code == Some(2) && done.stderr.contains("cannot read `/no/such/file`"), "{done:?}");
}

#[test]
fn sighup_changes_guards_and_a_bad_file_keeps_the_old_ones() {
    let server = Server::start();
    let text = |guard: &str| format!("redis = \"{}\"\nguard = [\"{guard}\"]\n", server.url());
    let (directory, path) = file(&text("lock:*=php-getset"));
    let events = directory.path().join("events.jsonl").display().to_string();
    let guard = GuardProcess::start(&server.url(), &[], &["--config", &path, "--events", &events]);
    let [mut holder, mut idle, mut direct] = [guard.connect(), guard.connect(), server.connect()];
    let now = server_secs(&mut direct);
    assert_eq!(holder.set_nx("lock:held", now + 60), Ok(true));
    assert!(is_guarded(&mut idle, &mut direct, "lock:a"));
    assert!(!is_guarded(&mut idle, &mut direct, "job:a"));

    std::fs::write(&path, "guard = \"lock:*\"\n").unwrap();
    guard.signal(Signal::HUP);
    guard.until_message("the guard goes on with the old one");
    assert!(is_guarded(&mut idle, &mut direct, "lock:a"), "a bad file changes nothing");

    std::fs::rename(&events, format!("{events}.1")).unwrap();
    std::fs::write(&path, text("job:*=php-getset")).unwrap();
    guard.signal(Signal::HUP);
    guard.until_message(
        "guards were read again: job:*=php-getset (mode protect); connections that keep the old settings",
    );
    assert!(is_guarded(&mut guard.connect(), &mut direct, "job:a"), "a new connection has the new guards");
    until("an idle connection has them too", || is_guarded(&mut idle, &mut direct, "job:a").then_some(()));
    assert!(!is_guarded(&mut idle, &mut direct, "lock:a"));
    assert!(!is_guarded(&mut holder, &mut direct, "job:b"), "a holder keeps the rules of its lock");
    assert_eq!(holder.del("lock:held"), Ok(1));
    assert!(is_guarded(&mut holder, &mut direct, "job:b"), "until it has released it");
    let written = std::fs::read_to_string(&events).unwrap();
    assert!(written.contains("job:a") && !written.contains("lock:a"), "events go on in a new file: {written}");
}

/// A lock that its client acquired while the key was observed is the client's in the other modes, too, also if the file is read
/// again between the client's look and its release.
#[test]
fn a_lock_that_was_observed_is_released_by_its_client_after_a_change_of_mode() {
    for (mode, protocol) in [("protect", "php-getset"), ("protect", "php-setnx"), ("bridge", "php-getset")] {
        let server = Server::start();
        let text = |mode: &str, also: &str| format!("guard = [\"lock:*={protocol}\"{also}]\nmode = \"{mode}\"\n");
        let (_directory, path) = file(&text("observe", ""));
        let guard = GuardProcess::start(&server.url(), &[], &["--config", &path]);
        let [mut holder, mut next, mut direct] = [guard.connect(), guard.connect(), server.connect()];
        let own = server_secs(&mut direct) + 60;
        for key in ["lock:plain", "lock:seen", "lock:queued", "lock:stolen"] {
            assert_eq!(holder.set_nx(key, own), Ok(true));
        }
        std::fs::write(&path, text(mode, "")).unwrap();
        guard.signal(Signal::HUP);
        guard.until_message(&format!("guards were read again: lock:*={protocol}"));
        assert!(is_guarded(&mut next, &mut direct, "lock:other"));
        assert_eq!(next.set_nx("lock:plain", own), Ok(false), "{mode}");
        assert_eq!(holder.expire("lock:plain", 60), Ok(true));
        assert_eq!(direct.ttl("lock:plain"), Ok(60), "it had no time to live, and the guard has not written it");
        assert_eq!(holder.del("lock:plain"), Ok(1), "{mode}, {protocol}");
        assert_eq!(holder.get("lock:seen"), Ok(own));
        std::fs::write(&path, text(mode, ", \"job:*=php-getset\"")).unwrap();
        guard.signal(Signal::HUP);
        guard.until_message("job:*=php-getset");
        assert_eq!(holder.del("lock:seen"), Ok(1), "{mode}, {protocol}");
        assert_eq!(redis::pipe().atomic().del("lock:queued").query(&mut holder), Ok((1,)), "{mode}, {protocol}");
        direct.set::<_, _, ()>("lock:stolen", own + 1).unwrap();
        assert_eq!(holder.del("lock:stolen"), Ok(0), "it is another client's");
        assert_eq!(direct.keys("*"), Ok(vec!["lock:stolen".to_owned()]));
        assert!(is_guarded(&mut holder, &mut direct, "lock:plain"));
    }
}

#[test]
fn the_command_line_comes_before_the_file() {
    let server = Server::start();
    let (_directory, path) = file("listen = \"192.0.2.1:1\"\nredis = \"redis://192.0.2.1/\"\nmode = \"observe\"\n");
    let rules = [("lock:*".to_owned(), "php-getset")];
    let guard = GuardProcess::start(&server.url(), &rules, &["--config", &path, "--mode", "protect"]);
    assert!(is_guarded(&mut guard.connect(), &mut server.connect(), "lock:a"));
}

#[test]
fn events_go_on_in_a_new_file_after_a_disk_that_was_full() {
    let server = Server::start();
    let directory = tempfile::tempdir().unwrap();
    let events = directory.path().join("events.jsonl");
    std::os::unix::fs::symlink("/dev/full", &events).unwrap();
    let rules = [("lock:*".to_owned(), "php-getset")];
    let guard = GuardProcess::start(&server.url(), &rules, &["--events", &events.display().to_string()]);
    let [mut client, mut direct] = [guard.connect(), server.connect()];
    assert!(is_guarded(&mut client, &mut direct, "lock:a"));
    guard.until_message("cannot write events any more, until SIGHUP opens the file anew");
    std::fs::remove_file(&events).unwrap();
    guard.signal(Signal::HUP);
    guard.until_message("guards were read again");
    assert!(is_guarded(&mut client, &mut direct, "lock:b"));
    until("events are written", || {
        std::fs::read_to_string(&events).is_ok_and(|written| written.contains("lock:b")).then_some(())
    });
    guard.terminate();
    let (ended, _) = guard.done();
    assert_eq!(ended.status.code(), Some(3), "they are incomplete");
}

/// Clients do not wait for the reader of the events.
#[test]
fn a_pipe_of_events_that_nobody_reads_stops_no_client() {
    let server = Server::start();
    let directory = tempfile::tempdir().unwrap();
    let events = directory.path().join("events");
    assert!(std::process::Command::new("mkfifo").arg(&events).status().unwrap().success());
    // It is open for both, so that neither side waits for the other one to open it.
    let pipe = std::fs::OpenOptions::new().read(true).write(true).open(&events).unwrap();
    let rules = [("lock:*".to_owned(), "php-getset")];
    let guard = GuardProcess::start(&server.url(), &rules, &["--events", &events.display().to_string()]);
    let mut client = guard.connect();
    client.set_read_timeout(Some(PATIENCE)).unwrap();
    let name = "x".repeat(20_000);
    for number in 0..10 {
        assert_eq!(client.set_nx(format!("lock:{number}:{name}"), 4_102_444_800_i64), Ok(true), "lock {number}");
    }
    guard.until_message("cannot write events any more, until SIGHUP opens the file anew: the pipe is full");
    drop(client);
    guard.terminate();
    assert_eq!(guard.done().0.status.code(), Some(3), "they are incomplete");
    drop(pipe);
}
