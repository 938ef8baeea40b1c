//! `lockshift watch`: locks, holders, waiters and races as they happen.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

use lockshift::race_id::RaceId;
use redis::{Commands, cmd};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::command::{Running, done, lockshift, lockshift_at};
use crate::guard::server_secs;
use crate::guard_process::GuardProcess;
use crate::patience::{now, pause, until};
use crate::server::{Options, Server};

const FLEET: &str = "tests/traces/php-fleet.log";

/// An address that is free.
fn address() -> String {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
}

/// The metrics at this address; nothing while it does not listen.
fn metrics(address: &str) -> Option<String> {
    let mut stream = TcpStream::connect(address).ok()?;
    write!(stream, "GET /metrics HTTP/1.1\r\nHost: watch\r\nConnection: close\r\n\r\n").ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    answer.starts_with("HTTP/1.1 200 OK").then_some(answer)
}

#[test]
fn a_recorded_trace_is_shown_as_the_audit_counts_it() {
    let ended = done(lockshift(), ["watch", FLEET, "--json"]);
    assert_eq!(ended.code, Some(1), "a race happened: {ended:?}");
    let events: Vec<Value> = ended.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let count = |name: &str| events.iter().filter(|event| event["event"] == name).count();
    let audited = done(lockshift(), ["audit", FLEET, "--json"]).json();
    assert_eq!(audited["locks"][0]["acquisitions"], count("acquired"));
    assert_eq!(audited["locks"][0]["releases"], count("released"));
    let found: Vec<_> = events.iter().filter(|event| event["event"] == "finding").map(|event| &event["race"]).collect();
    assert_eq!(found.last(), Some(&&Value::from("ttl-is-not-ownership")), "{found:?}");
    let text = done(lockshift(), ["watch", FLEET]).stdout;
    assert_eq!(text.lines().count(), events.len(), "a line for each event");
    assert!(!text.contains('\x1b'), "no colours and no page without a terminal");
}

