//! Clients that send without reading what they get, as pipelines of libraries do, and values that no lock has.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::thread;
use std::time::Duration;

use lockshift::proxy::serve_streams;
use redis::{Commands, cmd};
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

use super::leaving::{block_on, settings};
use super::proxy::memory_kb;
use super::server_secs;
use crate::guard_process::GuardProcess;
use crate::patience::PATIENCE;
use crate::server::Server;

const MODES: [&str; 2] = ["observe", "protect"];

fn guarding(server: &Server, mode: &str) -> GuardProcess {
    GuardProcess::start(&server.url(), &[("lock:*".to_owned(), "php-getset")], &["--mode", mode])
}

/// More than the buffers of two connections hold.
fn huge() -> String {
    "x".repeat(24 << 20)
}

/// A command as it is sent.
fn packed(words: &[&str]) -> Vec<u8> {
    redis::Cmd::new().arg(words).get_packed_command()
}

/// One client would otherwise keep all others from their lock for as long as it does not read.
#[test]
fn a_client_that_does_not_read_keeps_no_other_from_an_observed_key() {
    let server = Server::start();
    let guard = guarding(&server, "observe");
    let mut direct = server.connect();
    direct.set::<_, _, ()>("lock:huge", huge()).unwrap();
    direct.set::<_, _, ()>("lock:small", "x".repeat(8 << 10)).unwrap();
    for (key, times) in [("lock:huge", 1), ("lock:small", 3_000)] {
        let (mut silent, mut other) = (guard.stream(), guard.connect());
        other.exists::<_, bool>("lock:free").unwrap();
        silent.set_write_timeout(Some(Duration::from_secs(1))).unwrap();
        // It may not be able to send all of it.
        let _ = silent.write_all(&packed(&["GET", key]).repeat(times));
        let mut byte = [0];
        silent.read_exact(&mut byte).unwrap();
        crate::patience::pause(Duration::from_millis(200));
        let answered = thread::spawn(move || {
            let exists = other.exists::<_, bool>(key);
            (exists, other.set_nx::<_, _, bool>(key, "1"))
        });
        crate::patience::until("the other client is answered", || answered.is_finished().then_some(()));
        assert_eq!(answered.join().unwrap(), (Ok(true), Ok(false)), "{key}");
        drop(silent);
    }
}

/// A server reads on whatever its client does with the replies.
#[test]
fn a_pipeline_may_be_sent_whole_before_its_replies_are_read() {
    let server = Server::start();
    server.connect().set::<_, _, ()>("big", "x".repeat(1 << 20)).unwrap();
    let stamp = (server_secs(&mut server.connect()) + 60).to_string();
    for mode in MODES {
        let guard = guarding(&server, mode);
        let value = "y".repeat(50_000);
        let mut pipeline = packed(&["GET", "big"]).repeat(40);
        pipeline.extend(packed(&["SETNX", "lock:p", &stamp]));
        pipeline.extend(packed(&["SET", "other", &value]).repeat(400));
        pipeline.extend(packed(&["DEL", "lock:p"]));
        let mut stream = guard.stream();
        for wait in [TcpStream::set_write_timeout, TcpStream::set_read_timeout] {
            wait(&stream, Some(PATIENCE)).unwrap();
        }
        stream.write_all(&pipeline).unwrap_or_else(|error| panic!("{mode}: it cannot send: {error}"));
        stream.shutdown(Shutdown::Write).unwrap();
        let mut replies = Vec::new();
        stream.read_to_end(&mut replies).unwrap_or_else(|error| panic!("{mode}: it cannot read: {error}"));
        let reads = 40 * ((1 << 20) + "$1048576\r\n\r\n".len());
        let last = [":1\r\n", &"+OK\r\n".repeat(400), ":1\r\n"].concat();
        assert!(replies.len() == reads + last.len() && replies.ends_with(last.as_bytes()), "{mode}: {}", replies.len());
    }
}

#[test]
fn a_value_that_is_no_locks_ends_no_connection() {
    let server = Server::start();
    let foreign = "x".repeat(70_000);
    let stamp = server_secs(&mut server.connect()) + 60;
    for mode in ["protect", "bridge"] {
        let guard = guarding(&server, mode);
        let [mut client, mut direct] = [guard.connect(), server.connect()];
        direct.set::<_, _, ()>("lock:foreign", &foreign).unwrap();
        assert_eq!(client.set_nx("lock:foreign", stamp), Ok(false), "{mode}");
        assert_eq!(direct.get("lock:foreign"), Ok(foreign.clone()), "{mode}: it is as it was");
        assert_eq!(client.set_nx("lock:own", stamp), Ok(true), "{mode}");
        direct.set::<_, _, ()>("lock:own", &foreign).unwrap();
        assert_eq!(client.get("lock:own"), Ok(foreign.clone()), "{mode}: its lock is lost");
        let long: String = cmd("EVAL")
            .arg("return ARGV[2]")
            .arg(1)
            .arg("lock:own")
            .arg(stamp)
            .arg(&foreign[1..])
            .query(&mut client)
            .unwrap();
        assert_eq!(long.len(), foreign.len() - 1, "{mode}");
        assert_eq!(client.del("lock:own"), Ok(0), "{mode}");
        assert_eq!(direct.get("lock:own"), Ok(foreign.clone()), "{mode}: it is as it was");
        direct.del::<_, ()>(&["lock:foreign", "lock:own", "{lock:own}:token"][..]).unwrap();
    }
}

