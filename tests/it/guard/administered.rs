//! `--admin`: metrics for Prometheus, and whether the guard can serve.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use lockshift::race_id::RaceId;
use redis::Commands;

use super::server_secs;
use crate::guard_process::GuardProcess;
use crate::patience::until;
use crate::proxy::{MessageFault, Proxy};
use crate::schemas::conforms;
use crate::server::Server;

pub(super) fn get(port: u16, request: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    write!(stream, "{request} HTTP/1.1\r\nHost: guard\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// The body of an answer.
pub(super) fn body(port: u16, path: &str) -> String {
    let answer = get(port, &format!("GET {path}"));
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 OK"), "{head}");
    body.to_owned()
}

/// Everything that can happen to a lock happens, and is counted as often.
#[test]
fn counts_are_what_happened() {
    let mut server = Server::start();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let rules = [("lock:*".to_owned(), "php-getset")];
    let guard = GuardProcess::start(&server.url(), &rules, &["--json", "--admin", &format!("127.0.0.1:{port}")]);
    let [mut slow, mut next, mut leaving] = [guard.connect(), guard.connect(), guard.connect()];
    let at = server_secs(&mut slow);
    // Acquired, refused, released.
    assert_eq!(slow.set_nx("lock:a", at + 30), Ok(true));
    assert_eq!(next.set_nx("lock:a", at + 30), Ok(false));
    assert_eq!(next.del("lock:a"), Ok(0), "it is not its own");
    assert_eq!(slow.del("lock:a"), Ok(1));
    // The attempt took longer than its lease.
    assert_eq!(next.set_nx("lock:late", at - 5), Ok(false));
    // The lease ends, the next client acquires, and the first one deletes too late.
    let short = server_secs(&mut slow) + 1;
    assert_eq!(slow.set_nx("lock:b", short), Ok(true));
    let mut refused = 0;
    until("the lease has ended", || {
        let value = server_secs(&mut next) + 30;
        let has_won: bool = next.set_nx("lock:b", value).unwrap();
        refused += u64::from(!has_won);
        has_won.then_some(())
    });
    assert_eq!(slow.del("lock:b"), Ok(0), "it was lost");
    // An attempt of a holder, and a stamp that a crashed client left.
    assert_eq!(next.set_nx("lock:b", at + 30), Ok(false));
    server.connect().set::<_, _, ()>("lock:left", "1700000000").unwrap();
    assert_eq!(leaving.set_nx("lock:left", at + 300), Ok(true));
    drop(leaving);

    // The lock may have ended with its key or with its stamp.
    let counted = |status: &serde_json::Value, name: &str| status[name].as_u64().unwrap();
    let status = until("the holder's end is counted", || {
        let status: serde_json::Value = serde_json::from_str(&body(port, "/status")).unwrap();
        (counted(&status, "holders_disconnected") == 1).then_some(status)
    });
    assert_eq!(counted(&status, "acquired") + counted(&status, "taken_over"), 4, "{status}");
    for (name, count) in [
        ("connections", 3),
        ("open_connections", 2),
        ("refused", 3 + refused),
        ("released", 1),
        ("lost", 1),
        ("deletions_prevented", 2),
        ("attempts_while_holding", 1),
        ("renewed", 0),
        ("lost_while_holding", 0),
        ("overruns", 1),
    ] {
        assert_eq!(counted(&status, name), count, "{name}: {status}");
    }
    assert_eq!(status["prevented"], serde_json::json!({"late-unlock": 1, "overrun": 1}));
    assert_eq!(status["found"], serde_json::json!({}));

    let metrics = get(port, "GET /metrics");
    assert!(metrics.starts_with("HTTP/1.1 200 OK\r\nContent-Type: application/openmetrics-text"), "{metrics}");
    let has = |line: &str| assert!(metrics.lines().any(|other| other == line), "{line}: {metrics}");
    for (name, value) in status.as_object().unwrap() {
        match value.as_u64() {
            Some(count) if name.contains("connections_") || name.ends_with("_connections") => {
                has(&format!("lockshift_guard_{name} {count}"))
            }
            Some(count) => has(&format!("lockshift_guard_{name}_total {count}")),
            None => {}
        }
    }
    has("lockshift_guard_prevented_total{race=\"late-unlock\"} 1");
    has("lockshift_guard_prevented_total{race=\"overrun\"} 1");
    // Every SETNX and DEL on a guarded key.
    has(&format!("lockshift_guard_answer_seconds_count {}", 10 + refused));
    has("# EOF");

    drop((slow, next));
    guard.terminate();
    let last: serde_json::Value = serde_json::from_slice(&guard.done().0.stdout).unwrap();
    assert_eq!((&last["connections"], &last["open_connections"]), (&3.into(), &0.into()), "{last}");
    server.kill();
}

/// Another guard's client acquires between the look of this guard at the lock and its takeover.
#[test]
fn every_double_takeover_that_the_guard_prevents_is_counted_once() {
    let server = Server::start();
    let between = Proxy::before(&server);
    let rules = [("lock:*".to_owned(), "php-getset")];
    let ports = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port());
    let admin = ports.map(|port| format!("127.0.0.1:{port}"));
    let guard = GuardProcess::start(&between.url(), &rules, &["--admin", &admin[0]]);
    let faster = GuardProcess::start(&server.url(), &rules, &["--admin", &admin[1]]);
    let (mut client, mut direct) = (guard.connect(), server.connect());
    let stamp = server_secs(&mut direct) + 300;
    // The server knows the guard's scripts from now on: a takeover is two messages, the first of which finds the expired stamp.
    assert_eq!((client.set_nx("lock:first", stamp), client.del("lock:first")), (Ok(true), Ok(1)));

    for (key, left_behind) in [("lock:expired", 1_700_000_000), ("lock:b", 1)] {
        direct.set::<_, _, ()>(key, left_behind).unwrap();
        let mut other = faster.connect();
        let acquire = move || assert_eq!(other.set_nx(key, stamp), Ok(true));
        between.strike(1, MessageFault::First(Box::new(acquire)));
        assert_eq!(client.set_nx(key, stamp), Ok(false), "{key}");
        assert!(!between.spare(), "{key}: the other client acquired before the takeover");
    }
    // It finds the lock held: nothing is prevented.
    assert_eq!(client.set_nx("lock:b", stamp), Ok(false));

    let [status, of_faster] =
        ports.map(|port| -> serde_json::Value { serde_json::from_str(&body(port, "/status")).unwrap() });
    assert_eq!(status["prevented"], serde_json::json!({"double-takeover": 2}), "{status}");
    assert_eq!((&status["acquired"], &status["refused"]), (&1.into(), &3.into()), "{status}");
    assert_eq!(of_faster["prevented"], serde_json::json!({}), "{of_faster}");
    assert_eq!((&of_faster["acquired"], &of_faster["taken_over"]), (&0.into(), &2.into()), "{of_faster}");
}

/// A counter that appeared with its first event would not have increased by that.
#[test]
fn every_kind_of_race_and_refusal_is_counted_from_the_start() {
    let server = Server::start();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let rules = [("lock:*".to_owned(), "php-getset")];
    let _guard = GuardProcess::start(&server.url(), &rules, &["--admin", &format!("127.0.0.1:{port}")]);
    let metrics = body(port, "/metrics");
    let found = RaceId::ALL.iter().map(|race| race.name()).chain(["unexplained"]);
    let prevented = ["double-takeover", "late-unlock", "overrun"];
    let refusals = ["unreachable", "ended", "CertificateRequired", "UnknownCA", "DecryptError", "unknown"];
    let found = found.map(|race| format!("found_total{{race=\"{race}\"}}"));
    let prevented = prevented.into_iter().map(|race| format!("prevented_total{{race=\"{race}\"}}"));
    let refusals = refusals.into_iter().map(|reason| format!("server_refusals_total{{reason=\"{reason}\"}}"));
    for counter in found.chain(prevented).chain(refusals) {
        let line = format!("lockshift_guard_{counter} 0");
        assert!(metrics.lines().any(|other| other == line), "{line}: {metrics}");
    }
}

#[test]
fn health_follows_the_server_and_other_requests_are_refused() {
    let mut server = Server::start();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let rules = [("lock:*".to_owned(), "php-getset")];
    let _guard = GuardProcess::start(&server.url(), &rules, &["--admin", &format!("127.0.0.1:{port}")]);
    assert!(get(port, "GET /healthz").starts_with("HTTP/1.1 200 OK"));
    assert!(get(port, "GET /").starts_with("HTTP/1.1 404"));
    assert!(get(port, "POST /metrics").starts_with("HTTP/1.1 405"));
    server.kill();
    assert!(get(port, "GET /healthz").starts_with("HTTP/1.1 503"));
}

/// It accepts connections, and may be any program.
#[test]
fn a_server_that_does_not_answer_is_not_healthy() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let rules = [("lock:*".to_owned(), "php-getset")];
    let server = format!("redis://{}/", silent.local_addr().unwrap());
    let _guard = GuardProcess::start(&server, &rules, &["--admin", &format!("127.0.0.1:{port}")]);
    let health = get(port, "GET /healthz");
    assert!(health.starts_with("HTTP/1.1 503") && health.contains("does not answer within"), "{health}");
}

