//! Every lock through Sentinel; and what holders and contenders learn when it replaces the master.

use std::time::Duration;

use lockshift::connect::{self, blocking::Connection};
#[cfg(feature = "tokio")]
use lockshift::driver::Wait;
use lockshift::driver::{Answer, Attempt, Loss, Renewal, blocking};
use lockshift::lock::{Extended, Lease, Ownership, Released};
use lockshift::modern::TokenLock;
use lockshift::wire::Key;
use redis::cmd;

use crate::cli::{done, lockshift};
use crate::life::{Over, lives};
use crate::patience::{pause, until};
use crate::server::{Options, Server, Watched};

impl Watched {
    /// The master, by what the sentinel says.
    fn named(&self) -> connect::Server {
        self.address().parse().expect("it is well formed")
    }

    fn lock(&self) -> blocking::Lock<Connection> {
        let lease = Lease::new(Duration::from_secs(600)).unwrap();
        blocking::Lock::new(Connection::to(&self.named()), TokenLock::new(Key::from("k"), lease))
    }
}

#[test]
fn every_lock_lives_through_sentinel_with_both_drivers() {
    let watched = Watched::start();
    let master = watched.named();
    let threads = Over::threads(|| master.connect().expect("there is a master"));
    assert_eq!(lives(&threads, "threads", |_| false), Vec::<String>::new());
    #[cfg(feature = "tokio")]
    {
        let tasks = Over::tasks(async || master.connect_async().await.expect("there is a master"));
        assert_eq!(lives(&tasks, "tasks", |locker| locker.needs_own_connection()), Vec::<String>::new());
    }
}

#[test]
fn a_replicated_holder_still_holds_after_a_failover() {
    let watched = Watched::start();
    let guard = won(&watched.lock());
    watched.replicate();
    watched.fail_over();

    assert!(matches!(guard.ownership(), Ok(Ownership::Ours { left: Some(_) })));
    assert!(matches!(watched.lock().try_acquire(), Ok(Attempt::Held(_))), "it is held on the new master");
    assert!(matches!(guard.extend(), Ok(Answer::Known(Extended::Until(_)))));
    assert!(matches!(guard.release(), Ok(Answer::Known(Released::Freed))));
    assert!(matches!(won(&watched.lock()).release(), Ok(Answer::Known(Released::Freed))), "and free again");
}

#[test]
fn an_unreplicated_holder_learns_that_the_lock_is_lost() {
    let watched = Watched::start();
    let guard = won(&watched.lock());
    watched.replicate();
    // What a replica that lags behind looks like.
    let mut replica = watched.replica.connect();
    cmd("CONFIG").arg("SET").arg("replica-read-only").arg("no").exec(&mut replica).unwrap();
    cmd("DEL").arg("k").exec(&mut replica).unwrap();
    watched.fail_over();

    let other = won(&watched.lock());
    assert!(matches!(guard.ownership(), Ok(Ownership::Theirs)));
    assert!(matches!(guard.extend(), Ok(Answer::Known(Extended::Lost))));
    assert_eq!(guard.lost(), Some(Loss::Taken));
    assert!(matches!(guard.release(), Ok(Answer::Known(Released::Lost))));
    assert!(matches!(other.release(), Ok(Answer::Known(Released::Freed))), "and no client took it from the other");
}

fn won(lock: &blocking::Lock<Connection>) -> blocking::Guard<Connection> {
    match lock.try_acquire() {
        Ok(Attempt::Won(guard)) => guard,
        other => panic!("the lock is free, but: {other:?}"),
    }
}

#[test]
fn a_held_lock_is_renewed_through_a_failover() {
    let watched = Watched::start();
    let lease = Lease::new(Duration::from_secs(30)).unwrap();
    let lock = blocking::Lock::new(watched.named().connect().unwrap(), TokenLock::new(Key::from("k"), lease));
    let mut guard = won(&lock);
    guard.renew(Renewal::every(Duration::from_millis(200))).unwrap();
    watched.replicate();
    watched.fail_over();
    let mut master = watched.replica.connect();
    cmd("PEXPIRE").arg("k").arg(20_000).exec(&mut master).unwrap();
    until("the lock is renewed on the new master", || {
        let left: i64 = cmd("PTTL").arg("k").query(&mut master).ok()?;
        (left > 20_000).then_some(())
    });
    assert_eq!(guard.lost(), None);
    assert!(matches!(guard.release(), Ok(Answer::Known(Released::Freed))));
}

#[cfg(feature = "tokio")]
#[test]
fn a_task_acquires_on_the_new_master_while_it_waits_through_a_failover() {
    use lockshift::driver::aio::Lock;

    let watched = Watched::start();
    let lease = Lease::new(Duration::from_secs(600)).unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let connection = runtime.block_on(watched.named().connect_async()).unwrap();
    let lock = Lock::new(connection, TokenLock::new(Key::from("k"), lease));
    let holder = won(&watched.lock());
    watched.replicate();
    let waiter = runtime.spawn(async move {
        let wait = Wait::backoff().for_at_most(Duration::from_secs(600));
        // The old master may hang up amid an attempt: then its outcome is unknown, and it was disclaimed.
        matches!(lock.acquire(&wait).await, Ok(Attempt::Won(_)))
    });
    watched.fail_over();
    assert!(matches!(holder.release(), Ok(Answer::Known(Released::Freed))));
    assert!(runtime.block_on(waiter).unwrap(), "it is won on the new master");
}

