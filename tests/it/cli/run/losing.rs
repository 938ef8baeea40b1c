//! A lock that is renewed, and one that is lost all the same: by others, by a server that hangs or dies, by a reply that
//! never comes.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixDatagram;
use std::time::Duration;

use redis::cmd;

use super::{Scene, UNTIL_GO, value};
use crate::cli::command::{Running, appears, done, lockshift};
use crate::patience::{now, pause, until};
use crate::proxy::{Cut, Proxy};

#[test]
fn the_lock_is_renewed_for_as_long_as_the_command_runs() {
    let scene = Scene::new();
    let running = scene.hold(&["--lease", "3s"], UNTIL_GO);
    let mut connection = scene.connect();
    let token = value(&mut connection).expect("it holds");
    let began = now();
    until("three leases have passed", || {
        assert_eq!(value(&mut connection).as_ref(), Some(&token), "the lock never changes hands and is never free");
        (began.elapsed().as_millis() > 9000).then_some(())
    });
    scene.leave("go");
    assert_eq!(running.done().code, Some(0));
}

#[test]
fn a_lost_lock_ends_the_command() {
    let scene = Scene::new();
    let running = scene.hold(&["--lease", "3s", "--json"], "exec sleep 60");
    cmd("SET").arg("stock").arg("another owner").exec(&mut scene.connect()).unwrap();
    let ended = running.done();
    assert_eq!(ended.code, Some(5), "{ended:?}");
    assert!(ended.stderr.contains("`stock` is lost, it is not ours any more: ending the command"), "{ended:?}");
    let note = ended.note();
    assert_eq!((note["lost"].as_bool(), note["released"].as_str()), (Some(true), Some("lost")));
    assert_eq!(note["status"].as_u64(), Some(128 + 15), "{ended:?}");
    assert_eq!(value(&mut scene.connect()).as_deref(), Some("another owner"));
}

#[test]
fn a_command_that_does_not_heed_the_loss_is_killed() {
    let scene = Scene::new();
    let running = scene.hold(&["--lease", "3s", "--json"], "trap '' TERM; while :; do sleep 0.1; done");
    cmd("DEL").arg("stock").exec(&mut scene.connect()).unwrap();
    let ended = running.done();
    assert_eq!((ended.code, ended.note()["status"].as_u64()), (Some(5), Some(128 + 9)), "{ended:?}");
}

#[test]
fn a_lost_lock_may_be_no_more_than_a_warning() {
    let scene = Scene::new();
    let running = scene.hold(&["--lease", "3s", "--on-lost", "warn", "--json"], &format!("{UNTIL_GO}; exit 7"));
    let mut connection = scene.connect();
    cmd("DEL").arg("stock").exec(&mut connection).unwrap();
    // When the next renewal has found it gone cannot be seen; that it has not come back is.
    let began = now();
    until("a lease has passed", || (began.elapsed().as_millis() > 3200).then_some(()));
    assert_eq!(value(&mut connection), None);
    scene.leave("go");
    let ended = running.done();
    assert_eq!((ended.code, ended.note()["status"].as_u64()), (Some(5), Some(7)), "{ended:?}");
    assert!(ended.stderr.contains("is lost, it is not ours any more: the command goes on without it"), "{ended:?}");
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
    let words =
        "the release failed, no server answers at the address: if the lock is still there, its lease ends it within ";
    assert!(ended.stderr.contains(words), "{ended:?}");
    assert_eq!(ended.note()["released"], "unknown");
}

/// The release is sent on a connection that the server has closed, so it never arrives.
#[test]
fn a_release_that_got_lost_is_repeated() {
    let scene = Scene::new();
    let running = scene.hold(&["--json"], UNTIL_GO);
    let mut connection = scene.connect();
    cmd("CLIENT").arg(&["KILL", "TYPE", "normal", "SKIPME", "yes"]).exec(&mut connection).unwrap();
    scene.leave("go");
    let ended = running.done();
    assert_eq!((ended.code, ended.note()["released"].as_str()), (Some(0), Some("freed")), "{ended:?}");
    assert_eq!(value(&mut connection), None);
}

