//! A connection that is cut: the lock that uses it goes on.

use std::time::Duration;

use lockshift::connect::{Server as Target, blocking};
use lockshift::driver::blocking::{Guard, Lock};
use lockshift::driver::{Answer, Attempt, Renewal};
use lockshift::lock::{Lease, Released};
use lockshift::modern::TokenLock;
use redis::cmd;

use crate::patience::until;
use crate::server::Server;

fn token(key: &str, lease: Duration) -> TokenLock {
    TokenLock::new(key.into(), Lease::new(lease).unwrap())
}

/// Cuts every connection but that of the operator.
fn hang_up(server: &Server) {
    cmd("CLIENT").arg("KILL").arg("TYPE").arg("normal").arg("SKIPME").arg("yes").exec(&mut server.connect()).unwrap();
}

/// Waits until the key lives longer than it did a moment ago: it was renewed.
fn is_renewed(server: &Server, key: &str) {
    let mut operator = server.connect();
    let mut left = || -> i64 { cmd("PTTL").arg(key).query(&mut operator).unwrap() };
    let mut before = left();
    until("the lock is renewed", || {
        let now = left();
        let grew = now > before;
        before = now;
        grew.then_some(())
    });
}

fn won(lock: &Lock<blocking::Connection>) -> Guard<blocking::Connection> {
    match lock.try_acquire() {
        Ok(Attempt::Won(guard)) => guard,
        other => panic!("the lock is free, but: {other:?}"),
    }
}

#[test]
fn renewal_and_later_locks_outlive_a_reset_with_threads() {
    let server = Server::start();
    let target: Target = server.url().parse().unwrap();
    let lock = Lock::new(target.connect().unwrap(), token("k", Duration::from_secs(6)));
    let mut guard = won(&lock);
    guard.renew(Renewal::every(Duration::from_millis(1200))).unwrap();
    for _ in 0..2 {
        hang_up(&server);
        is_renewed(&server, "k");
    }
    assert_eq!(guard.lost(), None);
    assert!(matches!(guard.release(), Ok(Answer::Known(Released::Freed))));
    hang_up(&server);
    // The connection was used a moment ago, so nothing shows that it is broken but this attempt.
    let again = until("the lock is acquired again", || match lock.try_acquire() {
        Ok(Attempt::Won(guard)) => Some(guard),
        Ok(_) | Err(_) => None,
    });
    assert!(matches!(again.release(), Ok(Answer::Known(Released::Freed))));
}

#[cfg(feature = "tokio")]
#[test]
fn renewal_and_later_locks_outlive_a_reset_with_tasks() {
    use lockshift::driver::aio::Lock;

    let server = Server::start();
    let target: Target = server.url().parse().unwrap();
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let lock = Lock::new(target.connect_async().await.unwrap(), token("k", Duration::from_secs(6)));
        let Ok(Attempt::Won(mut guard)) = lock.try_acquire().await else { panic!("the lock is free") };
        guard.renew(Renewal::every(Duration::from_millis(1200))).await;
        for _ in 0..2 {
            hang_up(&server);
            tokio::task::block_in_place(|| is_renewed(&server, "k"));
        }
        assert_eq!(guard.lost(), None);
        assert!(matches!(guard.release().await, Ok(Answer::Known(Released::Freed))));
        hang_up(&server);
        loop {
            if let Ok(Attempt::Won(_)) = lock.try_acquire().await {
                break;
            }
        }
    });
}

#[test]
fn a_connection_that_was_idle_is_replaced_before_it_is_used() {
    let server = Server::start();
    let target: Target = server.url().parse().unwrap();
    let mut connection = target.connect().unwrap();
    assert_eq!(cmd("INCR").arg("n").query(&mut connection), Ok(1));
    hang_up(&server);
    crate::patience::pause(Duration::from_millis(1100));
    assert_eq!(cmd("INCR").arg("n").query(&mut connection), Ok(2));
}

/// A server with a user `u` who has permissions such as `lockshift protocols --acl` prints, and the server's address for that user.
fn without_ping() -> (Server, Target) {
    let server = Server::start();
    let user = ["SETUSER", "u", "on", ">p", "allkeys", "+incr", "+client|id"];
    cmd("ACL").arg(&user).exec(&mut server.connect()).unwrap();
    let target = server.url().replace("redis://", "redis://u:p@").parse().unwrap();
    (server, target)
}

#[test]
fn a_user_who_may_not_send_ping_keeps_an_idle_connection() {
    let (_server, target) = without_ping();
    let mut connection = target.connect().unwrap();
    cmd("INCR").arg("n").exec(&mut connection).unwrap();
    let id: u64 = cmd("CLIENT").arg("ID").query(&mut connection).unwrap();
    crate::patience::pause(Duration::from_millis(1100));
    cmd("INCR").arg("n").exec(&mut connection).unwrap();
    assert_eq!(cmd("CLIENT").arg("ID").query(&mut connection), Ok(id));
}

#[cfg(feature = "tokio")]
#[test]
fn a_user_who_may_not_send_ping_keeps_an_idle_connection_of_tasks() {
    let (_server, target) = without_ping();
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let mut connection = target.connect_async().await.unwrap();
        cmd("INCR").arg("n").exec_async(&mut connection).await.unwrap();
        let id: u64 = cmd("CLIENT").arg("ID").query_async(&mut connection).await.unwrap();
        tokio::time::sleep(Duration::from_millis(1100)).await;
        cmd("INCR").arg("n").exec_async(&mut connection).await.unwrap();
        assert_eq!(cmd("CLIENT").arg("ID").query_async(&mut connection).await, Ok(id));
    });
}

#[test]
fn what_another_connection_watched_is_not_executed_on_a_new_one() {
    let server = Server::start();
    let target: Target = server.url().parse().unwrap();
    let mut connection = target.connect().unwrap();
    cmd("WATCH").arg("n").exec(&mut connection).unwrap();
    hang_up(&server);
    crate::patience::pause(Duration::from_millis(1100));
    // Sent on the old connection, which is broken: a new one would not watch, and EXEC would run unconditionally.
    assert!(cmd("MULTI").exec(&mut connection).is_err());
    assert_eq!(cmd("INCR").arg("n").query(&mut connection), Ok(1), "it opens anew for the next procedure");
}

#[test]
fn a_server_that_is_not_there_yet_is_reached_when_it_is() {
    let mut server = Server::start();
    let target: Target = server.url().parse().unwrap();
    let lock = Lock::new(target.connect().unwrap(), token("k", Duration::from_secs(60)));
    server.kill();
    until("the broken connection is noticed", || lock.try_acquire().is_err().then_some(()));
    let error = lock.try_acquire().unwrap_err();
    assert_eq!(error.kind(), lockshift::driver::ErrorKind::ConnectionRefused);
    server.restart();
    drop(won(&lock));
}
