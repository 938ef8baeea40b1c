//! What a client of the guard does to its lock inside MULTI.

use std::io::{Read, Write};
use std::net::TcpStream;

use redis::{Commands, Connection, cmd, pipe};

use crate::guard_process::GuardProcess;
use crate::patience::{PATIENCE, until};
use crate::server::{Options, Server};

const STAMP: i64 = 4_102_444_800;

fn guarding(server: &Server, args: &[&str]) -> GuardProcess {
    GuardProcess::start(&server.url(), &[("lock:*".to_owned(), "php-getset")], args)
}

fn acquires(client: &mut Connection) {
    assert_eq!(client.set_nx("lock:a", STAMP), Ok(true));
}

/// The server refuses the transaction for another command's error, so the lock is still the client's.
#[test]
fn a_transaction_that_was_not_run_releases_nothing() {
    let server = Server::start();
    for mode in ["protect", "bridge"] {
        let guard = guarding(&server, &["--mode", mode]);
        let [mut client, mut direct] = [guard.connect(), server.connect()];
        for end in ["EXEC", "DISCARD"] {
            acquires(&mut client);
            cmd("MULTI").exec(&mut client).unwrap();
            assert_eq!(cmd("DEL").arg("lock:a").query(&mut client), Ok("QUEUED".to_owned()));
            cmd("NO_COMMAND").exec(&mut client).unwrap_err();
            assert_eq!(cmd(end).exec(&mut client).is_ok(), end == "DISCARD");
            assert_eq!(direct.exists("lock:a"), Ok(true), "{mode}: nothing was deleted");
            assert_eq!(client.del("lock:a"), Ok(1), "{mode}: it is still the client's");
        }
    }
}

/// A client that deletes its lock with what it has worked out, in one transaction and without WATCH.
#[test]
fn a_late_release_in_a_transaction_deletes_nothing_of_the_next_holder() {
    let server = Server::start();
    for mode in ["protect", "bridge"] {
        let guard = guarding(&server, &["--mode", mode]);
        let [mut late, mut next, mut direct] = [guard.connect(), guard.connect(), server.connect()];
        acquires(&mut late);
        direct.del::<_, ()>(&["lock:a", "{lock:a}:token"][..]).unwrap();
        assert_eq!(next.set_nx("lock:a", STAMP + 1), Ok(true));
        let finish = |client: &mut Connection| pipe().atomic().set("result", 1).ignore().del("lock:a").query(client);
        assert_eq!(finish(&mut late), Ok([0]), "{mode}: the lock of the next holder is there");
        assert_eq!(finish(&mut late), Ok([0]), "{mode}: it holds nothing");
        assert_eq!(finish(&mut next), Ok([1]), "{mode}: its own");
        assert_eq!(direct.exists(&["lock:a", "{lock:a}:token"][..]), Ok(0), "{mode}");
        guard.terminate();
        let text = String::from_utf8(guard.done().0.stdout).unwrap();
        for count in
            ["1  Locks that were released by", "1  Releases of locks that had been lost", "1  Prevented: late-unlock"]
        {
            assert!(text.contains(count), "{mode}: {text}");
        }
    }
}

/// The lock is watched, so the client may delete what it has seen: also one that it acquired over another connection.
#[test]
fn a_watched_key_is_deleted_as_the_client_says() {
    let server = Server::start();
    let guard = guarding(&server, &[]);
    let [mut client, mut other] = [guard.connect(), guard.connect()];
    for holds in [true, false] {
        acquires(if holds { &mut client } else { &mut other });
        cmd("WATCH").arg("lock:a").exec(&mut client).unwrap();
        let seen: i64 = client.get("lock:a").unwrap();
        assert!(seen > 0);
        assert_eq!(pipe().atomic().del("lock:a").query(&mut client), Ok([1]), "holds: {holds}");
    }
}

/// Also where the client names a condition, as Redis 7 takes one.
#[test]
fn a_lock_keeps_its_time_to_live_in_a_transaction_too() {
    let server = Server::start();
    let guard = guarding(&server, &[]);
    let [mut client, mut direct] = [guard.connect(), server.connect()];
    acquires(&mut client);
    let before: i64 = direct.ttl("lock:a").unwrap();
    assert_eq!(pipe().atomic().expire("lock:a", 1).query(&mut client), Ok([1]));
    assert_eq!(cmd("EXPIRE").arg("lock:a").arg(1).arg("XX").query(&mut client), Ok(1));
    let after: i64 = direct.ttl("lock:a").unwrap();
    assert!((before - 5..=before).contains(&after), "{after} of {before}");
}

