//! Every kind of connection that the `redis` crate has carries a lock.

#[cfg(feature = "tokio")]
mod tasks;

use std::thread;

use lockshift::driver::blocking::{Lock, Masters};
use lockshift::driver::{Answer, Attempt, ErrorKind, Renewal};
use lockshift::lock::{Extended, Lease, Ownership, Released};
use lockshift::modern::TokenLock;
use lockshift::wire::Key;
use redis::ConnectionLike;

use super::lockers::Watched;
use super::world::{AN_HOUR, ms, token};
use crate::patience::{PATIENCE, pause};
use crate::server::{Cluster, Server};

/// Acquires, is refused, looks, extends, renews, releases, and does it once more from another thread.
fn carries_a_lock<C: ConnectionLike + Send + 'static>(connection: C) {
    let lock = Lock::new(connection, token(AN_HOUR));
    let round = move || {
        let Ok(Attempt::Won(mut guard)) = lock.try_acquire() else { panic!("the lock is free") };
        assert!(matches!(lock.try_acquire(), Ok(Attempt::Held(_))));
        assert!(matches!(guard.ownership(), Ok(Ownership::Ours { left: Some(_) })));
        assert!(matches!(guard.extend(), Ok(Answer::Known(Extended::Until(_)))));
        guard.renew(Renewal::every(ms(1))).unwrap();
        assert!(matches!(guard.release(), Ok(Answer::Known(Released::Freed))));
        lock
    };
    let lock = round();
    thread::spawn(move || drop(lock.try_acquire())).join().unwrap();
}

fn refuses_watch<C: ConnectionLike + 'static>(connection: C) {
    let lock = Lock::new(connection, Watched(Key::from("k")));
    assert_eq!(lock.try_acquire().unwrap_err().kind(), ErrorKind::SharedConnection);
}

#[test]
fn a_connection() {
    let server = Server::start();
    carries_a_lock(server.connect());
}

#[test]
fn a_connection_that_speaks_resp3() {
    let server = Server::start();
    let client = redis::Client::open(format!("{}?protocol=resp3", server.url())).unwrap();
    carries_a_lock(client.get_connection().unwrap());
}

/// One master is one server over one connection.
#[test]
fn a_single_master_carries_watch() {
    let server = Server::start();
    let lock = Lock::new(Masters::new([server.client()], PATIENCE), Watched(Key::from("k")));
    let Ok(Attempt::Won(guard)) = lock.try_acquire() else { panic!("the lock is free") };
    assert!(matches!(guard.release(), Ok(Answer::Known(Released::Freed))));
}

#[test]
fn a_client_that_connects_for_every_command() {
    let server = Server::start();
    carries_a_lock(server.client());
    refuses_watch(server.client());
}

#[test]
fn a_connection_from_an_r2d2_pool() {
    let server = Server::start();
    let pool = r2d2::Pool::builder().max_size(1).build(server.client()).unwrap();
    carries_a_lock(pool.get().unwrap());
    let lock = Lock::new(pool.get().unwrap(), Watched(Key::from("k")));
    assert!(matches!(lock.try_acquire(), Ok(Attempt::Won(_))), "it is ours alone as long as we have it");
}

#[test]
fn a_pool_has_its_connection_back_after_the_release_whatever_the_renewal_did() {
    let server = Server::start();
    let pool = r2d2::Pool::builder().max_size(1).build(server.client()).unwrap();
    for round in 0..50 {
        let lock = Lock::new(pool.get().unwrap(), token(AN_HOUR));
        let Ok(Attempt::Won(mut guard)) = lock.try_acquire() else { panic!("the lock is free") };
        guard.renew(Renewal::every(ms(1))).unwrap();
        pause(ms(round % 3));
        drop(lock);
        assert!(matches!(guard.release(), Ok(Answer::Known(Released::Freed))));
        assert!(pool.try_get().is_some(), "the renewal still has it, in round {round}");
    }
}

#[test]
fn a_cluster() {
    let cluster = Cluster::start();
    carries_a_lock(cluster.target().connect().unwrap());
    refuses_watch(cluster.target().connect().unwrap());
}

#[test]
fn a_cluster_whose_nodes_all_hold_locks() {
    let cluster = Cluster::start();
    let guards: Vec<_> = (0..20)
        .map(|number| {
            let locker = TokenLock::new(Key::new(format!("k{number}")), Lease::new(AN_HOUR).unwrap());
            match Lock::new(cluster.target().connect().unwrap(), locker).try_acquire() {
                Ok(Attempt::Won(guard)) => guard,
                other => panic!("no client holds k{number}, but: {other:?}"),
            }
        })
        .collect();
    assert!(cluster.keys().iter().all(|keys| *keys > 0), "{:?}", cluster.keys());
    drop(guards);
    assert_eq!(cluster.keys(), [0, 0, 0]);
}

#[test]
fn a_cluster_spoken_to_as_one_server() {
    let cluster = Cluster::start();
    let problems =
        cluster.masters().each_ref().map(|node| match Lock::new(node.connect(), token(AN_HOUR)).try_acquire() {
            Ok(Attempt::Won(_)) => None,
            Ok(other) => panic!("the lock is free, but: {other:?}"),
            Err(error) => Some(error.kind()),
        });
    // `k` is in slot 7629, which the second of the three serves.
    assert_eq!(problems, [Some(ErrorKind::OtherNode), None, Some(ErrorKind::OtherNode)]);
}
