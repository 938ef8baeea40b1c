//! Many that lock on a server which does not answer: each waits for its own replies, and for those of no other.

use std::thread;
use std::time::Duration;

use lockshift::Locks;

use super::{LEASE, SOON};
use crate::patience::now;
use crate::server::Server;

/// An attempt takes 4 s then, as `lockshift::locks` says. One behind the other, eight would take more than twenty.
const FEW_TIMEOUTS: Duration = Duration::from_secs(12);

/// The longest of these times, once all have ended.
fn longest(times: impl Iterator<Item = Duration>) -> Duration {
    times.max().expect("there are some")
}

#[test]
fn threads_that_share_a_lock_do_not_wait_for_each_other() {
    let server = Server::start();
    let lock = Locks::connect(&server.url()).unwrap().token("k", LEASE).unwrap();
    let _held = lock.try_acquire().unwrap().expect("it is free");
    server.pause();
    let attempts = [(); 8].map(|()| {
        let lock = lock.clone();
        thread::spawn(move || {
            let began = now();
            assert!(lock.acquire_within(SOON).is_err(), "the server does not answer");
            began.elapsed()
        })
    });
    let longest = longest(attempts.into_iter().map(|attempt| attempt.join().unwrap()));
    server.resume();
    assert!(longest < FEW_TIMEOUTS, "{longest:?}");
}

#[cfg(feature = "tokio")]
mod tasks {
    use lockshift::aio::{Lock, Locks};
    use tokio::runtime::Runtime;
    use tokio::time::timeout;

    use super::*;

    async fn connected(server: &Server) -> Locks {
        let locks = Locks::connect(&server.url()).await.unwrap();
        let lock = locks.token("warm", LEASE).unwrap();
        lock.try_acquire().await.unwrap().expect("it is free").release().await.unwrap();
        locks
    }

    async fn time_of_an_attempt(lock: Lock) -> Duration {
        let began = now();
        assert!(lock.try_acquire().await.is_err(), "the server does not answer");
        began.elapsed()
    }

    #[test]
    fn tasks_that_share_a_connection_do_not_wait_for_each_other() {
        let server = Server::start();
        let times = Runtime::new().unwrap().block_on(async {
            let locks = connected(&server).await;
            server.pause();
            let attempts = (0..20).map(|number| {
                let lock = locks.token(format!("k{number}"), LEASE).unwrap();
                tokio::spawn(time_of_an_attempt(lock))
            });
            let mut times = Vec::new();
            for attempt in attempts.collect::<Vec<_>>() {
                times.push(attempt.await.unwrap());
            }
            server.resume();
            times
        });
        let longest = longest(times.into_iter());
        assert!(longest < FEW_TIMEOUTS, "{longest:?}");
    }

    #[test]
    fn attempts_that_were_given_up_hold_no_other_up() {
        let server = Server::start();
        let time = Runtime::new().unwrap().block_on(async {
            let locks = connected(&server).await;
            server.pause();
            for number in 0..8 {
                let lock = locks.token(format!("k{number}"), LEASE).unwrap();
                assert!(timeout(4 * SOON, lock.try_acquire()).await.is_err(), "the server does not answer");
            }
            let time = time_of_an_attempt(locks.token("last", LEASE).unwrap()).await;
            server.resume();
            time
        });
        assert!(time < FEW_TIMEOUTS, "{time:?}");
    }
}
