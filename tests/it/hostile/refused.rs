//! Redis refuses.

use lockshift::driver::{Attempt, Error, Trouble};
use redis::{Client, Connection, cmd};

use super::{assert_helps, key, lease, through_every_driver};
use crate::drivers::Driver;
use crate::patience::until;
use crate::protocols::every;
use crate::server::{Options, Server, contents};

through_every_driver! {
    a_key_of_another_type,
    a_replica,
    a_server_out_of_memory,
    a_server_that_wants_a_password,
    a_user_who_may_not_run_scripts,
    a_server_that_died,
}

fn a_key_of_another_type<D: Driver>() {
    let server = Server::start();
    let mut operator = server.connect();
    cmd("RPUSH").arg("lock:7").arg("a job").exec(&mut operator).unwrap();
    nobody_wins::<D>(&mut operator, &server.client(), Trouble::WrongType);
}

fn a_replica<D: Driver>() {
    let master = Server::start();
    let replica = Server::with(&Options::new().replica_of(&master));
    let mut operator = replica.connect();
    until("the replica is in step", || {
        let info: redis::InfoDict = cmd("INFO").arg("replication").query(&mut operator).unwrap();
        info.get::<String>("master_link_status").filter(|status| status == "up")
    });
    nobody_wins::<D>(&mut operator, &replica.client(), Trouble::ReadOnly);
}

fn a_server_out_of_memory<D: Driver>() {
    let server = Server::with(&Options::new().max_memory(1));
    nobody_wins::<D>(&mut server.connect(), &server.client(), Trouble::OutOfMemory);
}

fn a_server_that_wants_a_password<D: Driver>() {
    let server = Server::with(&Options::new().password("sesame"));
    let without = Client::open(format!("redis://{}/", server.address())).unwrap();
    nobody_wins::<D>(&mut server.connect(), &without, Trouble::NotAuthenticated);

    let wrong = Client::open(format!("redis://:parsley@{}/", server.address())).unwrap();
    let refusal = wrong.get_connection().err().expect("the password is wrong");
    let error = Error::connection(&key(), refusal);
    assert_eq!(error.trouble(), Trouble::NotAuthenticated);
    assert_helps("wrong password", &error);
}

/// Whoever needs a script to acquire is told at once; whoever needs one to release is told then.
fn a_user_who_may_not_run_scripts<D: Driver>() {
    let server = Server::start();
    let mut operator = server.connect();
    let rights = ["SETUSER", "clerk", "on", ">quill", "~*", "+@all", "-@scripting"];
    cmd("ACL").arg(&rights).exec(&mut operator).unwrap();
    let clerk = Client::open(format!("redis://clerk:quill@{}/", server.address())).unwrap();
    let driver = D::default();
    let mut failed = 0;
    for (name, locker) in every(&key(), lease()) {
        cmd("FLUSHALL").exec(&mut operator).unwrap();
        let error = match driver.try_acquire(&driver.lock(&clerk, locker)) {
            Ok(Attempt::Won(guard)) => driver.release(guard).err(),
            Ok(other) => panic!("{name}: nobody has it, but: {other:?}"),
            Err(error) => {
                assert!(contents(&mut operator).is_empty(), "{name} leaves nothing behind");
                Some(error)
            }
        };
        if let Some(error) = error {
            assert_eq!(error.trouble(), Trouble::NoPermission, "{name}: {error}");
            assert_helps(&name, &error);
            failed += 1;
        }
    }
    assert!(failed > 0, "some protocol needs a script");
}

/// Whether the command got there cannot be known, but the key is named.
fn a_server_that_died<D: Driver>() {
    let driver = D::default();
    for (name, locker) in every(&key(), lease()) {
        let mut server = Server::start();
        let lock = driver.lock(&server.client(), locker);
        server.kill();
        match driver.try_acquire(&lock) {
            Ok(Attempt::Unknown(unknown)) => assert!(unknown.to_string().starts_with("lock key `lock:7`: "), "{name}"),
            Ok(other) => panic!("{name}: there is no server, but: {other:?}"),
            Err(error) => assert_helps(&name, &error),
        }
    }
}

/// Every protocol tries; none wins, and each failure is `trouble` and leaves everything as it was. Some find the lock
/// held instead, because their command does not look at what is there.
fn nobody_wins<D: Driver>(operator: &mut Connection, client: &Client, trouble: Trouble) {
    let driver = D::default();
    let before = contents(operator);
    let mut failed = 0;
    for (name, locker) in every(&key(), lease()) {
        match driver.try_acquire(&driver.lock(client, locker)) {
            Ok(Attempt::Held(_)) => {}
            Ok(other) => panic!("{name}: {trouble:?}, but: {other:?}"),
            Err(error) => {
                assert_eq!(error.trouble(), trouble, "{name}: {error}");
                assert_helps(&name, &error);
                failed += 1;
            }
        }
        assert_eq!(contents(operator), before, "{name} leaves everything as it was");
    }
    assert!(failed > 0, "some protocol meets {trouble:?}");
}
