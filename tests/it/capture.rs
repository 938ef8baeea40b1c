//! Packet captures of real traffic: the same commands as MONITOR lists, with the replies that it does not list.

mod packets;
mod recorder;

use std::io::{Cursor, Read as _, Write as _};
use std::net::TcpStream;

use flate2::Compression;
use flate2::write::GzEncoder;
use lockshift::capture::{self, CaptureStatistics, CapturedExchange};
use lockshift::driver::Attempt;
use lockshift::driver::blocking::Lock;
use lockshift::protocols::Choice;
use lockshift::wire::Reply;

pub(crate) use packets::{Format, Wire, capture_of};
pub(crate) use recorder::Recorder;

use crate::cli::{done, lockshift};
use crate::monitor::Monitor;
use crate::patience::until;
use crate::server::Server;

fn read(bytes: &[u8]) -> (Vec<CapturedExchange>, CaptureStatistics) {
    let mut found = Vec::new();
    let (statistics, outcome) =
        capture::read(Box::new(Cursor::new(bytes.to_vec())), &mut |exchange| found.push(exchange));
    outcome.unwrap();
    (found, statistics)
}

/// What the exchanges say, without ports and times.
fn shown(exchanges: &[CapturedExchange]) -> Vec<(u32, String, Option<Reply>)> {
    exchanges.iter().map(|it| (it.database, it.command.to_string(), it.reply.clone())).collect()
}

/// A token client and a PHP client take turns on a key, in database 3, over connections with this protocol.
fn traffic(server: &Server, resp3: bool) -> Recorder {
    let recorder = Recorder::before(server.address());
    let url = format!("redis://{}/3{}", recorder.address(), if resp3 { "?protocol=resp3" } else { "" });
    for protocol in ["token", "php-getset"] {
        let client = || {
            let connection = redis::Client::open(url.as_str()).unwrap().get_connection().unwrap();
            let choice: Choice = protocol.parse().unwrap();
            let lease = lockshift::lock::Lease::new(std::time::Duration::from_secs(5)).unwrap();
            Lock::new(connection, choice.locker("lock".into(), lease))
        };
        let (alice, bob) = (client(), client());
        let Attempt::Won(guard) = alice.try_acquire().unwrap() else { panic!("{protocol}: the key is free") };
        assert!(matches!(bob.try_acquire().unwrap(), Attempt::Held(_)));
        let _ = guard.release().unwrap();
    }
    let mut connection = redis::Client::open(url.as_str()).unwrap().get_connection().unwrap();
    let exec: Vec<i64> =
        redis::pipe().atomic().cmd("INCR").arg("n").cmd("INCR").arg("n").query(&mut connection).unwrap();
    assert_eq!(exec, [1, 2]);
    recorder
}

#[test]
fn a_capture_has_the_commands_of_monitor_and_their_replies() {
    for resp3 in [false, true] {
        let server = Server::start();
        let mut monitor = Monitor::on(&server);
        let recorder = traffic(&server, resp3);
        let is_shown =
            |command: &str| ["HELLO", "CLIENT", "SELECT", "MULTI", "EXEC"].iter().all(|it| !command.starts_with(it));
        let lines = monitor.take();
        let clients = lines.iter().filter(|line| matches!(line.source, crate::monitor::Source::Client(_)));
        let listed: Vec<String> = clients.map(ToString::to_string).filter(|it| is_shown(it)).collect();
        for format in [Format::Pcap, Format::PcapNanos, Format::Pcapng] {
            let (exchanges, statistics) = read(&capture_of(&recorder.recorded(), format, Wire::AsSent));
            let found = shown(&exchanges);
            let commands: Vec<String> =
                found.iter().map(|(_, command, _)| command.clone()).filter(|it| is_shown(it)).collect();
            assert_eq!(commands, listed, "{format:?}, RESP3: {resp3}");
            assert_eq!((statistics.unanswered, statistics.gaps, statistics.servers), (0, 0, 1), "{statistics:?}");
            let replies = |name: &str| -> Vec<Reply> {
                found.iter().filter(|(_, command, _)| command.starts_with(name)).filter_map(|it| it.2.clone()).collect()
            };
            assert_eq!(replies("SETNX"), [Reply::Int(1), Reply::Int(0)]);
            assert_eq!(replies("SET "), [Reply::ok(), Reply::Nil]);
            assert_eq!(replies("INCR"), [Reply::Int(1), Reply::Int(2)]);
            assert!(found.iter().filter(|it| it.1.starts_with("SETNX")).all(|it| it.0 == 3), "{found:?}");
        }
    }
}

