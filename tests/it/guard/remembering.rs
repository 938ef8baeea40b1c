//! Clients that do not release: what a connection remembers does not grow with what its client has ever acquired.

use std::time::Duration;

use redis::{Commands, Connection};
use rustix::process::Signal;

use super::server_secs;
use crate::guard_process::GuardProcess;
use crate::patience::pause;
use crate::server::Server;

/// A client that runs something once for each order, and never releases.
fn acquire_all(client: &mut Connection, direct: &mut Connection, keys: std::ops::Range<u32>) {
    let end = server_secs(direct) + 2;
    let mut pieces = redis::pipe();
    for key in keys.clone() {
        pieces.set_nx(format!("lock:order:{key}"), end);
    }
    let won: Vec<bool> = pieces.query(client).unwrap();
    assert!(won.iter().all(|won| *won), "{keys:?}: {won:?}");
    while server_secs(direct) <= end {
        pause(Duration::from_millis(50));
    }
}

#[test]
fn of_the_locks_whose_leases_have_ended_a_connection_remembers_the_latest() {
    let server = Server::start();
    // The keys stay when their leases have ended, so a DEL shows what is remembered.
    let rules = [("lock:*".to_owned(), "php-getset")];
    let guard = GuardProcess::start(&server.url(), &rules, &["--no-ttl"]);
    let [mut client, mut direct] = [guard.connect(), server.connect()];
    for first in [0, 400, 800] {
        acquire_all(&mut client, &mut direct, first..first + 400);
    }
    let mut delete = |key: u32| client.del::<_, u32>(format!("lock:order:{key}")).unwrap();
    assert_eq!(delete(1199), 1);
    assert_eq!(delete(1000), 1, "the latest 256 at least");
    assert_eq!((0..400).map(&mut delete).sum::<u32>(), 0, "no more than twice as many, and those that are held");
    guard.terminate();
    let text = String::from_utf8(guard.done().0.stdout).unwrap();
    assert!(text.contains("0  Connections that ended while"), "none of them was held any more: {text}");
}

#[test]
fn a_lock_whose_lease_has_ended_does_not_keep_a_connection_with_old_settings() {
    let server = Server::start();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("guard.toml").display().to_string();
    let write = |rule: &str| std::fs::write(&path, format!("redis = \"{}\"\nguard = [\"{rule}\"]\n", server.url()));
    write("lock:*=php-getset").unwrap();
    let guard = GuardProcess::start(&server.url(), &[], &["--config", &path]);
    let [mut client, mut direct] = [guard.connect(), server.connect()];
    acquire_all(&mut client, &mut direct, 0..1);
    write("job:*=php-getset").unwrap();
    guard.signal(Signal::HUP);
    guard.until_message("guards were read again: job:*=php-getset");
    let far = server_secs(&mut direct) + 30;
    assert_eq!(client.set_nx("job:a", far), Ok(true));
    assert_ne!(direct.get("job:a"), Ok(far.to_string()), "the guard has written its own stamp");
}