/// The session has just more of an earlier reply than it wants to keep when the deletion is served, and delivers some of it then.
#[test]
fn a_deletion_of_several_keys_is_answered_behind_a_reply_that_waits() {
    const ROOM: usize = 1_024;
    const LENGTH: usize = (64 << 10) + ROOM;
    let server = Server::start();
    let mut direct = server.connect();
    direct.set::<_, _, ()>("big", "x".repeat(LENGTH)).unwrap();
    let replies = block_on(async {
        let (client, mut client_end) = duplex(ROOM);
        let upstream = tokio::net::TcpStream::connect(server.address()).await.unwrap();
        let session = tokio::spawn(serve_streams(client, upstream, settings(false)));
        // Released once before, so that the server knows the script of a release.
        for command in [&["SETNX", "lock:a", "4102444800"][..], &["DEL", "lock:a"], &["SETNX", "lock:a", "4102444800"]]
        {
            client_end.write_all(&packed(command)).await.unwrap();
            let mut answer = [0; 4];
            client_end.read_exact(&mut answer).await.unwrap();
            assert_eq!(&answer, b":1\r\n");
        }
        client_end.write_all(&packed(&["GET", "big"])).await.unwrap();
        client_end.write_all(&packed(&["DEL", "lock:a", "big"])).await.unwrap();
        while direct.exists::<_, bool>("lock:a").unwrap() {
            tokio::task::yield_now().await;
        }
        let mut replies = vec![0; LENGTH + "$66560\r\n\r\n".len() + ":2\r\n".len()];
        client_end.read_exact(&mut replies).await.unwrap();
        drop(client_end);
        session.await.unwrap();
        replies
    });
    assert!(replies.starts_with(b"$66560\r\nxx") && replies.ends_with(b"xx\r\n:2\r\n"));
}

/// A log that nobody reads, as that of a program which is started with a pipe and forgotten.
#[test]
fn clients_are_served_and_the_guard_ends_while_nobody_reads_its_messages() {
    let server = Server::start();
    let guard = GuardProcess::unheard(&server.url(), &[("lock:*".to_owned(), "php-getset")], &[]);
    let mut served = guard.connect();
    // More than a pipe holds, and more than the guard keeps.
    let name = "x".repeat(20_000);
    for number in 0..60 {
        let mut client = guard.connect();
        client.set_read_timeout(Some(PATIENCE)).unwrap();
        assert_eq!(client.del(format!("lock:{number}:{name}")), Ok(0), "client {number}");
    }
    served.set_read_timeout(Some(PATIENCE)).unwrap();
    assert_eq!(cmd("PING").query(&mut served), Ok("PONG".to_owned()));
    drop(served);
    guard.terminate();
    let (output, messages) = guard.done();
    assert!(output.status.success(), "{output:?}");
    assert!(messages.iter().any(|message| message.contains("was ignored")), "what fitted was written");
}

/// The limit of what is kept for a client holds for the replies of a transaction as for any other.
#[test]
fn the_replies_of_an_observed_transaction_wait_for_a_client_that_does_not_read() {
    const READS: usize = 8;
    let server = Server::start();
    let guard = guarding(&server, "observe");
    server.connect().set::<_, _, ()>("big", huge()).unwrap();
    let before = memory_kb(guard.id());
    let mut stream = guard.stream();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let commands = [packed(&["MULTI"]), packed(&["GET", "lock:a"]), packed(&["GET", "big"]).repeat(READS)].concat();
    stream.write_all(&[commands, packed(&["EXEC"]), packed(&["ECHO", "end"])].concat()).unwrap();
    let mut most = 0;
    for _ in 0..20 {
        crate::patience::pause(Duration::from_millis(50));
        most = most.max(memory_kb(guard.id()).saturating_sub(before));
    }
    assert!(most < 80 << 10, "memory has grown by {most} kB");
    let queued = "+OK\r\n".len() + (1 + READS) * "+QUEUED\r\n".len();
    let ran = "*9\r\n$-1\r\n".len() + READS * ("$25165824\r\n\r\n".len() + (24 << 20));
    let mut replies = vec![0; queued + ran + "$3\r\nend\r\n".len()];
    stream.read_exact(&mut replies).unwrap();
    assert!(replies.ends_with(b"\r\n$3\r\nend\r\n"));
}