/// A transaction may select a database between two commands, and may fail to select another one; RESET selects the first.
#[test]
fn a_command_is_in_the_database_that_monitor_lists() {
    let server = Server::start();
    let mut monitor = Monitor::on(&server);
    let recorder = Recorder::before(server.address());
    let url = format!("redis://{}/2", recorder.address());
    let mut connection = redis::Client::open(url.as_str()).unwrap().get_connection().unwrap();
    let pieces: [&[&str]; 11] = [
        &["MULTI"],
        &["GET", "a"],
        &["SELECT", "3"],
        &["GET", "b"],
        &["SELECT", "99"],
        &["GET", "c"],
        &["EXEC"],
        &["GET", "d"],
        &["RESET"],
        &["GET", "e"],
        &["GET", "f"],
    ];
    for words in pieces {
        // EXEC reports the SELECT that failed.
        let _: redis::RedisResult<redis::Value> = redis::cmd(words[0]).arg(&words[1..]).query(&mut connection);
    }
    let lines = monitor.take();
    let gets = |(database, command): (u32, String)| command.starts_with("GET").then_some((database, command));
    let listed: Vec<_> = lines.iter().filter_map(|line| gets((line.database, line.to_string()))).collect();
    let (exchanges, _) = read(&capture_of(&recorder.recorded(), Format::Pcap, Wire::AsSent));
    let found: Vec<_> =
        shown(&exchanges).into_iter().filter_map(|(database, command, _)| gets((database, command))).collect();
    assert_eq!(found, listed);
    assert_eq!(found.iter().map(|(database, _)| *database).collect::<Vec<_>>(), [2, 3, 3, 3, 0, 0]);
}

/// RESP3 confirms a subscription by a push, and a refused one by an error.
#[test]
fn a_subscription_of_resp3_leaves_each_reply_to_its_own_request() {
    let server = Server::start();
    let recorder = Recorder::before(server.address());
    let mut client = TcpStream::connect(recorder.address()).unwrap();
    let pieces = [
        ("HELLO 3", "%"),
        ("SUBSCRIBE a b", ">"),
        ("SETNX k 1", ":1"),
        ("SUBSCRIBE", "-"),
        ("SETNX k 2", ":0"),
        ("UNSUBSCRIBE", ">"),
        ("DEL k", ":1"),
    ];
    for (words, expected) in pieces {
        let words: Vec<&str> = words.split(' ').collect();
        client.write_all(&redis::cmd(words[0]).arg(&words[1..]).get_packed_command()).unwrap();
        until("its reply has come", || {
            let mut reply = [0; 4096];
            let length = client.read(&mut reply).unwrap();
            String::from_utf8_lossy(&reply[..length]).contains(expected).then_some(())
        });
    }
    let (exchanges, _) = read(&capture_of(&recorder.recorded(), Format::Pcap, Wire::AsSent));
    let replies: Vec<_> =
        shown(&exchanges).into_iter().filter(|it| !it.1.contains("SUBSCRIBE")).map(|it| it.2).collect();
    assert_eq!(replies[1..], [1, 0, 1].map(|number| Some(Reply::Int(number))), "{exchanges:?}");
}

