//! A client that leaves before it learns that it has acquired: nothing is held for it.

use std::sync::Arc;

use lockshift::guard::{Lifetime, Rule};
use lockshift::legacy;
use lockshift::proxy::{GuardedKeys, ProxyCounts, ProxySettings, Treatment, serve_streams};
use redis::{Commands, cmd};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::net::TcpStream;

use crate::guard_process::GuardProcess;
use crate::patience::until;
use crate::server::Server;

const KEY: &str = "lock:a";
const SETNX: &[u8] = b"SETNX lock:a 4102444800\r\n";
/// More than one side has to deliver.
const ROOM: usize = 4_096;

/// How a client leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leave {
    /// It closes its connection.
    Closes,
    /// It ends its own direction, and reads on.
    EndsItsDirection,
}

/// What came of an attempt.
struct Attempted {
    /// How many commands the guard has sent.
    commands: usize,
    answer: Vec<u8>,
    counts: ProxyCounts,
}

pub(super) fn settings(is_bridged: bool) -> ProxySettings {
    let dialect = legacy::find("php-getset").expect("it is in the catalogue");
    let rule = Rule::new(&[dialect], Lifetime::BeyondStamp).expect("it can be guarded");
    let rule = if is_bridged { rule.bridged().expect("it has a time to live") } else { rule };
    let keys = [(b"lock:*".to_vec(), Treatment::Decide(Arc::new(rule)))];
    ProxySettings { keys: keys.into_iter().collect::<GuardedKeys>(), ..ProxySettings::default() }
}

pub(super) fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("the system is able to").block_on(future)
}

/// One client sends SETNX, and leaves when the guard sends its command of this number: before the server has seen that.
async fn attempt(server: &Server, settings: ProxySettings, leaves: Option<(usize, Leave)>) -> Attempted {
    let ((client, mut client_end), (upstream, mut upstream_end)) = (duplex(ROOM), duplex(ROOM));
    let mut direct = TcpStream::connect(server.address()).await.unwrap();
    let session = tokio::spawn(serve_streams(client, upstream, settings));
    client_end.write_all(SETNX).await.unwrap();
    let mut client_end = Some(client_end);
    let (mut commands, mut answer) = (0, vec![0; 4]);
    while let Some(command) = next_command(&mut upstream_end, &mut client_end, leaves.is_none(), &mut answer).await {
        commands += 1;
        match leaves {
            Some((number, Leave::Closes)) if number == commands => client_end = None,
            Some((number, Leave::EndsItsDirection)) if number == commands => {
                client_end.as_mut().expect("it is open").shutdown().await.unwrap();
            }
            _ => {}
        }
        direct.write_all(&command).await.unwrap();
        let mut reply = vec![0; ROOM];
        let length = direct.read(&mut reply).await.unwrap();
        let _ = upstream_end.write_all(&reply[..length]).await;
    }
    // A server closes what its client has ended.
    drop(upstream_end);
    if let Some(mut reading) = client_end {
        answer.clear();
        reading.read_to_end(&mut answer).await.unwrap();
    }
    Attempted { commands, answer, counts: session.await.unwrap() }
}

/// The guard's next command, if it sends one. A client that stays leaves once it has its answer.
async fn next_command(
    upstream: &mut DuplexStream,
    client: &mut Option<DuplexStream>,
    stays: bool,
    answer: &mut [u8],
) -> Option<Vec<u8>> {
    let mut command = vec![0; ROOM];
    let length = match client {
        Some(reading) if stays => tokio::select! {
            length = upstream.read(&mut command) => length.unwrap(),
            read = reading.read_exact(answer) => {
                read.unwrap();
                *client = None;
                upstream.read(&mut command).await.unwrap()
            }
        },
        _ => upstream.read(&mut command).await.unwrap(),
    };
    command.truncate(length);
    (length > 0).then_some(command)
}

