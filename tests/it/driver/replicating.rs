//! Locks that count as acquired once replicas have them, on a real master with real replicas.

use std::error::Error as _;
use std::time::Duration;

use lockshift::connect::Server as Target;
use lockshift::driver::{Answer, Attempt, ErrorKind, Replication, Wait, blocking};
use lockshift::lock::Released;
use redis::{InfoDict, cmd};

use super::world::{AN_HOUR, World, in_both_worlds, ms, token};
use crate::patience::until;
use crate::server::{Options, Server, fetched};

in_both_worlds! {
    a_lock_is_won_once_its_replica_has_it,
    a_lock_that_too_few_replicas_have_is_released,
    a_waiter_wins_when_the_replica_is_back,
    the_time_of_the_replicas_is_taken_off_the_lease,
    an_old_server_refuses_to_wait_for_disks,
}

/// For tests in which they answer.
const LONG: Duration = Duration::from_secs(60);

fn replica_of(master: &Server) -> Server {
    let replica = Server::with(&Options::new().replica_of(master));
    until("the replica follows", || {
        let info: InfoDict = cmd("INFO").arg("replication").query(&mut replica.connect()).ok()?;
        (info.get::<String>("master_link_status")? == "up").then_some(())
    });
    replica
}

fn is_free(server: &Server) -> bool {
    cmd("EXISTS").arg("k").query(&mut server.connect()) == Ok(0)
}

fn a_lock_is_won_once_its_replica_has_it<W: World>() {
    let master = Server::start();
    let replica = replica_of(&master);
    let world = W::open(&master, token(AN_HOUR)).replicated(Replication::to(1, LONG));
    let guard = world.win();
    assert!(!is_free(&replica), "it is there already");
    assert!(matches!(world.release(guard), Ok(Answer::Known(Released::Freed))));
}

fn a_lock_that_too_few_replicas_have_is_released<W: World>() {
    let master = Server::start();
    let _replica = replica_of(&master);
    let world = W::open(&master, token(AN_HOUR)).replicated(Replication::to(2, ms(30)));
    let error = world.try_acquire().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotReplicated);
    let cause = error.source().map(ToString::to_string).unwrap();
    // One of them, unless the machine is busy.
    assert!(cause.ends_with("of 2 replicas have acknowledged the lock within 30ms"), "{cause}");
    assert!(is_free(&master));
}

fn a_waiter_wins_when_the_replica_is_back<W: World>() {
    let master = Server::start();
    let world = W::open(&master, token(AN_HOUR)).replicated(Replication::to(1, ms(30)));
    assert_eq!(world.acquire(&Wait::every(ms(1)).tries(3)).unwrap_err().kind(), ErrorKind::NotReplicated);
    std::thread::scope(|scope| {
        let waiter =
            scope.spawn(move || matches!(world.acquire(&Wait::backoff().for_at_most(AN_HOUR)), Ok(Attempt::Won(_))));
        let _replica = replica_of(&master);
        assert!(waiter.join().unwrap());
    });
}

fn the_time_of_the_replicas_is_taken_off_the_lease<W: World>() {
    let master = Server::start();
    let replica = replica_of(&master);
    let world = W::open(&master, token(Duration::from_secs(60))).replicated(Replication::to(1, LONG));
    replica.pause();
    std::thread::scope(|scope| {
        let holder = scope.spawn(move || {
            let guard = world.win();
            (W::left(&guard), world.release(guard))
        });
        until("it is won on the master", || (!is_free(&master)).then_some(()));
        lockshift::driver::host::sleep(ms(1500));
        replica.resume();
        let (left, _) = holder.join().unwrap();
        assert!(left < Duration::from_millis(58_000), "{left:?}: a second and a half have passed, and the drift");
    });
}

/// `WAITAOF` came with Redis 7.2.
fn an_old_server_refuses_to_wait_for_disks<W: World>() {
    let server = Server::start();
    let version: InfoDict = cmd("INFO").arg("server").query(&mut server.connect()).unwrap();
    let version: String = version.get("redis_version").unwrap();
    let world = W::open(&server, token(AN_HOUR)).replicated(Replication::to(0, LONG).on_disk());
    let error = world.try_acquire().unwrap_err();
    if version.starts_with("7.0") {
        assert_eq!(error.kind(), ErrorKind::UnknownCommand);
    }
    let cause = error.source().map(ToString::to_string).unwrap();
    assert!(cause.contains("WAITAOF"), "{cause}");
    assert!(is_free(&server), "what was won is released");
}

#[test]
fn on_redis_8_4_a_lock_waits_for_the_disk() {
    let append =
        |server: Options| server.line("appendonly yes").line("appendfsync everysec").program(fetched("redis-8.4"));
    let target = |server: &Server| server.url().parse::<Target>().unwrap().answering_within(LONG * 2);
    let server = Server::with(&append(Options::new()));
    let replication = Replication::to(0, LONG).on_disk();
    let lock = blocking::Lock::new(target(&server).connect().unwrap(), token(AN_HOUR)).replicated(replication);
    let Ok(Attempt::Won(guard)) = lock.try_acquire() else { panic!("it is on the disk within a second or two") };
    assert!(matches!(guard.release(), Ok(Answer::Known(Released::Freed))));

    let without = Server::with(&Options::new().program(fetched("redis-8.4")));
    let lock = blocking::Lock::new(target(&without).connect().unwrap(), token(AN_HOUR)).replicated(replication);
    let error = lock.try_acquire().unwrap_err();
    let cause = error.source().map(ToString::to_string).unwrap();
    assert!(error.kind() == ErrorKind::Refused && cause.contains("appendonly"), "{cause}");
    assert!(is_free(&without));
}

#[test]
fn a_connection_that_does_not_stay_the_same_cannot_wait_for_replicas() {
    let server = Server::start();
    let one = Replication::to(1, ms(10));
    let lock = blocking::Lock::new(server.client(), token(AN_HOUR)).replicated(one);
    assert_eq!(lock.try_acquire().unwrap_err().kind(), ErrorKind::SharedConnection);
    assert!(is_free(&server));
}

/// A connection of `connect` opens anew after it broke, but not for WAIT: no replica would be behind on it.
#[test]
fn wait_is_not_sent_on_another_connection_than_the_lock() {
    let server = Server::start();
    let mut connection = server.url().parse::<Target>().unwrap().connect().unwrap();
    cmd("SET").arg("k").arg("v").exec(&mut connection).unwrap();
    let mut operator = server.connect();
    cmd("CLIENT").arg("KILL").arg("TYPE").arg("normal").arg("SKIPME").arg("yes").exec(&mut operator).unwrap();
    let wait = || cmd("WAIT").arg(0).arg(10).to_owned();
    assert!(wait().exec(&mut connection).is_err(), "the connection is gone");
    assert!(wait().exec(&mut connection).is_err(), "and no new one is made for it");
    cmd("SET").arg("k").arg("v").exec(&mut connection).unwrap();
    assert_eq!(wait().query(&mut connection), Ok(0));
}
