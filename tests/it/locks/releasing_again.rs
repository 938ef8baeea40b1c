//! A release during which the connection breaks is sent once more, where that can do no harm.

use lockshift::Locks;
use lockshift::locks::ReleaseError;
use redis::{InfoDict, cmd};

use super::{LEASE, LONG, exists};
use crate::driver::logbook;
use crate::proxy::{Cut, MessageFault, Proxy};
use crate::server::Server;

/// Cuts every connection but that of the operator, which a client notices by its next command.
fn hang_up(server: &Server) {
    cmd("CLIENT").arg("KILL").arg("TYPE").arg("normal").arg("SKIPME").arg("yes").exec(&mut server.connect()).unwrap();
}

/// How often this command has been called.
fn calls(server: &Server, command: &str) -> u64 {
    let stats: InfoDict = cmd("INFO").arg("commandstats").query(&mut server.connect()).unwrap();
    let line: Option<String> = stats.get(&format!("cmdstat_{command}"));
    let calls = line.and_then(|line| line.split(['=', ',']).nth(1)?.parse().ok());
    calls.unwrap_or(0)
}

/// Locks whose release compares what it wrote, one of them without a lease.
const COMPARING: [&str; 6] = ["token", "token,expiry=none", "token-fenced", "fair", "java-token", "redis-py-2.10-lua"];

#[test]
fn a_release_by_a_thread_outlives_a_cut() {
    logbook::open();
    let server = Server::start();
    let proxy = Proxy::before(&server);
    let locks = Locks::connect(&proxy.url()).unwrap();
    for name in COMPARING {
        let key = format!("cut for a thread: {name}");
        let lock = locks.protocol(name, key.as_str(), LEASE).unwrap();
        for cut in Cut::ALL {
            let held = lock.acquire_within(LONG).unwrap();
            proxy.cut(0, cut);
            match held.release() {
                Ok(()) => {}
                Err(ReleaseError::Unknown(_)) => {
                    assert!(matches!(cut, Cut::After | Cut::WithinReply), "{name}, {cut:?}")
                }
                Err(error) => panic!("{name}, {cut:?}: {error}"),
            }
            assert!(!exists(&server, &key), "{name}, {cut:?}");
        }
        lock.with(LONG, |_| hang_up(&server)).unwrap();
        assert!(!exists(&server, &key), "{name}");
        assert_eq!(logbook::warnings_about(&key), [""; 0], "nothing remains");
    }
}

#[test]
fn a_naive_release_that_has_only_read_is_sent_again_and_one_that_may_have_deleted_is_not() {
    let server = Server::start();
    let proxy = Proxy::before(&server);
    let locks = Locks::connect(&proxy.url()).unwrap();
    // TTL, then DEL.
    let lock = locks.legacy("php-getset", "k", LEASE).unwrap();
    for (skipped, cut, is_free) in
        [(0, Cut::Before, true), (0, Cut::After, true), (1, Cut::Before, false), (1, Cut::After, true)]
    {
        let held = lock.acquire_within(LONG).unwrap();
        let before = calls(&server, "del");
        proxy.cut(skipped, cut);
        let released = held.release();
        assert_eq!(released.is_ok(), skipped == 0, "{skipped}, {cut:?}: {released:?}");
        assert_eq!(!exists(&server, "k"), is_free, "{skipped}, {cut:?}");
        assert_eq!(calls(&server, "del") - before, u64::from(is_free), "{skipped}, {cut:?}");
        cmd("DEL").arg("k").exec(&mut server.connect()).unwrap();
    }
}