#[test]
fn segments_that_are_cut_reordered_and_sent_again_say_the_same() {
    let server = Server::start();
    let recorded = traffic(&server, true).recorded();
    let (expected, _) = read(&capture_of(&recorded, Format::Pcap, Wire::AsSent));
    for wire in
        [Wire::Cut(1), Wire::Cut(7), Wire::Shuffled, Wire::Repeated, Wire::Ipv6, Wire::Ipv6Options, Wire::Cooked]
    {
        let (found, statistics) = read(&capture_of(&recorded, Format::Pcapng, wire));
        assert_eq!(shown(&found), shown(&expected), "{wire:?}");
        assert_eq!(statistics.gaps, 0, "{wire:?}");
    }
}

#[test]
fn a_packet_that_was_not_captured_is_a_gap_and_no_all_clear() {
    let server = Server::start();
    let recorded = traffic(&server, false).recorded();
    for wire in [Wire::Snapped(90), Wire::Dropped] {
        let bytes = capture_of(&recorded, Format::Pcap, wire);
        let (found, statistics) = read(&bytes);
        assert!(statistics.gaps > 0 && !found.iter().all(|it| it.reply.is_some()), "{wire:?}: {statistics:?}");
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("cut.pcap");
        std::fs::write(&file, bytes).unwrap();
        let mut command = lockshift();
        command.arg("audit").arg(&file);
        let ended = done(command, ["--json"]);
        assert_eq!(ended.code, Some(3), "{wire:?}: {ended:?}");
        assert!(ended.stderr.contains("gaps: packets are missing"), "{ended:?}");
    }
}

#[test]
fn the_audit_reads_captures_of_several_servers_compressed_and_from_a_pipe() {
    let servers = [Server::start(), Server::start()];
    let recorded: Vec<_> = servers.iter().flat_map(|server| traffic(server, false).recorded()).collect();
    let bytes = capture_of(&recorded, Format::Pcapng, Wire::AsSent);
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    std::io::Write::write_all(&mut encoder, &bytes).unwrap();
    let gzip = encoder.finish().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trace");
    for bytes in [&bytes, &gzip] {
        std::fs::write(&file, bytes).unwrap();
        let mut command = lockshift();
        command.args(["audit", "-"]).stdin(std::fs::File::open(&file).unwrap());
        let output = command.arg("--json").output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let locks: Vec<_> = json["locks"].as_array().unwrap().iter().collect();
        assert_eq!(locks.len(), 2, "{json}");
        assert!(locks.iter().all(|it| it["acquisitions"] == 2 && it["refusals"] == 2 && it["database"] == 3), "{json}");
        assert_ne!(locks[0]["server"], locks[1]["server"]);
    }
    let mut command = lockshift();
    command.arg("audit").arg(&file);
    let text = done(command, [""; 0]).stdout;
    assert!(text.contains("lock (database 3) at 127.0.0.1:"), "{text}");
    let cut = &bytes[..bytes.len() - 30];
    std::fs::write(&file, cut).unwrap();
    let mut command = lockshift();
    command.arg("audit").arg(&file);
    let ended = done(command, [""; 0]);
    assert!(ended.code == Some(3) && ended.stderr.contains("ends in the middle of a packet"), "{ended:?}");
}

/// A client of a token lock behind this recorder.
fn token_client(recorder: &Recorder, key: &str) -> Lock<redis::Connection> {
    let url = format!("redis://{}/", recorder.address());
    let connection = redis::Client::open(url.as_str()).unwrap().get_connection().unwrap();
    let choice: Choice = "token".parse().unwrap();
    let lease = lockshift::lock::Lease::new(std::time::Duration::from_secs(30)).unwrap();
    Lock::new(connection, choice.locker(key.into(), lease))
}

/// What `lockshift audit --json` says of what has passed.
fn audited(passed: &[recorder::Passed]) -> (Option<i32>, serde_json::Value) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trace.pcap");
    std::fs::write(&file, capture_of(passed, Format::Pcap, Wire::AsSent)).unwrap();
    let mut command = lockshift();
    command.arg("audit").arg(&file);
    let ended = done(command, ["--json"]);
    (ended.code, ended.json())
}