#[test]
fn a_release_that_is_refused_is_repeated() {
    let scene = Scene::new();
    let running = scene.hold(&["--json"], UNTIL_GO);
    let mut connection = scene.connect();
    let replica_of = |master: [&str; 2]| cmd("REPLICAOF").arg(&master).to_owned();
    replica_of(["127.0.0.1", "1"]).exec(&mut connection).unwrap();
    scene.leave("go");
    let refused = || {
        let stats: String = cmd("INFO").arg("errorstats").query(&mut connection).unwrap();
        stats.contains("errorstat_READONLY").then_some(())
    };
    until("the release was refused", refused);
    replica_of(["NO", "ONE"]).exec(&mut connection).unwrap();
    let ended = running.done();
    assert_eq!((ended.code, ended.note()["released"].as_str()), (Some(0), Some("freed")), "{ended:?}");
    assert_eq!(value(&mut connection), None);
}

/// What a repeated release does not find may have been freed by the first one.
#[test]
fn a_release_whose_reply_is_lost_is_no_loss() {
    let scene = Scene::new();
    let proxy = Proxy::before(&scene.server);
    let mut command = lockshift();
    command.current_dir(scene.notes.path()).env("REDIS_URL", proxy.url());
    let script = format!("touch started; {UNTIL_GO}; exit 7");
    let running = Running::start(command, ["run", "stock", "--json", "--", "sh", "-c", &script]);
    appears(&scene.note("started"));
    // Then a PING comes before the release, and the script by its hash, which the server does not know yet.
    pause(Duration::from_millis(1100));
    proxy.cut(2, Cut::After);
    scene.leave("go");
    let ended = running.done();
    assert!(!proxy.spare(), "the wire was cut");
    let note = ended.note();
    assert_eq!((ended.code, note["released"].as_str()), (Some(7), Some("unknown")), "{ended:?}");
    assert_eq!(note["lost"].as_bool(), Some(false), "{ended:?}");
    assert!(ended.stderr.contains("a later one found nothing to release"), "{ended:?}");
    assert_eq!(value(&mut scene.connect()), None);
}

#[test]
fn a_lost_reply_is_neither_yes_nor_no() {
    let scene = Scene::new();
    let proxy = Proxy::before(&scene.server);
    let mut command = lockshift();
    command.current_dir(scene.notes.path()).env("REDIS_URL", proxy.url());
    // Before the SET come the connection's own greeting and the question for the key's type.
    proxy.cut(2, Cut::After);
    let ended = done(command, ["run", "stock", "--json", "--", "touch", "never"]);
    assert!(!proxy.spare(), "the wire was cut");
    assert_eq!(ended.code, Some(4), "{ended:?}");
    assert!(ended.stderr.contains("`stock`") && ended.stderr.contains("SET"), "{ended:?}");
    assert!(ended.note()["acquired"].is_null(), "{ended:?}");
    assert!(!scene.note("never").exists());
    assert_eq!(value(&mut scene.connect()), None, "what it may have won it has released");
}

#[test]
fn a_server_that_hangs_does_not_keep_a_command_running_without_its_lock() {
    let scene = Scene::new();
    let running =
        scene.hold(&["--lease", "3s", "--json"], "trap 'touch ended; exit 8' TERM; while :; do sleep 0.01; done");
    scene.server.pause();
    appears(&scene.note("ended"));
    scene.server.resume();
    let ended = running.done();
    assert_eq!(ended.code, Some(5), "{ended:?}");
    assert!(ended.stderr.contains("`stock`: its lease is about to end: ending the command"), "{ended:?}");
    let note = ended.note();
    assert_eq!((note["ended_early"].as_bool(), note["status"].as_u64()), (Some(true), Some(8)), "{ended:?}");
}

/// The command writes to the same standard error: a line that is written in pieces may have its output in the middle.
#[test]
fn each_line_on_standard_error_is_one_write() {
    let scene = Scene::new();
    // Of such a socket each write is one packet.
    let (ours, theirs) = UnixDatagram::pair().unwrap();
    ours.set_nonblocking(true).unwrap();
    let mut command = lockshift();
    command.env("REDIS_URL", scene.server.url()).stderr(OwnedFd::from(theirs));
    command.args(["run", "stock", "--protocol", "java-setnx-expire", "--lease", "2s", "--json", "--", "sleep", "60"]);
    assert_eq!(command.status().unwrap().code(), Some(5));
    let mut packet = [0; 4096];
    let written: Vec<_> = std::iter::from_fn(|| {
        let length = ours.recv(&mut packet).ok()?;
        Some(String::from_utf8_lossy(&packet[..length]).into_owned())
    })
    .collect();
    // The last one begins with a line feed, whose line may be one of the command's.
    let is_line = |packet: &String| packet.ends_with('\n') && packet.trim_start().lines().count() == 1;
    assert!(written.len() == 3 && written.iter().all(is_line), "{written:?}");
    assert_eq!(written[1], "lockshift: lock key `stock`: its lease is about to end: ending the command\n");
}

