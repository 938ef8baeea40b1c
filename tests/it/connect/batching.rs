//! What many tasks send together over one connection: each has an outcome of its own, also where the connection is cut.

use std::task::{Context, Waker};
use std::time::Duration;

use lockshift::connect::Server as Target;
use lockshift::connect::aio::Batching;
use lockshift::driver::aio::Lock;
use lockshift::driver::{Answer, Attempt};
use lockshift::lock::{Lease, Released};
use lockshift::modern::TokenLock;
use redis::{Commands, cmd};
use tokio::runtime::{Builder, Runtime};
use tokio::time::{sleep, timeout};

use crate::patience::{PATIENCE, until};
use crate::proxy::{Cut, Proxy};
use crate::server::Server;

const TASKS: usize = 200;
const LEASE: Duration = Duration::from_secs(3600);

fn runtimes() -> [Runtime; 2] {
    [Builder::new_current_thread(), Builder::new_multi_thread()].map(|mut new| new.enable_all().build().unwrap())
}

fn lock(connection: &Batching, number: usize) -> Lock<Batching> {
    Lock::new(connection.clone(), TokenLock::new(format!("k{number}").as_str().into(), Lease::new(LEASE).unwrap()))
}

/// Every tenth key is held by another client, and every tenth one of another type, which makes its release an error.
#[test]
fn each_of_many_tasks_has_its_own_outcome() {
    for runtime in runtimes() {
        let server = Server::start();
        let mut operator = server.connect();
        for number in (0..TASKS).step_by(10) {
            operator.set::<_, _, ()>(format!("k{number}"), "another client").unwrap();
        }
        let target: Target = server.url().parse().unwrap();
        runtime.block_on(async {
            let connection = target.connect_async().await.unwrap().batching();
            let tasks = (0..TASKS).map(|number| {
                let (lock, mut operator) = (lock(&connection, number), server.connect());
                tokio::spawn(async move {
                    for _ in 0..5 {
                        let attempt = lock.try_acquire().await.unwrap();
                        let Attempt::Won(guard) = attempt else {
                            assert!(matches!(attempt, Attempt::Held(_)) && number % 10 == 0, "{attempt:?}");
                            continue;
                        };
                        let stored: Vec<u8> = operator.get(format!("k{number}")).unwrap();
                        assert_eq!(stored, guard.hold().value, "k{number}");
                        if number % 10 != 1 {
                            assert!(guard.release().await.is_ok());
                            continue;
                        }
                        operator.del::<_, ()>(format!("k{number}")).unwrap();
                        operator.lpush::<_, _, ()>(format!("k{number}"), "list").unwrap();
                        let released = guard.release().await;
                        assert!(format!("{released:?}").contains("WRONGTYPE"), "{released:?}");
                        operator.del::<_, ()>(format!("k{number}")).unwrap();
                    }
                })
            });
            let tasks: Vec<_> = tasks.collect();
            for task in tasks {
                task.await.unwrap();
            }
        });
        assert_eq!(cmd("DBSIZE").query(&mut operator), Ok(TASKS / 10));
    }
}

/// An attempt whose reply was lost is disclaimed, whatever it was sent with.
#[test]
fn nothing_is_left_where_the_connection_is_cut() {
    for runtime in runtimes() {
        for cut in Cut::ALL {
            for skip in 0..3 {
                let server = Server::start();
                let proxy = Proxy::before(&server);
                let target: Target = proxy.url().parse().unwrap();
                runtime.block_on(async {
                    let connection = target.connect_async().await.unwrap().batching();
                    proxy.cut(skip, cut);
                    let attempts = (0..TASKS).map(|number| {
                        let lock = lock(&connection, number);
                        tokio::spawn(async move { lock.try_acquire().await })
                    });
                    let attempts: Vec<_> = attempts.collect();
                    let mut won = Vec::new();
                    for attempt in attempts {
                        if let Ok(Attempt::Won(guard)) = attempt.await.unwrap() {
                            won.push(guard);
                        }
                    }
                    proxy.spare();
                    for guard in won {
                        let released = guard.release().await;
                        assert!(matches!(released, Ok(Answer::Known(Released::Freed))), "{released:?}");
                    }
                });
                let mut operator = server.connect();
                until(format_args!("cut {cut:?} after {skip} messages: no lock is left"), || {
                    (cmd("DBSIZE").query(&mut operator) == Ok(0)).then_some(())
                });
            }
        }
    }
}

/// Among them is the one with which a batch begins.
#[test]
fn futures_that_are_not_polled_block_no_other() {
    let server = Server::start();
    let target: Target = server.url().parse().unwrap();
    let mut operator = server.connect();
    runtimes()[0].block_on(async {
        let connection = target.connect_async().await.unwrap().batching();
        let locks: Vec<_> = (0..TASKS).map(|number| lock(&connection, number)).collect();
        let mut still: Vec<_> = locks.iter().map(|lock| Box::pin(lock.try_acquire())).collect();
        for future in &mut still {
            assert!(future.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        }
        let other = lock(&connection, TASKS);
        let attempt = timeout(PATIENCE, other.try_acquire()).await.expect("it is not kept waiting");
        let Ok(Attempt::Won(guard)) = attempt else { panic!("the lock is free, but: {attempt:?}") };
        drop(still);
        assert!(guard.release().await.is_ok());
        until_async(|| cmd("DBSIZE").query(&mut operator) == Ok(0)).await;
    });
}

/// Lets the tasks of a runtime with one thread run meanwhile.
async fn until_async(mut is_so: impl FnMut() -> bool) {
    let waiting = async {
        while !is_so() {
            sleep(Duration::from_millis(2)).await;
        }
    };
    timeout(PATIENCE, waiting).await.expect("no lock is left");
}