/// A key that goes away behind the capture's back: MONITOR's audit takes the second client for refused.
#[test]
fn a_reply_shows_the_double_hold_that_an_eviction_makes() {
    let server = Server::start();
    let recorder = Recorder::before(server.address());
    let [alice, bob] = [token_client(&recorder, "lock"), token_client(&recorder, "lock")];
    let Attempt::Won(first) = alice.try_acquire().unwrap() else { panic!("the key is free") };
    redis::cmd("DEL").arg("lock").exec(&mut server.connect()).unwrap();
    let Attempt::Won(second) = bob.try_acquire().unwrap() else { panic!("the key is gone") };
    let _ = second.release().unwrap();
    drop(first);
    let (code, json) = audited(&recorder.recorded());
    assert_eq!(code, Some(1), "{json}");
    assert_eq!(json["locks"][0]["acquisitions"], 2, "{json}");
    assert!(json["findings"][0]["says"].as_str().unwrap().contains(" holds since "), "{json}");
}

/// A replica is promoted while its master goes on. Clients reach both by one address, as behind a virtual one. What was
/// replicated before is still held; of what the old master has accepted since, the new one knows nothing.
#[test]
fn the_lock_that_a_failover_loses_is_found_and_the_replicated_one_is_not() {
    let [master, replica] = [Server::start(), Server::start()];
    let mut promoted = replica.connect();
    let at = master.address();
    redis::cmd("REPLICAOF").arg(at.ip().to_string()).arg(at.port()).exec(&mut promoted).unwrap();
    until("the replica is up to date", || {
        let info: String = redis::cmd("INFO").arg("replication").query(&mut promoted).unwrap();
        info.contains("master_link_status:up").then_some(())
    });
    let [before, after] = [Recorder::before(at), Recorder::before(replica.address())];
    let clients = |key| [token_client(&before, key), token_client(&before, key), token_client(&after, key)];
    let [alice, _, bob] = clients("replicated");
    let Attempt::Won(kept) = alice.try_acquire().unwrap() else { panic!("the key is free") };
    until("the lock is replicated", || {
        redis::cmd("EXISTS").arg("replicated").query::<bool>(&mut promoted).unwrap().then_some(())
    });
    redis::cmd("REPLICAOF").arg("NO").arg("ONE").exec(&mut promoted).unwrap();
    assert!(matches!(bob.try_acquire().unwrap(), Attempt::Held(_)));

    let [carol, dave, erin] = clients("lost");
    let Attempt::Won(lost) = carol.try_acquire().unwrap() else { panic!("the key is free") };
    assert!(matches!(dave.try_acquire().unwrap(), Attempt::Held(_)));
    let Attempt::Won(second) = erin.try_acquire().unwrap() else { panic!("the new master does not know the lock") };
    let _ = second.release().unwrap();
    drop((kept, lost));

    let mut passed = [before.recorded(), after.recorded()].concat();
    passed.iter_mut().for_each(|passed| passed.server = at);
    passed.sort_by_key(|passed| passed.at);
    let (code, json) = audited(&passed);
    assert_eq!(code, Some(1), "{json}");
    let findings = json["findings"].as_array().unwrap();
    let found: Vec<_> = findings.iter().map(|it| (&it["key"], &it["race"], &it["certainty"])).collect();
    assert_eq!(found, [(&"lost".into(), &serde_json::Value::Null, &"possible".into())], "{json}");
    let locks = json["locks"].as_array().unwrap();
    let counts = |key: &str| locks.iter().find(|it| it["key"] == key).map(|it| [&it["acquisitions"], &it["refusals"]]);
    assert_eq!(counts("replicated"), Some([&1.into(), &1.into()]), "{json}");
    assert_eq!(counts("lost"), Some([&2.into(), &1.into()]), "{json}");
}