#[test]
fn the_mode_is_shown_and_how_many_connections_have_the_one_before() {
    let server = Server::start();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("guard.toml");
    let write = |mode: &str| std::fs::write(&path, format!("mode = \"{mode}\"\n")).unwrap();
    write("protect");
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let rules = [("lock:*".to_owned(), "php-getset")];
    let args = ["--admin", &format!("127.0.0.1:{port}"), "--config", &path.display().to_string()];
    let guard = GuardProcess::start(&server.url(), &rules, &args);
    let [mut holder, _idle] = [guard.connect(), guard.connect()];
    let stamp = server_secs(&mut holder) + 30;
    assert_eq!(holder.set_nx("lock:a", stamp), Ok(true));
    let status = || -> serde_json::Value { serde_json::from_str(&body(port, "/status")).unwrap() };
    let shown = |status: &serde_json::Value| {
        (status["guards"].clone(), status["connections_with_old_settings"].as_u64().unwrap())
    };
    let guards = |mode: &str| serde_json::json!([{ "pattern": "lock:*", "mode": mode }]);
    assert_eq!(shown(&status()), (guards("protect"), 0));
    write("bridge");
    guard.signal(rustix::process::Signal::HUP);
    guard.until_message(
        "(mode bridge); connections that keep the old settings, as their clients hold locks or try to: 1",
    );
    let now = status();
    assert_eq!(shown(&now), (guards("bridge"), 1));
    conforms("guard", &now);
    let metrics = body(port, "/metrics");
    for line in ["guards{pattern=\"lock:*\",mode=\"bridge\"} 1", "connections_with_old_settings 1"] {
        assert!(metrics.contains(&format!("\nlockshift_guard_{line}\n")), "{line}: {metrics}");
    }
    assert_eq!(holder.del("lock:a"), Ok(1));
    assert_eq!(shown(&status()), (guards("bridge"), 0));
}
