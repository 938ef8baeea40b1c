//! Clients that have subscribed to channels, on a server that answers the guard's question by an error, and clients that leave.

use std::io::Write;
use std::net::TcpStream;
use std::time::Duration;

use lockshift::proxy::serve_streams;
use redis::{Commands, Connection, RedisResult, Value, cmd};
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

use super::leaving::{block_on, settings};
use super::until_blocked;
use crate::guard_process::GuardProcess;
use crate::patience::{PATIENCE, until};
use crate::server::{Options, Server};

const STAMP: i64 = 4_102_444_800;

fn guarding(server: &Server) -> GuardProcess {
    // Without the password of the server: that is the client's.
    GuardProcess::start(&format!("redis://{}/", server.address()), &[("lock:*".to_owned(), "php-getset")], &[])
}

/// A connection to the server without its password, and one to the guard.
fn both(server: &Server, guard: &GuardProcess) -> [Connection; 2] {
    [server.address(), guard.address()].map(|address| {
        let connection = redis::Client::open(format!("redis://{address}/")).unwrap().get_connection().unwrap();
        connection.set_read_timeout(Some(PATIENCE)).unwrap();
        connection
    })
}

fn ask(client: &mut Connection, line: &str) -> RedisResult<Value> {
    let words: Vec<_> = line.split(' ').collect();
    client.send_packed_command(&cmd(words[0]).arg(&words[1..]).get_packed_command())?;
    client.recv_response()
}

/// The code of the error, if it is one, and its text.
fn error(answer: RedisResult<Value>) -> Option<String> {
    match answer {
        Ok(Value::ServerError(error)) => Some(format!("{error:?}")),
        Ok(_) => None,
        Err(error) => Some(format!("{:?} {:?}", error.code(), error.detail())),
    }
}

fn is_guarded(client: &mut Connection, direct: &mut Connection, key: &str) {
    assert_eq!(client.set_nx(key, STAMP), Ok(true), "{key}");
    assert_ne!(direct.get(key), Ok(STAMP), "{key}: the client has written its own stamp");
}

#[test]
fn a_client_that_has_subscribed_is_refused_while_a_script_runs_and_served_after_it() {
    let server = Server::with(&Options::new().line("busy-reply-threshold 100"));
    let guard = guarding(&server);
    let [mut former, mut subscribers] = [(); 2].map(|()| both(&server, &guard));
    for client in former.iter_mut().chain(&mut subscribers) {
        ask(client, "SUBSCRIBE news").unwrap();
    }
    for client in &mut former {
        ask(client, "UNSUBSCRIBE").unwrap();
    }
    let mut other = server.connect();
    let mut script = TcpStream::connect(server.address()).unwrap();
    script.write_all(&cmd("EVAL").arg("while true do end").arg(0).get_packed_command()).unwrap();
    let mut is_busy = |wanted: bool| {
        until("the server is as it has to be", || (cmd("PING").exec(&mut other).is_err() == wanted).then_some(()));
    };
    is_busy(true);
    for line in ["GET x", "SETNX lock:busy 4102444800", "GET y"] {
        let [direct, behind] = former.each_mut().map(|client| error(ask(client, line)));
        assert!(direct.as_ref().is_some_and(|text| text.contains("BUSY")), "{direct:?}");
        assert!(behind.as_ref().is_some_and(|text| text.contains("BUSY")), "{line}: {behind:?}");
        let [direct, behind] = subscribers.each_mut().map(|client| error(ask(client, line)));
        assert!(direct.as_ref().is_some_and(|text| text.contains("allowed in this context")), "{direct:?}");
        assert_eq!(behind, direct, "{line}");
    }
    cmd("SCRIPT").arg("KILL").exec(&mut server.connect()).unwrap();
    is_busy(false);
    for client in &mut former {
        assert_eq!(ask(client, "GET x"), Ok(Value::Nil));
    }
    is_guarded(&mut former[1], &mut server.connect(), "lock:busy");
    for client in &mut subscribers {
        assert!(error(ask(client, "GET x")).unwrap().contains("allowed in this context"));
    }
    // A client that the script kept waiting has left no session behind.
    drop((former, subscribers));
    guard.terminate();
    assert!(guard.done().0.status.success());
}

#[test]
fn a_client_that_has_subscribed_and_has_to_send_its_password_is_guarded_then() {
    let server = Server::with(&Options::new().password("sesame"));
    let guard = guarding(&server);
    let dialogues: [&[&str]; 3] = [
        &["AUTH sesame", "SUBSCRIBE news", "RESET", "GET x", "AUTH sesame", "GET x"],
        &["SUBSCRIBE news", "AUTH wrong", "AUTH sesame", "GET x"],
        &["SUBSCRIBE news", "SUBSCRIBE news", "SETNX lock:no 1", "PING", "AUTH sesame", "GET x"],
    ];
    for (number, lines) in dialogues.into_iter().enumerate() {
        let mut clients = both(&server, &guard);
        for line in lines {
            let [direct, behind] = clients.each_mut().map(|client| format!("{:?}", ask(client, line)));
            assert_eq!(behind, direct, "{lines:?}: {line}");
        }
        is_guarded(&mut clients[1], &mut server.connect(), &format!("lock:{number}"));
    }
}

#[test]
fn a_client_that_has_subscribed_is_refused_by_a_replica_without_its_master() {
    let server = Server::with(&Options::new().line("replica-serve-stale-data no"));
    let guard = guarding(&server);
    let mut clients = both(&server, &guard);
    for client in &mut clients {
        ask(client, "SUBSCRIBE news").unwrap();
        ask(client, "UNSUBSCRIBE").unwrap();
    }
    let mut direct = server.connect();
    // Nothing listens there.
    cmd("REPLICAOF").arg("127.0.0.1").arg(1).exec(&mut direct).unwrap();
    for line in ["GET x", "GET y"] {
        for client in &mut clients {
            let refused = error(ask(client, line)).unwrap();
            assert!(refused.contains("Link with MASTER is down"), "{refused}");
        }
    }
    cmd("REPLICAOF").arg("NO").arg("ONE").exec(&mut direct).unwrap();
    is_guarded(&mut clients[1], &mut direct, "lock:a");
}

#[test]
fn a_blocked_client_that_leaves_a_subscription_behind_takes_nothing_from_the_queue() {
    let server = Server::start();
    let guard = guarding(&server);
    let mut client = guard.stream();
    client.write_all(b"BLPOP queue 0\r\nSUBSCRIBE news\r\nGET x\r\n").unwrap();
    let mut direct = server.connect();
    until_blocked(&server, true);
    drop(client);
    until_blocked(&server, false);
    direct.rpush::<_, _, ()>("queue", "job").unwrap();
    assert_eq!(direct.llen("queue"), Ok(1));
}

#[test]
fn a_session_ends_that_asks_a_server_which_does_not_answer_when_its_client_has_left() {
    block_on(async {
        let ((client, mut client_end), (upstream, mut upstream_end)) = (duplex(1_024), duplex(1_024));
        let session = tokio::spawn(serve_streams(client, upstream, settings(false)));
        client_end.write_all(b"SUBSCRIBE news\r\nGET x\r\n").await.unwrap();
        let mut sent = Vec::new();
        while !String::from_utf8_lossy(&sent).contains("PING") {
            assert!(upstream_end.read_buf(&mut sent).await.unwrap() > 0, "the guard asks");
        }
        drop(client_end);
        tokio::time::timeout(PATIENCE + Duration::from_secs(1), session).await.expect("it ends").unwrap();
    });
}