#[test]
fn a_client_that_leaves_while_the_guard_decides_leaves_no_lock() {
    let server = Server::start();
    let mut direct = server.connect();
    for is_bridged in [false, true] {
        let settings = settings(is_bridged);
        let run = |leaves| block_on(attempt(&server, settings.clone(), leaves));
        let mut keys = || -> i64 { direct.exists(&[KEY, "{lock:a}:token"][..]).unwrap() };
        // The server learns the scripts by the first.
        for _ in 0..2 {
            let stays = run(None);
            assert_eq!((stays.answer.as_slice(), keys()), (&b":1\r\n"[..], 1 + i64::from(is_bridged)));
            assert_eq!((stays.counts.withdrawn, stays.counts.holders_disconnected), (0, 1), "it was answered");
            server.connect().del::<_, ()>(&[KEY, "{lock:a}:token"][..]).unwrap();
        }
        let commands = run(None).commands;
        server.connect().del::<_, ()>(&[KEY, "{lock:a}:token"][..]).unwrap();
        assert!(commands >= 1, "it takes");
        for number in 1..=commands {
            for leave in [Leave::Closes, Leave::EndsItsDirection] {
                let left = run(Some((number, leave)));
                assert_eq!(keys(), 0, "{leave:?} at command {number}, bridged: {is_bridged}");
                assert_eq!((left.counts.withdrawn, left.counts.holders_disconnected), (1, 0), "{leave:?}");
                if leave == Leave::EndsItsDirection {
                    assert_eq!(left.answer, b":0\r\n", "command {number}");
                }
            }
        }
    }
}

/// Its answer waits behind replies that it does not read, and a command of it is still under way.
#[test]
fn a_lock_is_withdrawn_if_not_a_byte_of_its_answer_was_written() {
    let server = Server::start();
    let counts = block_on(async {
        const UNREAD: usize = 8;
        let ((client, mut client_end), (upstream, mut upstream_end)) = (duplex(UNREAD), duplex(ROOM));
        let mut direct = TcpStream::connect(server.address()).await.unwrap();
        let session = tokio::spawn(serve_streams(client, upstream, settings(false)));
        let last = b"ECHO last\r\n";
        let commands = [&b"ECHO more-than-the-client-reads\r\n"[..], SETNX, last].concat();
        client_end.write_all(&commands).await.unwrap();
        let mut client_end = Some(client_end);
        let mut buffer = [0; ROOM];
        loop {
            let length = upstream_end.read(&mut buffer).await.unwrap();
            if length == 0 {
                break session.await.unwrap();
            }
            if buffer[..length] == *last {
                let stored: bool = server.connect().exists(KEY).unwrap();
                assert!(stored, "the guard has taken the lock, and its answer waits");
                drop(client_end.take());
            }
            direct.write_all(&buffer[..length]).await.unwrap();
            let length = direct.read(&mut buffer).await.unwrap();
            let _ = upstream_end.write_all(&buffer[..length]).await;
        }
    });
    assert_eq!((counts.acquired, counts.withdrawn, counts.holders_disconnected), (1, 1, 0));
    assert!(!server.connect().exists::<_, bool>(KEY).unwrap());
}

#[test]
fn a_lock_that_may_have_been_written_is_reported() {
    let server = Server::start();
    let counts = block_on(async {
        let ((client, mut client_end), (upstream, mut upstream_end)) = (duplex(ROOM), duplex(ROOM));
        let mut direct = TcpStream::connect(server.address()).await.unwrap();
        let session = tokio::spawn(serve_streams(client, upstream, settings(false)));
        client_end.write_all(SETNX).await.unwrap();
        let mut buffer = [0; ROOM];
        while !server.connect().exists::<_, bool>(KEY).unwrap() {
            let length = upstream_end.read(&mut buffer).await.unwrap();
            direct.write_all(&buffer[..length]).await.unwrap();
            let length = direct.read(&mut buffer).await.unwrap();
            if !server.connect().exists::<_, bool>(KEY).unwrap() {
                upstream_end.write_all(&buffer[..length]).await.unwrap();
            }
        }
        drop(upstream_end);
        let mut answer = Vec::new();
        client_end.read_to_end(&mut answer).await.unwrap();
        assert!(answer.is_empty(), "{answer:?}");
        session.await.unwrap()
    });
    assert_eq!((counts.outcomes_unknown, counts.acquired, counts.holders_disconnected), (1, 0, 0));
}

#[test]
fn a_holder_that_leaves_is_reported_in_the_database_of_its_lock() {
    let server = Server::start();
    let directory = tempfile::tempdir().unwrap();
    let events = directory.path().join("events.jsonl").display().to_string();
    let rules = [("lock:*".to_owned(), "php-getset")];
    let guard = GuardProcess::start(&server.url(), &rules, &["--events", &events]);
    let mut holder = guard.connect();
    cmd("SELECT").arg(1).exec(&mut holder).unwrap();
    assert_eq!(holder.set_nx("lock:a", 4_102_444_800_i64), Ok(true));
    cmd("SELECT").arg(0).exec(&mut holder).unwrap();
    drop(holder);
    let left = until("it is reported", || {
        let written = std::fs::read_to_string(&events).unwrap_or_default();
        written.lines().find(|line| line.contains("holder_disconnected")).map(str::to_owned)
    });
    assert!(left.contains(r#""database":1,"#), "{left}");
}
