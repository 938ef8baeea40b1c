//! Every kind of async connection.

use lockshift::driver::aio::Lock;
use lockshift::driver::{Answer, Attempt, ErrorKind, Renewal};
use lockshift::lock::{Extended, Ownership, Released};
use lockshift::wire::Key;
use redis::aio::ConnectionLike;

use super::super::lockers::Watched;
use super::super::losing_replies::{Lossy, Plan};
use super::super::world::{AN_HOUR, ms, token};
use crate::server::{Cluster, Server};

/// Acquires, is refused, looks, extends, renews, releases, and does it once more.
async fn carries_a_lock<C: ConnectionLike + Clone + Send + Sync + 'static>(connection: C) {
    let lock = Lock::new(connection, token(AN_HOUR));
    for _ in 0..2 {
        let Ok(Attempt::Won(mut guard)) = lock.try_acquire().await else { panic!("the lock is free") };
        assert!(matches!(lock.try_acquire().await, Ok(Attempt::Held(_))));
        assert!(matches!(guard.ownership().await, Ok(Ownership::Ours { left: Some(_) })));
        assert!(matches!(guard.extend().await, Ok(Answer::Known(Extended::Until(_)))));
        guard.renew(Renewal::every(ms(1))).await;
        assert!(matches!(guard.release().await, Ok(Answer::Known(Released::Freed))));
    }
}

/// On a shared connection the others would end up inside of our transaction.
async fn refuses_watch<C: ConnectionLike + Clone + Send + Sync + 'static>(connection: C) {
    let lock = Lock::new(connection, Watched(Key::from("k")));
    assert_eq!(lock.try_acquire().await.unwrap_err().kind(), ErrorKind::SharedConnection);
}

#[tokio::test]
async fn a_multiplexed_connection() {
    let server = Server::start();
    let connection = server.client().get_multiplexed_async_connection().await.unwrap();
    carries_a_lock(connection.clone()).await;
    refuses_watch(connection).await;
}

#[tokio::test]
async fn a_multiplexed_connection_that_speaks_resp3() {
    let server = Server::start();
    let client = redis::Client::open(format!("{}?protocol=resp3", server.url())).unwrap();
    carries_a_lock(client.get_multiplexed_async_connection().await.unwrap()).await;
}

#[tokio::test]
async fn a_connection_manager() {
    let server = Server::start();
    carries_a_lock(server.client().get_connection_manager().await.unwrap()).await;
}

#[tokio::test]
async fn a_connection_from_a_bb8_pool() {
    let server = Server::start();
    let pool = bb8::Pool::builder().max_size(2).build(server.client()).await.unwrap();
    carries_a_lock(pool.get().await.unwrap().clone()).await;
    let lock = Lock::on_own_connection(pool.dedicated_connection().await.unwrap(), Watched(Key::from("k")));
    assert!(matches!(lock.try_acquire().await, Ok(Attempt::Won(_))), "it is ours alone");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_connection_is_free_after_the_release_whatever_the_renewal_did() {
    let server = Server::start();
    let connection = server.client().get_multiplexed_async_connection().await.unwrap();
    for round in 0..50 {
        let plan = Plan::default();
        let lock = Lock::on_own_connection(Lossy::new(connection.clone(), plan.clone()), token(AN_HOUR));
        let Ok(Attempt::Won(mut guard)) = lock.try_acquire().await else { panic!("the lock is free") };
        guard.renew(Renewal::every(ms(1))).await;
        tokio::time::sleep(ms(round % 3)).await;
        drop(lock);
        assert!(matches!(guard.release().await, Ok(Answer::Known(Released::Freed))));
        assert!(plan.is_mine_alone(), "the renewal still has it, in round {round}");
    }
}

#[tokio::test]
async fn a_cluster() {
    let cluster = Cluster::start();
    carries_a_lock(cluster.target().connect_async().await.unwrap()).await;
}

#[tokio::test]
async fn tries_on_clones_do_not_wait_for_each_other() {
    let server = Server::start();
    let connection = server.client().get_multiplexed_async_connection().await.unwrap();
    let lock = Lock::new(connection, token(AN_HOUR));
    let (one, other) = tokio::join!(lock.try_acquire(), lock.try_acquire());
    let won = |attempt: &Result<_, _>| matches!(attempt, Ok(Attempt::Won(_)));
    assert_eq!([&one, &other].map(won).into_iter().filter(|won| *won).count(), 1, "{one:?}, {other:?}");
}
