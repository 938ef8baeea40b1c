//! Redis refuses.

use std::sync::Arc;

use lockshift::driver::{Attempt, Error, ErrorKind};
use lockshift::protocols::Choice;
use redis::{Client, Connection, cmd};

use super::{assert_helps, assert_names, key, lease, through_every_driver};
use crate::drivers::Driver;
use crate::patience::until;
use crate::protocols::{Named, every};
use crate::server::{Options, Server, contents};

through_every_driver! {
    a_key_of_another_type,
    a_replica,
    a_server_out_of_memory,
    a_server_that_wants_a_password,
    a_user_who_may_not_run_scripts,
    a_server_that_died,
}

/// Those that find no lock where another client would find an error, as their originals do: to phpredis the error is
/// `false`, and `false` is an expired lock; and SET overwrites what it does not look at.
const BLIND: [&str; 10] = [
    "php-del-takeover",
    "php7-del-takeover",
    "php-getset",
    "php7-getset",
    "php-getset-absolute-expire",
    "php7-getset-absolute-expire",
    "yii-redis",
    "yii-redis-unwritten",
    "thinkphp-lockup",
    "rw-pair,side=reader",
];

/// The error kind of this protocol when a server refuses for that reason: a protocol on several servers names each.
fn kind_for(name: &str, kind: ErrorKind) -> ErrorKind {
    if name == "redlock" { ErrorKind::TooFewServers } else { kind }
}

fn a_key_of_another_type<D: Driver>() {
    let server = Server::start();
    let mut operator = server.connect();
    let driver = D::default();
    for protocol in every(&key(), lease()) {
        let (name, locker) = &protocol;
        assert_eq!(name.parse::<Choice>().unwrap().mistakes_types(), BLIND.contains(&name.as_str()), "{name}");
        cmd("FLUSHALL").exec(&mut operator).unwrap();
        cmd("RPUSH").arg(locker.key().as_bytes()).arg("a job").exec(&mut operator).unwrap();
        let before = contents(&mut operator);
        let attempt = driver.try_acquire(&driver.lock(&server.client(), Arc::clone(locker)));
        if BLIND.contains(&name.as_str()) {
            let Ok(Attempt::Won(guard)) = attempt else { panic!("{name} is not blind: {attempt:?}") };
            // Some of them look when they release.
            drop(driver.release(guard));
            continue;
        }
        match attempt {
            Ok(Attempt::Held(_)) => {}
            Ok(other) => panic!("{name}: it holds a list, but: {other:?}"),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::WrongType, "{name}: {error}");
                assert_helps(&protocol, &error);
            }
        }
        assert_eq!(contents(&mut operator), before, "{name} leaves everything as it was");
    }
}

fn a_replica<D: Driver>() {
    let master = Server::start();
    let replica = Server::with(&Options::new().replica_of(&master));
    let mut operator = replica.connect();
    until("the replica is in step", || {
        let info: redis::InfoDict = cmd("INFO").arg("replication").query(&mut operator).unwrap();
        info.get::<String>("master_link_status").filter(|status| status == "up")
    });
    no_protocol_wins::<D>(&mut operator, &replica.client(), ErrorKind::ReadOnly);
}

fn a_server_out_of_memory<D: Driver>() {
    let server = Server::with(&Options::new().max_memory(1));
    no_protocol_wins::<D>(&mut server.connect(), &server.client(), ErrorKind::OutOfMemory);
}

fn a_server_that_wants_a_password<D: Driver>() {
    let server = Server::with(&Options::new().password("sesame"));
    let without = Client::open(format!("redis://{}/", server.address())).unwrap();
    no_protocol_wins::<D>(&mut server.connect(), &without, ErrorKind::NotAuthenticated);

    let wrong = Client::open(format!("redis://:parsley@{}/", server.address())).unwrap();
    let refusal = wrong.get_connection().err().expect("the password is wrong");
    let error = Error::connection(&key(), refusal);
    assert_eq!(error.kind(), ErrorKind::NotAuthenticated);
    assert_helps(&every(&key(), lease())[0], &error);
}

/// A protocol that acquires by script fails at once; one that releases by script fails at the release.
fn a_user_who_may_not_run_scripts<D: Driver>() {
    let server = Server::start();
    let mut operator = server.connect();
    let rights = ["SETUSER", "clerk", "on", ">quill", "~*", "+@all", "-@scripting"];
    cmd("ACL").arg(&rights).exec(&mut operator).unwrap();
    let clerk = Client::open(format!("redis://clerk:quill@{}/", server.address())).unwrap();
    let driver = D::default();
    let mut failed = 0;
    for protocol in every(&key(), lease()) {
        let (name, locker) = &protocol;
        cmd("FLUSHALL").exec(&mut operator).unwrap();
        let error = match driver.try_acquire(&driver.lock(&clerk, Arc::clone(locker))) {
            Ok(Attempt::Won(guard)) => driver.release(guard).err(),
            Ok(other) => panic!("{name}: the lock is free, but: {other:?}"),
            Err(error) => {
                assert!(contents(&mut operator).is_empty(), "{name} leaves nothing behind");
                Some(error)
            }
        };
        if let Some(error) = error {
            assert_eq!(error.kind(), kind_for(name, ErrorKind::NoPermission), "{name}: {error}");
            assert_helps(&protocol, &error);
            failed += 1;
        }
    }
    assert!(failed > 0, "some protocol needs a script");
}

/// Whether the command got there cannot be known, but the key is named.
fn a_server_that_died<D: Driver>() {
    let driver = D::default();
    let mut server = Server::start();
    let connected = |protocol: Named| (driver.lock(&server.client(), Arc::clone(&protocol.1)), protocol);
    let locks: Vec<_> = every(&key(), lease()).into_iter().map(connected).collect();
    server.kill();
    for (lock, protocol) in locks {
        match driver.try_acquire(&lock) {
            Ok(Attempt::Unknown(unknown)) => assert_names(&protocol, &unknown),
            Ok(other) => panic!("{}: there is no server, but: {other:?}", protocol.0),
            Err(error) => assert_helps(&protocol, &error),
        }
    }
}

/// Every protocol tries; none wins, and each failure is `kind` and leaves everything as it was. Some find the lock
/// held instead, because their command does not look at what is there.
fn no_protocol_wins<D: Driver>(operator: &mut Connection, client: &Client, kind: ErrorKind) {
    let driver = D::default();
    let before = contents(operator);
    for protocol in every(&key(), lease()) {
        let (name, locker) = &protocol;
        match driver.try_acquire(&driver.lock(client, Arc::clone(locker))) {
            // A script that has begun to write may go on, so these win in the last bytes; their lock is real.
            Ok(Attempt::Won(guard))
                if kind == ErrorKind::OutOfMemory
                    && ["read-write", "semaphore"].iter().any(|lock| name.starts_with(lock)) =>
            {
                assert_ne!(contents(operator), before, "{name} has written its lock");
                driver.release(guard).map(drop).expect("a release needs no memory");
            }
            Ok(other) => panic!("{name}: {kind:?}, but: {other:?}"),
            Err(error) => {
                assert_eq!(error.kind(), kind_for(name, kind), "{name}: {error}");
                assert_helps(&protocol, &error);
            }
        }
        assert_eq!(contents(operator), before, "{name} leaves everything as it was");
    }
}
