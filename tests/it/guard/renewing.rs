//! `--renew`: a lock does not end before its client is done, as long as the client's connection lives.

use std::time::Duration;

use redis::{Commands, cmd};

use super::server_secs;
use crate::guard_process::GuardProcess;
use crate::patience::{pause, until};
use crate::server::Server;

fn renewing(server: &Server, mode: &str, most: &str) -> GuardProcess {
    let rules = [("lock:*".to_owned(), "php-getset")];
    GuardProcess::start(&server.url(), &rules, &["--mode", mode, "--renew", most])
}

#[test]
fn a_holder_keeps_its_lock_beyond_its_lease_and_releases_it() {
    for mode in ["protect", "bridge"] {
        let server = Server::start();
        let guard = renewing(&server, mode, "1h");
        let [mut holder, mut waiter, mut direct] = [guard.connect(), guard.connect(), server.connect()];
        let end = server_secs(&mut direct) + 2;
        assert!(holder.set_nx::<_, _, bool>("lock:a", end).unwrap());
        let first: String = direct.get("lock:a").unwrap();
        cmd("PING").exec(&mut holder).unwrap();
        // The client's stamp and the stamp that the guard wrote with it have ended, and the lock has not.
        while server_secs(&mut direct) < end + 3 {
            let value = server_secs(&mut waiter) + 30;
            assert!(!waiter.set_nx::<_, _, bool>("lock:a", value).unwrap(), "{mode}: its lease was extended");
            pause(Duration::from_millis(50));
        }
        assert_ne!(direct.get::<_, String>("lock:a").unwrap(), first);
        assert_eq!(holder.get::<_, String>("lock:a").unwrap(), end.to_string(), "the holder finds its own value");
        assert_eq!(holder.del("lock:a"), Ok(1), "{mode}");
        assert_eq!(cmd("DBSIZE").query(&mut direct), Ok(0), "{mode}");
        guard.terminate();
        let text = String::from_utf8(guard.done().0.stdout).unwrap();
        assert!(text.contains("1  Prevented: overrun"), "{mode}: {text}");
    }
}

#[test]
fn a_lock_ends_when_the_connection_of_its_client_does_and_after_the_maximum() {
    let server = Server::start();
    let guard = renewing(&server, "protect", "3s");
    let [mut holder, mut leaving, mut direct] = [guard.connect(), guard.connect(), server.connect()];
    for (key, client) in [("lock:held", &mut holder), ("lock:left", &mut leaving)] {
        let end = server_secs(client) + 2;
        assert!(client.set_nx::<_, _, bool>(key, end).unwrap());
    }
    drop(leaving);
    until("both have ended", || {
        let both: i64 = direct.exists(&["lock:held", "lock:left"][..]).unwrap();
        (both == 0).then_some(())
    });
    assert_eq!(holder.del("lock:held"), Ok(0), "it was lost");
    guard.terminate();
    let text = String::from_utf8(guard.done().0.stdout).unwrap();
    assert!(text.contains("1  Connections that ended while"), "{text}");
}

/// A connection that watches a lock is left alone, as an extension would end its transaction. A refused WATCH watches nothing.
#[test]
fn a_lock_is_extended_after_a_watch_that_was_refused() {
    let server = Server::start();
    let permissions = ["on", "nopass", "~*", "&*", "+@all", "-watch"];
    cmd("ACL").arg("SETUSER").arg("plain").arg(&permissions).exec(&mut server.connect()).unwrap();
    let guard = renewing(&server, "protect", "1h");
    let [mut holder, mut direct] = [guard.connect(), server.connect()];
    cmd("AUTH").arg("plain").arg("any").exec(&mut holder).unwrap();
    let end = server_secs(&mut direct) + 2;
    assert!(holder.set_nx::<_, _, bool>("lock:a", end).unwrap());
    let first: String = direct.get("lock:a").unwrap();
    assert_eq!(cmd("WATCH").arg("lock:a").exec(&mut holder).unwrap_err().code(), Some("NOPERM"));
    until("the lease is extended", || {
        let now: Option<String> = direct.get("lock:a").unwrap();
        assert!(now.is_some(), "the lock has ended");
        now.filter(|now| *now != first)
    });
    assert_eq!(holder.del("lock:a"), Ok(1));
}

/// Its client relies on a later end: no other client may acquire before.
#[test]
fn a_lease_is_not_shortened_by_a_maximum_below_it() {
    for mode in ["protect", "bridge"] {
        let server = Server::start();
        let guard = renewing(&server, mode, "4s");
        let [mut holder, mut waiter, mut direct] = [guard.connect(), guard.connect(), server.connect()];
        let end = server_secs(&mut direct) + 6;
        assert!(holder.set_nx::<_, _, bool>("lock:a", end).unwrap());
        while server_secs(&mut direct) < end {
            let value = server_secs(&mut waiter) + 30;
            assert!(!waiter.set_nx::<_, _, bool>("lock:a", value).unwrap(), "{mode}: its lease runs");
            pause(Duration::from_millis(50));
        }
    }
}

#[test]
fn a_lock_is_extended_while_its_client_is_in_another_database() {
    let server = Server::start();
    let guard = renewing(&server, "protect", "1h");
    let [mut holder, mut direct] = [guard.connect(), server.connect()];
    let end = server_secs(&mut direct) + 2;
    assert!(holder.set_nx::<_, _, bool>("lock:a", end).unwrap());
    cmd("SELECT").arg(1).exec(&mut holder).unwrap();
    until("the lease would have ended", || (server_secs(&mut direct) > end + 2).then_some(()));
    assert_eq!(direct.exists("lock:a"), Ok(true));
    assert_eq!(holder.set("in", "one"), Ok(()), "the client notices nothing");
    cmd("SELECT").arg(0).exec(&mut holder).unwrap();
    assert_eq!(direct.exists("in"), Ok(false));
    assert_eq!(holder.del("lock:a"), Ok(1));
}
