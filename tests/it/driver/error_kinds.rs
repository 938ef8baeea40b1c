//! Whatever is wrong with the server or the connection: one sentence that names the key and what to do; no panic, no
//! hang, no lock left behind.

use std::thread;

use lockshift::driver::{Attempt, Error, ErrorKind, blocking};
use lockshift::modern::Publish;
use redis::cmd;

use super::gate::Gate;
use super::world::{AN_HOUR, World, in_both_worlds, ms, token};
use crate::patience::until;
use crate::server::{Options, Server};

in_both_worlds! {
    a_server_killed_while_it_is_asked_leaves_the_outcome_unknown,
    a_server_that_is_gone_is_an_error_by_the_second_try,
    a_key_of_another_type_is_an_error_where_it_matters,
    every_refusal_has_its_kind,
    a_script_that_may_not_do_something_lacks_a_permission,
}

fn kind_of<W: World>(server: &Server) -> ErrorKind {
    let error = W::open(server, token(AN_HOUR)).try_acquire().unwrap_err();
    assert_one_sentence(&error);
    error.kind()
}

fn assert_one_sentence(error: &Error) {
    let text = error.to_string();
    assert!(text.starts_with("lock key `k`: "), "{text}");
    assert!(text[14..].contains(": ") && !text.contains(". "), "what is wrong: what to do, in one sentence: {text}");
    assert!(std::error::Error::source(error).is_some(), "the cause is kept");
}

fn a_server_killed_while_it_is_asked_leaves_the_outcome_unknown<W: World>() {
    let mut server = Server::start();
    let world = W::open(&server, token(AN_HOUR));
    let mut gate = Gate::shut(&server);
    let attempt = thread::scope(|scope| {
        let trying = scope.spawn(move || world.try_acquire());
        gate.until_waiting(1);
        server.kill();
        trying.join().unwrap()
    });
    assert!(matches!(attempt, Ok(Attempt::Unknown(_))), "{attempt:?}");
}

fn a_server_that_is_gone_is_an_error_by_the_second_try<W: World>() {
    let mut server = Server::start();
    let world = W::open(&server, token(AN_HOUR));
    server.kill();
    // The first command after the end is sent into the void, and only then the connection is known to be closed.
    let first = world.try_acquire();
    assert!(matches!(first, Ok(Attempt::Unknown(_)) | Err(_)), "{first:?}");
    drop(first);
    let second = world.try_acquire();
    assert!(matches!(second, Ok(Attempt::Unknown(_)) | Err(_)), "{second:?}");
}

fn a_key_of_another_type_is_an_error_where_it_matters<W: World>() {
    let server = Server::start();
    let world = W::open(&server, token(AN_HOUR));
    let guard = world.win();
    cmd("DEL").arg("k").exec(&mut server.connect()).unwrap();
    cmd("HSET").arg(&["k", "field", "value"]).exec(&mut server.connect()).unwrap();

    assert!(matches!(world.try_acquire(), Ok(Attempt::Held(_))), "SET NX only sees that there is a key");
    for error in
        [world.ownership(&guard).unwrap_err(), world.extend(&guard).unwrap_err(), world.release(guard).unwrap_err()]
    {
        assert_eq!(error.kind(), ErrorKind::WrongType);
        assert_one_sentence(&error);
    }
    assert_eq!(cmd("TYPE").arg("k").query(&mut server.connect()), Ok("hash".to_owned()));
}

fn every_refusal_has_its_kind<W: World>() {
    let master = Server::start();
    let no_right = Server::start();
    cmd("ACL").arg(&["SETUSER", "default", "-set"]).exec(&mut no_right.connect()).unwrap();
    let table = [
        (Server::with(&Options::new().replica_of(&master)), ErrorKind::ReadOnly),
        (Server::with(&Options::new().max_memory(1)), ErrorKind::OutOfMemory),
        (Server::with(&Options::new().line("min-replicas-to-write 1")), ErrorKind::TooFewReplicas),
        (Server::with(&Options::new().line("rename-command SET \"\"")), ErrorKind::UnknownCommand),
        (no_right, ErrorKind::NoPermission),
    ];
    for (server, expected) in table {
        assert_eq!(kind_of::<W>(&server), expected);
    }
}

fn a_script_that_may_not_do_something_lacks_a_permission<W: World>() {
    let server = Server::start();
    let mut operator = server.connect();
    let world = W::open(&server, token(AN_HOUR).announced(Publish::Everywhere));
    for right in ["-get", "-pexpire", "resetchannels"] {
        let guard = world.win();
        cmd("ACL").arg(&["SETUSER", "default", right]).exec(&mut operator).unwrap();
        let extended = world.extend(&guard).map(drop);
        let released = world.release(guard).map(drop);
        let expected = [right != "resetchannels", right != "-pexpire"];
        for (is_refused, ended) in expected.into_iter().zip([extended, released]) {
            assert_eq!(ended.as_ref().err().map(Error::kind), is_refused.then_some(ErrorKind::NoPermission), "{right}");
        }
        cmd("ACL").arg(&["SETUSER", "default", "+@all", "allchannels"]).exec(&mut operator).unwrap();
        cmd("DEL").arg("k").exec(&mut operator).unwrap();
    }
}

#[test]
fn a_script_that_never_ends_keeps_the_server_busy() {
    let server = Server::with(&Options::new().line("busy-reply-threshold 1"));
    let lock = blocking::Lock::new(server.client(), token(AN_HOUR));
    let mut endless = server.connect();
    let mut operator = server.connect();
    thread::scope(|scope| {
        scope.spawn(move || cmd("EVAL").arg("while true do end").arg(0).exec(&mut endless));
        until("the server says that it is busy", || {
            let error = lock.try_acquire().err()?;
            assert_eq!(error.kind(), ErrorKind::Busy);
            Some(())
        });
        cmd("SCRIPT").arg("KILL").exec(&mut operator).unwrap();
    });
}

#[test]
fn no_login_or_a_wrong_one() {
    let server = Server::with(&Options::new().password("sesame"));
    for login in ["", ":simsim@", "ali:sesame@"] {
        let client = redis::Client::open(format!("redis://{login}{}/", server.address())).unwrap();
        let error = blocking::Lock::new(client, token(AN_HOUR)).try_acquire().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotAuthenticated, "{login}");
        assert_one_sentence(&error);
    }
}

#[test]
fn no_server_at_the_address() {
    let mut server = Server::start();
    let client = server.client();
    server.kill();
    let error = blocking::Lock::new(client, token(AN_HOUR)).try_acquire().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
    assert_one_sentence(&error);
}

#[test]
fn a_server_that_hangs_is_not_waited_for_longer_than_the_connection_says() {
    let server = Server::start();
    let connection = server.connect();
    connection.set_read_timeout(Some(ms(50))).unwrap();
    let lock = blocking::Lock::new(connection, token(AN_HOUR));
    let Ok(Attempt::Won(guard)) = lock.try_acquire() else { panic!("the lock is free") };

    server.pause();
    let standing = guard.ownership().unwrap_err();
    assert_eq!(standing.kind(), ErrorKind::TimedOut, "a question that was not answered changes nothing");
    assert!(matches!(lock.try_acquire(), Ok(Attempt::Unknown(_))), "a try may have won");
    server.resume();

    until("the late replies are passed over, and the lock is ours still", || guard.ownership().ok());
    drop(guard);
    assert_eq!(cmd("EXISTS").arg("k").query(&mut server.connect()), Ok(false));
}