/// Whichever of the two runs is the later one, it would leave once too often.
#[test]
fn an_owner_that_has_entered_twice_leaves_once() {
    let server = Server::start();
    let proxy = Proxy::before(&server);
    let locks = Locks::connect(&proxy.url()).unwrap();
    for name in ["reentrant", "redisson"] {
        let lock = locks.protocol(name, name, LEASE).unwrap();
        // From now on the server knows the scripts.
        lock.acquire_within(LONG).unwrap().release().unwrap();
        let outer = lock.acquire_within(LONG).unwrap();
        for cut in [Cut::After, Cut::WithinReply] {
            let inner = lock.acquire_within(LONG).unwrap();
            proxy.cut(0, cut);
            assert!(matches!(inner.release(), Err(ReleaseError::Unknown(_))), "{name}, {cut:?}");
            let counts: Vec<u32> = cmd("HVALS").arg(name).query(&mut server.connect()).unwrap();
            assert_eq!(counts, [1], "{name}, {cut:?}");
        }
        outer.release().unwrap();
    }
}

/// Whether the first one has released, or the lock had been lost before, nobody can tell.
#[test]
fn a_repeated_release_leaves_the_lock_of_another_client_alone() {
    let server = Server::start();
    let proxy = Proxy::before(&server);
    let lock = Locks::connect(&proxy.url()).unwrap().token("k", LEASE).unwrap();
    let held = lock.acquire_within(LONG).unwrap();
    cmd("SET").arg("k").arg("another client's").exec(&mut server.connect()).unwrap();
    proxy.cut(0, Cut::Before);
    let released = held.release();
    assert!(matches!(released, Err(ReleaseError::Unknown(_))), "{released:?}");
    let value: String = cmd("GET").arg("k").query(&mut server.connect()).unwrap();
    assert_eq!(value, "another client's");
}

#[test]
fn the_log_knows_whether_a_lease_ends_what_was_not_released() {
    logbook::open();
    let server = Server::start();
    let proxy = Proxy::before(&server);
    let locks = Locks::connect(&proxy.url()).unwrap();
    for (name, key, says) in [
        ("token,expiry=none", "endless", "it stays until its key is deleted"),
        ("token", "ending", "its lease will end it"),
    ] {
        let lock = locks.protocol(name, key, LEASE).unwrap();
        let hang = || proxy.strike(0, MessageFault::Hang);
        lock.with(LONG, |_| hang()).unwrap();
        cmd("DEL").arg(key).exec(&mut server.connect()).unwrap();
        let held = lock.acquire_within(LONG).unwrap();
        hang();
        drop(held);
        let warnings = logbook::warnings_about(key);
        assert_eq!(warnings.len(), 2, "{warnings:?}");
        assert!(warnings.iter().all(|text| text.contains(says)), "{warnings:?}");
    }
}

#[cfg(feature = "tokio")]
mod tasks {
    use lockshift::aio::Locks;

    use super::*;
    use crate::patience::until;

    #[test]
    fn a_release_by_a_task_outlives_a_cut() {
        logbook::open();
        let server = Server::start();
        let proxy = Proxy::before(&server);
        tokio::runtime::Runtime::new().unwrap().block_on(async {
            let locks = Locks::connect(&proxy.url()).await.unwrap();
            for name in COMPARING {
                let key = format!("cut for a task: {name}");
                let lock = locks.protocol(name, key.as_str(), LEASE).unwrap();
                for cut in Cut::ALL {
                    let held = lock.acquire_within(LONG).await.unwrap();
                    proxy.cut(0, cut);
                    match held.release().await {
                        Ok(()) => {}
                        Err(ReleaseError::Unknown(_)) => {
                            assert!(matches!(cut, Cut::After | Cut::WithinReply), "{name}, {cut:?}");
                        }
                        Err(error) => panic!("{name}, {cut:?}: {error}"),
                    }
                    assert!(!exists(&server, &key), "{name}, {cut:?}");
                    let held = lock.acquire_within(LONG).await.unwrap();
                    proxy.cut(0, cut);
                    drop(held);
                    until("a task releases it", || (!exists(&server, &key)).then_some(()));
                }
                lock.with(LONG, async |_| hang_up(&server)).await.unwrap();
                assert!(!exists(&server, &key), "{name}");
            }
        });
    }
}