/// Each renewal is sent to the master that hangs and has no answer. What follows it goes to the new one.
#[cfg(feature = "tokio")]
#[test]
fn all_locks_of_a_program_outlive_a_master_that_hangs() {
    const LEASE: Duration = Duration::from_secs(12);

    let watched = Watched::start();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let locks = runtime.block_on(lockshift::aio::Locks::connect(&watched.address())).unwrap();
    let held: Vec<_> = (0..20)
        .map(|number| locks.token(format!("k{number}"), LEASE).unwrap())
        .map(|lock| runtime.block_on(lock.try_acquire()).unwrap().expect("it is free"))
        .collect();
    watched.replicate();
    watched.hang();
    pause(LEASE);
    let lost = held.iter().filter(|held| held.is_lost()).count();
    watched.master.resume();
    assert_eq!(lost, 0, "of {}", held.len());
    for held in held {
        runtime.block_on(held.release()).unwrap();
    }
}

#[test]
fn the_command_finds_the_master_that_a_sentinel_names() {
    let watched = Watched::start();
    let run = |address: &str| done(lockshift(), ["run", "k", "--redis", address, "--", "echo", "reached"]);
    let reached = run(&watched.address());
    assert_eq!((reached.code, reached.stdout.as_str()), (Some(0), "reached\n"), "{reached:?}");
    let refused = run("redis+sentinel://127.0.0.1:1/mymaster");
    assert_eq!(refused.code, Some(3), "{refused:?}");
}

/// On how many channels of locks clients listen at this server.
fn listeners(server: &Server) -> Option<usize> {
    let channels: Vec<String> = cmd("PUBSUB").arg("CHANNELS").arg("*released").query(&mut server.connect()).ok()?;
    Some(channels.len())
}

#[test]
fn the_release_listener_of_threads_follows_a_failover() {
    let watched = Watched::start();
    let locks = lockshift::Locks::connect(&watched.address()).unwrap();
    let lock = locks.token("k", Duration::from_secs(600)).unwrap();
    let held = lock.try_acquire().unwrap().expect("it is free");
    watched.replicate();
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| lock.acquire_within(Duration::from_secs(600)).map(drop));
        until("the waiter listens at the old master", || (listeners(&watched.master)? > 0).then_some(()));
        watched.fail_over();
        until("the waiter listens at the new master", || (listeners(&watched.replica)? > 0).then_some(()));
        held.release().unwrap();
        waiter.join().unwrap().unwrap();
    });
}

/// The sentinels name another master, and the old one goes on: nothing breaks the connection to it.
#[test]
fn the_release_listener_of_threads_leaves_a_master_that_is_no_longer_named() {
    follows_without_a_break(|address, tell| {
        let locks = lockshift::Locks::connect(address).unwrap();
        let lock = locks.token("k", Duration::from_secs(600)).unwrap();
        tell();
        drop(lock.acquire_within(Duration::from_secs(600)).unwrap());
    });
}

#[cfg(feature = "tokio")]
#[test]
fn the_release_listener_of_tasks_leaves_a_master_that_is_no_longer_named() {
    follows_without_a_break(|address, tell| {
        tokio::runtime::Runtime::new().unwrap().block_on(async {
            let locks = lockshift::aio::Locks::connect(address).await.unwrap();
            let lock = locks.token("k", Duration::from_secs(600)).unwrap();
            tell();
            drop(lock.acquire_within(Duration::from_secs(600)).await.unwrap());
        });
    });
}

fn follows_without_a_break(wait: impl Fn(&str, &dyn Fn()) + Send) {
    let [old, new] = [(); 2].map(|()| Server::start());
    for server in [&old, &new] {
        cmd("SET").arg("k").arg("of another client").arg("PX").arg(600_000).exec(&mut server.connect()).unwrap();
    }
    let sentinel = Server::with(&Options::new().sentinel_of(&old));
    let address = format!("redis+sentinel://{}/mymaster", sentinel.address());
    std::thread::scope(|scope| {
        let (began, begins) = std::sync::mpsc::channel();
        let waiter = scope.spawn(move || wait(&address, &|| began.send(()).unwrap()));
        begins.recv().unwrap();
        until("the waiter listens at the old master", || (listeners(&old)? > 0).then_some(()));
        let mut operator = sentinel.connect();
        cmd("SENTINEL").arg("REMOVE").arg("mymaster").exec(&mut operator).unwrap();
        let port = new.address().port();
        let monitor = cmd("SENTINEL").arg("MONITOR").arg("mymaster").arg("127.0.0.1").arg(port).arg(1).to_owned();
        monitor.exec(&mut operator).unwrap();
        until("the waiter listens at the new master", || (listeners(&new)? > 0).then_some(()));
        for server in [&old, &new] {
            cmd("DEL").arg("k").exec(&mut server.connect()).unwrap();
        }
        cmd("PUBLISH").arg("{k}:released").arg("0").exec(&mut new.connect()).unwrap();
        waiter.join().unwrap();
    });
}