#[test]
fn a_pipe_is_read_to_its_end_and_random_bytes_are_no_all_clear() {
    for (file, code) in [(FLEET, 1), ("Cargo.toml", 3)] {
        let output = lockshift().args(["watch", "-"]).stdin(fs::File::open(file).unwrap()).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{file}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

/// A holder and a waiter on a real server are in the metrics, and every metric that the dashboard names is exported.
#[test]
fn holders_and_waiters_are_exported_and_the_dashboard_names_what_exists() {
    let server = Server::start();
    let [watched, admin] = [address(), address()];
    // What MONITOR costs depends on the machine, and is not what this is about.
    let watch = ["watch", "--json", "--metrics", &watched, "--max-cost", "100"];
    let running = Running::start(lockshift_at(&server), watch);
    until("it watches", || {
        let listed: String = cmd("CLIENT").arg("LIST").query(&mut server.connect()).unwrap();
        listed.contains("cmd=monitor").then_some(())
    });
    // A counter that appeared with its first race would not have increased by that.
    let before = until("it answers", || metrics(&watched));
    for race in RaceId::ALL.iter().map(|race| race.name()).chain(["unnamed"]) {
        for certainty in ["possible", "likely", "certain"] {
            let line = format!("lockshift_watch_findings_total{{race=\"{race}\",certainty=\"{certainty}\"}} 0");
            assert!(before.lines().any(|other| other == line), "{line}: {before}");
        }
    }
    let [mut holder, mut waiter] = [server.connect(), server.connect()];
    let now = server_secs(&mut holder);
    assert!(holder.set_nx::<_, _, bool>("lock:a", now + 60).unwrap());
    until("both are seen", || {
        assert!(!waiter.set_nx::<_, _, bool>("lock:a", now + 70).unwrap());
        let _: String = waiter.get("lock:a").unwrap();
        let metrics = metrics(&watched)?;
        let has = |line: &str| metrics.lines().any(|other| other == line);
        (has("lockshift_watch_held_locks 1.0") && has("lockshift_watch_waiters 1.0")).then_some(())
    });
    cmd("FLUSHALL").exec(&mut server.connect()).unwrap();
    let exported = until("a deletion from outside is seen", || {
        let happened = |line: &str| line.starts_with("lockshift_watch_findings_total{") && !line.ends_with(" 0");
        metrics(&watched).filter(|metrics| metrics.lines().any(happened))
    });
    let rules = [("lock:*".to_owned(), "php-getset")];
    let _guard = GuardProcess::start(&server.url(), &rules, &["--admin", &admin]);
    let of_guard = until("the guard answers", || metrics(&admin));
    let dashboard = fs::read_to_string("packaging/grafana/lockshift.json").unwrap();
    let _: Value = serde_json::from_str(&dashboard).unwrap();
    let name = |text: &str| text.chars().take_while(|it| it.is_ascii_lowercase() || *it == '_').collect::<String>();
    let named: BTreeSet<_> = dashboard.match_indices("lockshift_").map(|(at, _)| name(&dashboard[at..])).collect();
    assert!(named.len() >= 12, "{named:?}");
    let types = format!("{exported}{of_guard}");
    let types: BTreeSet<&str> =
        types.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next()).collect();
    let base =
        |name: &str| ["_total", "_bucket"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name).to_owned();
    let missing: Vec<_> = named.iter().filter(|name| !types.contains(base(name).as_str())).collect();
    assert!(missing.is_empty(), "{missing:?} are not among {types:?}");
    let by_kind = format!("{exported}{of_guard}");
    let by_kind = by_kind.lines().filter(|line| line.contains("{race=") || line.contains("{reason="));
    let unseen: BTreeSet<_> = by_kind.map(name).filter(|name| !named.contains(name)).collect();
    assert!(unseen.is_empty(), "no panel shows {unseen:?}");

    running.signal(Signal::TERM);
    let ended = running.done();
    assert_eq!(ended.code, Some(1), "a race happened: {ended:?}");
    let first: Value = serde_json::from_str(ended.stdout.lines().next().unwrap()).unwrap();
    assert_eq!((&first["event"], &first["key"]), (&"acquired".into(), &"lock:a".into()), "{first}");
}

/// Of a server at rest nothing is known that a command costs without MONITOR, so all of its processor time counts.
#[test]
fn a_watch_that_costs_more_than_allowed_stops_and_says_so() {
    let server = Server::start();
    let ended = done(lockshift_at(&server), ["watch", "--max-cost", "0"]);
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(ended.stderr.contains("stopped: MONITOR costs the server up to"), "{ended:?}");
}

fn until_monitored(server: &Server) {
    let mut operator = server.connect();
    until("MONITOR runs", || {
        let clients: String = cmd("CLIENT").arg("LIST").query(&mut operator).unwrap();
        clients.contains("cmd=monitor").then_some(())
    });
}

#[test]
fn a_watch_ends_when_the_reader_of_its_output_has_gone() {
    let server = Server::start();
    let mut watching = lockshift_at(&server).arg("watch").stdout(Stdio::piped()).spawn().unwrap();
    until_monitored(&server);
    drop(watching.stdout.take());
    let mut client = server.connect();
    let status = until("it ends with its next event", || {
        cmd("SET")
            .arg("lock")
            .arg("5ca1ab1e5ca1ab1e5ca1ab1e5ca1ab1e")
            .arg("NX")
            .arg("PX")
            .arg(100)
            .exec(&mut client)
            .unwrap();
        watching.try_wait().unwrap()
    });
    assert_eq!(status.code(), Some(0));
}

#[test]
fn a_watch_of_a_server_that_hangs_ends_in_time() {
    let server = Server::start();
    let watching = Running::start(lockshift_at(&server), ["watch", "--for", "5s"]);
    until_monitored(&server);
    server.pause();
    let began = now();
    let ended = watching.done();
    server.resume();
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}: {ended:?}", began.elapsed());
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

/// What a server replies to these words; nothing, if it hangs.
type Replying = Arc<dyn Fn(&[String]) -> Option<String> + Send + Sync>;

fn server_that_replies(reply: impl Fn(&[String]) -> Option<String> + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("redis://{}/", listener.local_addr().unwrap());
    let reply: Replying = Arc::new(reply);
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let reply = Arc::clone(&reply);
            std::thread::spawn(move || {
                let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
                let mut line = move || lines.next();
                // The count of the words, and the length of each before it.
                while let Some(count) = line() {
                    let count: usize = count[1..].parse().unwrap();
                    let words: Vec<String> = (0..count).filter_map(|_| line().and_then(|_| line())).collect();
                    let reply = reply(&words).unwrap_or_default();
                    if (&stream).write_all(reply.as_bytes()).is_err() {
                        return;
                    }
                }
            });
        }
    });
    url
}

fn bulk(text: &str) -> String {
    format!("${}\r\n{text}\r\n", text.len())
}

/// What every server here replies to these words.
fn usual_reply(words: &[String]) -> String {
    match words {
        [name, ..] if name == "INFO" => bulk("used_cpu_sys:1.0\r\nused_cpu_user:1.0\r\n"),
        [name, what, ..] if name == "CLIENT" && what == "ID" => ":7\r\n".to_owned(),
        _ => "+OK\r\n".to_owned(),
    }
}

