//! Futures in whose caller's task the work is done: what they cost, and that one which is kept but not polled blocks no
//! other future. The leases here are an hour, so that only a release can free a key.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use lockshift::driver::aio::Lock;
use lockshift::driver::{Answer, Attempt, Wait};
use lockshift::lock::{Extended, Locker, Released};
use lockshift::modern::FairLock;
use lockshift::wire::Key;
use lockshift::{connect, lock::Lease};
use redis::aio::ConnectionLike;
use redis::cmd;
use tokio::runtime::Handle;
use tokio::time::{sleep, timeout};

use super::gate::Gate;
use super::lockers::SetnxExpire;
use super::world::{AN_HOUR, ms, token};
use crate::server::Server;

/// Far longer than anything here takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// Polls a future so many times, lets what it waits for happen in between, and returns what it came to, if it did.
async fn polled<T>(polls: usize, future: impl Future<Output = T>) -> Option<T> {
    let mut future = pin!(future);
    for _ in 0..polls {
        if let Poll::Ready(done) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return Some(done);
        }
        sleep(ms(1)).await;
    }
    None
}

#[tokio::test]
async fn an_attempt_and_a_release_need_no_task_of_their_own() {
    let server = Server::start();
    let connection = server.client().get_multiplexed_async_connection().await.unwrap();
    let lock = Lock::new(connection, token(AN_HOUR));
    let tasks = || Handle::current().metrics().num_alive_tasks();
    let before = tasks();

    let gate = Gate::shut(&server);
    let mut trying = pin!(lock.try_acquire());
    assert!(timeout(ms(20), &mut trying).await.is_err());
    assert_eq!(tasks(), before, "while the attempt is under way");
    gate.open();
    let Ok(Attempt::Won(guard)) = trying.await else { panic!("the lock is free") };

    let gate = Gate::shut(&server);
    let mut releasing = pin!(guard.release());
    assert!(timeout(ms(20), &mut releasing).await.is_err());
    assert_eq!(tasks(), before, "while the release is under way");
    gate.open();
    assert!(matches!(releasing.await, Ok(Answer::Known(Released::Freed))));
}

/// Only a box that lives while an attempt or a release does has room for it.
#[tokio::test]
async fn a_future_that_waits_is_small() {
    let server = Server::start();
    let connection = server.client().get_multiplexed_async_connection().await.unwrap();
    let lock = Lock::new(connection, token(AN_HOUR));
    let wait = Wait::notified();
    let waiting = size_of_val(&lock.acquire(&wait));
    assert!(waiting <= 1500, "{waiting} bytes");
    let Ok(Attempt::Won(guard)) = lock.try_acquire().await else { panic!("the lock is free") };
    let releasing = size_of_val(&guard.release());
    assert!(releasing <= 500, "{releasing} bytes");
}

#[tokio::test]
async fn an_attempt_that_is_not_polled_keeps_no_holder_from_an_own_connection() {
    let server = Server::start();
    let connection = server.client().get_multiplexed_async_connection().await.unwrap();
    let lock = Lock::on_own_connection(connection, token(AN_HOUR));
    let Ok(Attempt::Won(guard)) = lock.try_acquire().await else { panic!("the lock is free") };
    let mut gate = Gate::shut(&server);
    let mut trying = pin!(lock.try_acquire());
    assert!(timeout(ms(20), &mut trying).await.is_err());
    gate.until_waiting(1);
    gate.open();

    let extended = timeout(PATIENCE, guard.extend()).await.expect("the attempt has ended all the same");
    assert!(matches!(extended, Ok(Answer::Known(Extended::Until(_)))));
    assert!(matches!(trying.await, Ok(Attempt::Held(_))));
}

#[tokio::test]
async fn an_extension_that_is_not_polled_keeps_no_release_waiting() {
    let server = Server::start();
    let connection = server.client().get_multiplexed_async_connection().await.unwrap();
    let lock = Lock::new(connection, token(AN_HOUR));
    let Ok(Attempt::Won(guard)) = lock.try_acquire().await else { panic!("the lock is free") };
    let mut gate = Gate::shut(&server);
    let mut extending = Box::pin(guard.extend());
    assert!(timeout(ms(20), &mut extending).await.is_err());
    gate.until_waiting(1);
    gate.open();

    let asked = timeout(PATIENCE, guard.ownership()).await.expect("the extension has ended all the same");
    assert!(asked.is_ok());
}

#[tokio::test]
async fn a_command_that_is_not_polled_keeps_no_other_from_a_connection_that_opens() {
    let server = Server::start();
    let target: connect::Server = server.url().parse().unwrap();
    let connection = connect::aio::Connection::to(&target);
    let (ping, mut first, mut second) = (cmd("PING"), connection.clone(), connection);
    let mut stands_still = first.req_packed_command(&ping);
    // Polled once: with a second poll, a fast server would have answered.
    let begun = stands_still.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    assert!(begun.is_pending(), "it has begun to connect");

    let answer = timeout(PATIENCE, second.req_packed_command(&ping)).await;
    assert!(answer.expect("it is not kept waiting").is_ok());
    assert!(stands_still.await.is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_try_and_a_release_may_be_dropped_at_each_await() {
    let server = Server::start();
    let connection = server.client().get_multiplexed_async_connection().await.unwrap();
    let hour = Lease::new(AN_HOUR).unwrap();
    let lockers: [Arc<dyn Locker>; 3] = [
        Arc::new(token(AN_HOUR)),
        Arc::new(SetnxExpire::new("k")),
        Arc::new(FairLock::new(Key::from("k"), hour).keeping_places_for(hour)),
    ];
    for locker in lockers {
        let lock = Lock::new(connection.clone(), locker);
        let won = async || match lock.acquire(&Wait::every(ms(1)).for_at_most(PATIENCE)).await {
            Ok(Attempt::Won(guard)) => guard,
            other => panic!("what was dropped is not released: {other:?}"),
        };
        let mut ends = 0;
        for polls in 1.. {
            ends += usize::from(polled(polls, lock.try_acquire()).await.is_some());
            ends += usize::from(polled(polls, won().await.release()).await.is_some());
            drop(won().await.release().await.unwrap());
            if ends > 4 {
                break;
            }
        }
    }
}
