//! The server of a guard is slow, restarts, or is demoted to a replica.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use redis::{Commands, Connection, ErrorKind, RedisError, RedisResult, ServerErrorKind, cmd};

use super::server_secs;
use crate::guard_process::GuardProcess;
use crate::patience::until;
use crate::server::{Options, Server};

/// A stamp that no clock has reached.
const LIVE: &str = "4102444800";

fn guard(server: &Server) -> GuardProcess {
    GuardProcess::start(&server.url(), &[("lock:*".to_owned(), "php-getset")], &[])
}

#[test]
fn clients_wait_for_a_slow_server_and_one_of_them_acquires() {
    let server = Server::start();
    let guard = guard(&server);
    let mut clients: Vec<Connection> = (0..8).map(|_| guard.connect()).collect();
    clients.iter_mut().for_each(|client| cmd("PING").exec(client).unwrap());
    server.pause();
    let trying: Vec<_> = clients
        .into_iter()
        .map(|mut client| {
            std::thread::spawn(move || {
                let is_acquired: bool = client.set_nx("lock:a", LIVE).unwrap();
                (client, is_acquired)
            })
        })
        .collect();
    server.resume();
    let (mut holders, others): (Vec<_>, Vec<_>) =
        trying.into_iter().map(|client| client.join().unwrap()).partition(|(_, is_acquired)| *is_acquired);
    assert_eq!((holders.len(), others.len()), (1, 7));
    assert_eq!(holders[0].0.del("lock:a"), Ok(1), "the holder's connection has lasted");
}

#[test]
fn a_lock_that_a_restart_has_lost_is_free_and_its_old_holder_deletes_no_other() {
    let mut server = Server::start();
    let guard = guard(&server);
    let mut first = guard.connect();
    assert_eq!(first.set_nx("lock:a", LIVE), Ok(true));
    server.kill();
    server.restart();
    let ended: RedisResult<i64> = first.del("lock:a");
    assert!(ended.unwrap_err().is_connection_dropped(), "its connection has ended with the server's");

    let mut second = guard.connect();
    assert_eq!(second.set_nx("lock:a", LIVE), Ok(true), "the server has forgotten the lock");
    assert_eq!(
        guard.connect().del("lock:a"),
        Ok(0),
        "the first client, connected again, deletes what it does not hold"
    );
    assert_eq!(second.del("lock:a"), Ok(1));
}

#[test]
fn a_demoted_server_refuses_locks_and_a_promoted_one_keeps_them() {
    let master = Server::start();
    let replica = Server::with(&Options::new().replica_of(&master));
    let [at_master, at_replica] = [&master, &replica].map(guard);
    let (mut holder, mut other) = (at_master.connect(), at_replica.connect());
    assert_eq!(holder.set_nx("lock:a", LIVE), Ok(true));
    until("the replica has the lock", || {
        replica.connect().exists::<_, bool>("lock:a").is_ok_and(|is_there| is_there).then_some(())
    });
    assert_is_read_only(other.set_nx("lock:b", LIVE));

    replicate(&replica, None);
    replicate(&master, Some(replica.address()));
    assert_eq!(other.set_nx("lock:a", LIVE), Ok(false), "the lock was replicated");
    assert_eq!(other.set_nx("lock:b", LIVE), Ok(true));
    assert_is_read_only(holder.del::<_, bool>("lock:a"));
    assert_is_read_only(holder.set_nx("lock:c", LIVE));

    until("the old master has the lock of the new one", || {
        master.connect().exists::<_, bool>("lock:b").is_ok_and(|is_there| is_there).then_some(())
    });
    replicate(&master, None);
    assert_eq!(holder.del("lock:a"), Ok(1), "a release that was refused can be tried again");
}

fn replicate(server: &Server, master: Option<SocketAddr>) {
    let (host, port) = match master {
        Some(address) => (address.ip().to_string(), address.port().to_string()),
        None => ("NO".to_owned(), "ONE".to_owned()),
    };
    cmd("REPLICAOF").arg(host).arg(port).exec(&mut server.connect()).unwrap();
}

#[track_caller]
fn assert_is_read_only(answered: RedisResult<bool>) {
    let kind = answered.as_ref().map_err(RedisError::kind);
    assert_eq!(kind, Err(ErrorKind::Server(ServerErrorKind::ReadOnly)), "{answered:?}");
}

/// The guard's scripts run as the client's user.
#[test]
fn a_user_that_may_not_run_the_scripts_of_the_guard_is_reported_once() {
    let server = Server::start();
    for user in ["one", "other"] {
        let permissions = ["on", "nopass", "~*", "&*", "+@all", "-evalsha"];
        cmd("ACL").arg("SETUSER").arg(user).arg(&permissions).exec(&mut server.connect()).unwrap();
    }
    let guard = GuardProcess::start(&server.url(), &[("lock:*".to_owned(), "php-getset")], &[]);
    let mut refusals = BTreeSet::new();
    for user in ["one", "other", "one"] {
        let mut client = guard.connect();
        cmd("AUTH").arg(user).arg("any").exec(&mut client).unwrap();
        let stamp = server_secs(&mut client) + 30;
        let refusal = client.set_nx::<_, _, bool>("lock:a", stamp).unwrap_err();
        assert_eq!(refusal.code(), Some("NOPERM"));
        // Redis 7.0 does not name the user, and others do.
        refusals.insert(refusal.to_string());
    }
    guard.terminate();
    let (_, messages) = guard.done();
    let reports = messages.iter().filter(|line| line.contains("see `lockshift protocols --acl guard:php-getset`"));
    assert_eq!(reports.count(), refusals.len(), "{messages:?}");
}

#[test]
fn a_node_of_a_cluster_is_reported_with_its_first_refusal() {
    let server = Server::with(&Options::new().line("cluster-enabled yes"));
    for mode in ["protect", "observe"] {
        let rules = [("lock:*".to_owned(), "php-getset")];
        let guard = GuardProcess::start(&server.url(), &rules, &["--mode", mode]);
        let mut client = guard.connect();
        let stamp = server_secs(&mut client) + 30;
        for _ in 0..2 {
            assert!(client.set_nx::<_, _, bool>("lock:a", stamp).is_err(), "no slot of it is served");
        }
        guard.until_message("the server is a node of a cluster (CLUSTERDOWN)");
    }
}