/// A client releases the lock of another database in a transaction, by a command that selects it there.
#[test]
fn a_lock_is_released_in_the_database_that_the_transaction_selects() {
    let server = Server::start();
    for mode in ["protect", "bridge"] {
        let guard = guarding(&server, &["--mode", mode, "--renew", "1h"]);
        let [mut client, mut direct] = [guard.connect(), server.connect()];
        let select = |client: &mut Connection, database: u32| cmd("SELECT").arg(database).exec(client).unwrap();
        select(&mut direct, 1);
        acquires(&mut client);
        select(&mut client, 1);
        acquires(&mut client);
        select(&mut client, 0);
        let mut transaction = pipe();
        transaction.atomic().cmd("SELECT").arg(1).ignore().del("lock:a").cmd("SELECT").arg(0).ignore();
        assert_eq!(transaction.query(&mut client), Ok([1]), "{mode}");
        assert_eq!(direct.exists(&["lock:a", "{lock:a}:token"][..]), Ok(0), "{mode}");
        assert_eq!(client.del("lock:a"), Ok(1), "{mode}: that of the first database is still held");
    }
}

#[test]
fn a_release_in_a_transaction_is_reported_in_its_database() {
    let server = Server::start();
    let directory = tempfile::tempdir().unwrap();
    let events = directory.path().join("events.jsonl");
    let guard = guarding(&server, &["--events", &events.display().to_string()]);
    let mut client = guard.connect();
    acquires(&mut client);
    let mut transaction = pipe();
    transaction.atomic().del("lock:a").cmd("SELECT").arg(1).ignore().del("lock:a");
    assert_eq!(transaction.query(&mut client), Ok([1, 0]));
    for (what, database) in [("released", 0), ("del_ignored", 1)] {
        let line = until(format_args!("{what} is reported"), || {
            let written = std::fs::read_to_string(&events).unwrap_or_default();
            let what = format!(r#""what":"{what}""#);
            written.lines().find(|line| line.contains(&what)).map(str::to_owned)
        });
        assert!(line.contains(&format!(r#""database":{database},"#)), "{line}");
    }
}

/// Only that one: the server ends the transaction when it changes.
#[test]
fn a_watch_of_one_key_lets_no_other_be_deleted() {
    let server = Server::start();
    let guard = guarding(&server, &[]);
    let [mut holder, mut client] = [guard.connect(), guard.connect()];
    acquires(&mut holder);
    let delete = |client: &mut Connection| pipe().atomic().del("lock:a").query::<[i64; 1]>(client).unwrap();
    cmd("WATCH").arg("lock:b").exec(&mut client).unwrap();
    assert_eq!(delete(&mut client), [0]);
    // In another database it is another key.
    cmd("SELECT").arg(1).exec(&mut client).unwrap();
    cmd("WATCH").arg("lock:a").exec(&mut client).unwrap();
    cmd("SELECT").arg(0).exec(&mut client).unwrap();
    assert_eq!(delete(&mut client), [0]);
    cmd("WATCH").arg("lock:a").exec(&mut client).unwrap();
    cmd("RESET").exec(&mut client).unwrap();
    assert_eq!(delete(&mut client), [0]);
    cmd("WATCH").arg("other").arg("lock:b").arg("lock:a").exec(&mut client).unwrap();
    assert_eq!(delete(&mut client), [1], "it has seen this one");
    assert_eq!(holder.del("lock:a"), Ok(0));
}

/// The server has opened the second one, in which the lock's command waits for EXEC.
#[test]
fn a_transaction_that_is_sent_behind_a_refused_one_begins() {
    const PASSWORD: &str = "sesame";
    let refused: [&[&str]; 2] = [&["MULTI", "AUTH sesame"], &["MULTI x"]];
    for (before, server) in refused.into_iter().zip([Options::new().password(PASSWORD), Options::new()]) {
        let server = Server::with(&server);
        let rules = [("lock:*".to_owned(), "php-getset")];
        let guard = GuardProcess::start(&format!("redis://{}/", server.address()), &rules, &[]);
        let commands = before.iter().chain(&["MULTI", "DEL lock:b", "SET a 1", "EXEC", "ECHO end"]);
        let bytes: String = commands.map(|line| format!("{line}\r\n")).collect();
        let [direct, guarded] = [server.address(), guard.address()].map(|address| {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            stream.write_all(bytes.as_bytes()).unwrap();
            let mut answers = Vec::new();
            while !answers.ends_with(b"$3\r\nend\r\n") {
                let mut piece = [0; 4_096];
                let length = stream.read(&mut piece).unwrap();
                assert!(length > 0, "it is closed");
                answers.extend_from_slice(&piece[..length]);
            }
            String::from_utf8(answers).unwrap()
        });
        assert!(direct.contains("+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n:0\r\n+OK\r\n"), "{direct}");
        assert_eq!(guarded, direct);
    }
}