/// A server that says that so many bytes wait for the connection that runs MONITOR.
fn full_server(waiting_bytes: u64) -> String {
    server_that_replies(move |words| match words {
        [name, what, _, number] if name == "CLIENT" && what == "LIST" => {
            assert_eq!(number, "7", "it asks for its own connection");
            Some(bulk(&format!("id=7 cmd=monitor qbuf=0 omem={waiting_bytes} events=rw\n")))
        }
        _ => Some(usual_reply(words)),
    })
}

#[test]
fn a_server_that_hangs_when_monitor_has_begun_is_watched_to_the_end() {
    let hangs = AtomicBool::new(false);
    let url = server_that_replies(move |words| {
        let is_monitor = words == ["MONITOR"];
        (!hangs.fetch_or(is_monitor, SeqCst)).then(|| usual_reply(words))
    });
    let ended = Running::start(lockshift(), ["watch", "--redis", &url, "--for", "5s"]).done();
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

/// A server that does not answer MONITOR, and whether that was sent.
fn server_deaf_to_monitor() -> (String, Arc<AtomicBool>) {
    let asked = Arc::new(AtomicBool::new(false));
    let was_asked = Arc::clone(&asked);
    let url = server_that_replies(move |words| {
        let is_monitor = words == ["MONITOR"];
        asked.fetch_or(is_monitor, SeqCst);
        (!is_monitor).then(|| usual_reply(words))
    });
    (url, was_asked)
}

#[test]
fn a_server_that_does_not_answer_monitor_is_reported() {
    for verb in ["watch", "record"] {
        let (url, was_asked) = server_deaf_to_monitor();
        let ended = Running::start(lockshift(), [verb, "--redis", &url]).done();
        assert_eq!(ended.code, Some(3), "{verb}: {ended:?}");
        assert!(was_asked.load(SeqCst), "{verb}: {ended:?}");
    }
}

#[test]
fn a_signal_is_not_kept_waiting_for_a_server_that_does_not_answer() {
    for verb in ["watch", "record"] {
        let (url, was_asked) = server_deaf_to_monitor();
        let running = Running::start(lockshift(), [verb, "--redis", &url]);
        until("MONITOR is sent", || was_asked.load(SeqCst).then_some(()));
        let began = now();
        running.signal(Signal::TERM);
        let ended = running.done();
        assert!(began.elapsed() < Duration::from_secs(3), "{verb}: {:?}: {ended:?}", began.elapsed());
        assert_eq!(ended.code, None, "{verb}: it died by the signal: {ended:?}");
    }
}

/// Its output has a reader that reads nothing: the first request to end waits, and the second does not.
#[test]
fn a_second_signal_ends_what_nobody_reads() {
    let server = Server::start();
    let mut recording = lockshift_at(&server).arg("record").stdout(Stdio::piped()).spawn().unwrap();
    until_monitored(&server);
    let mut client = server.connect();
    cmd("ECHO").arg("begun").exec(&mut client).unwrap();
    // It has begun to write, so that it listens for signals.
    recording.stdout.as_mut().unwrap().read_exact(&mut [0; 10]).unwrap();
    let text = "x".repeat(1 << 16);
    for _ in 0..64 {
        cmd("ECHO").arg(&text).exec(&mut client).unwrap();
    }
    let id = Pid::from_child(&recording);
    kill_process(id, Signal::TERM).unwrap();
    pause(Duration::from_millis(1_500));
    assert_eq!(recording.try_wait().unwrap(), None, "it waits for its reader");
    let status = until("it ends", || {
        // It may have received the first one late.
        kill_process(id, Signal::TERM).unwrap();
        recording.try_wait().unwrap()
    });
    assert_eq!(status.code(), None, "it died by the signal: {status:?}");
}

#[test]
fn a_replica_is_refused_because_it_lists_no_attempts() {
    let master = Server::start();
    let replica = Server::with(&Options::new().replica_of(&master));
    for verb in ["watch", "record"] {
        let ended = Running::start(lockshift_at(&replica), [verb, "--for", "1s"]).done();
        assert_eq!(ended.code, Some(3), "{verb}: {ended:?}");
        assert!(ended.stderr.contains("is a replica"), "{verb}: {ended:?}");
    }
}

#[test]
fn a_watch_stops_while_more_than_64_mib_wait_in_the_server() {
    let watch = |waiting_bytes| {
        let mut command = lockshift();
        command.env("REDIS_URL", full_server(waiting_bytes));
        command
    };
    let ended = done(watch((64 << 20) + 1), ["watch"]);
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(ended.stderr.contains("stopped: more than 64 MiB of what MONITOR lists wait in the server"), "{ended:?}");
    let ended = done(watch(64 << 20), ["watch", "--for", "1500ms"]);
    assert_eq!(ended.code, Some(0), "as much may wait: {ended:?}");
}