#[test]
fn a_lock_that_cannot_be_renewed_is_held_for_its_lease() {
    let scene = Scene::new();
    let running = scene.hold(&["--protocol", "java-setnx-expire", "--lease", "2s", "--json"], "exec sleep 60");
    let ended = running.done();
    assert_eq!(ended.code, Some(5), "{ended:?}");
    let printed: Vec<_> = ended.stderr.lines().take(2).collect();
    assert_eq!(
        printed,
        [
            "lockshift: this protocol cannot extend a lock: the command has 2s",
            "lockshift: lock key `stock`: its lease is about to end: ending the command"
        ]
    );
    let note = ended.note();
    assert_eq!((note["ended_early"].as_bool(), note["lost"].as_bool()), (Some(true), Some(false)), "{ended:?}");
}

#[test]
fn a_command_is_killed_before_its_lease_ends() {
    let scene = Scene::new();
    let flags = ["--protocol", "java-setnx-expire", "--lease", "10s", "--kill-after", "500ms", "--json"];
    let running = scene.hold(&flags, "trap '' TERM; while :; do sleep 0.1; done");
    let ended = running.done();
    let note = ended.note();
    assert_eq!((ended.code, note["status"].as_u64()), (Some(5), Some(128 + 9)), "{ended:?}");
    assert_eq!((note["ended_early"].as_bool(), note["lost"].as_bool()), (Some(true), Some(false)), "{ended:?}");
    assert_eq!(note["released"].as_str(), Some("freed"), "it was ours until the command was gone");
}

#[test]
fn a_grace_that_does_not_fit_into_the_lease_is_refused() {
    let scene = Scene::new();
    let ended = scene.start(&["--lease", "10s", "--kill-after", "6s"], "touch never").done();
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert_eq!(
        ended.stderr,
        "lockshift: --kill-after 6s does not fit into a lease of 10s: it may be half of the lease, 5s, at most\n"
    );
    assert!(!scene.note("never").exists());
}

/// An ownerless release deletes whatever stands in the key: after a loss it would free the next holder's lock. One that never
/// expires, such as `naive-setnx`, is released all the same: no other client can have acquired it.
#[test]
fn a_lost_lock_is_not_released_by_a_protocol_that_knows_no_owner() {
    for protocol in ["java-lua", "java-setnx-expire", "php-getset"] {
        let scene = Scene::new();
        let flags = ["--protocol", protocol, "--lease", "2s", "--on-lost", "warn", "--json"];
        let running = scene.hold(&flags, UNTIL_GO);
        let mut connection = scene.connect();
        cmd("SET").arg("stock").arg("another holder's").exec(&mut connection).unwrap();
        let began = now();
        until("no extension was confirmed for a lease", || (began.elapsed().as_millis() > 2200).then_some(()));
        scene.leave("go");
        let ended = running.done();
        assert_eq!(value(&mut connection).as_deref(), Some("another holder's"), "{protocol}: {ended:?}");
        let note = ended.note();
        assert_eq!((ended.code, note["lost"].as_bool()), (Some(5), Some(true)), "{protocol}: {ended:?}");
        assert_ne!(note["released"].as_str(), Some("freed"), "{protocol}: {ended:?}");
    }
}

/// SETNX without an expiry: no time loses it, so the lock that is released was not lost.
#[test]
fn a_lock_that_never_expires_is_not_lost_by_time() {
    let scene = Scene::new();
    let flags = ["--protocol", "naive-setnx", "--lease", "2s", "--json"];
    let running = scene.hold(&flags, UNTIL_GO);
    let began = now();
    until("a lease has passed", || (began.elapsed().as_millis() > 2200).then_some(()));
    scene.leave("go");
    let ended = running.done();
    let note = ended.note();
    assert_eq!((ended.code, note["lost"].as_bool()), (Some(0), Some(false)), "{ended:?}");
    assert_eq!(note["released"].as_str(), Some("freed"), "{ended:?}");
    assert_eq!(value(&mut scene.connect()), None);
}
