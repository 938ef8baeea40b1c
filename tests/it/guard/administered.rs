//! `--admin`: metrics for Prometheus, and whether the guard can serve.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use redis::{Commands, cmd};

use crate::guard_process::GuardProcess;
use crate::server::Server;

fn get(port: u16, request: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    write!(stream, "{request} HTTP/1.1\r\nHost: guard\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn metrics_count_what_happened_and_health_follows_the_server() {
    let mut server = Server::start();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let rules = [("lock:*".to_owned(), "php-getset")];
    let guard = GuardProcess::start(&server.url(), &rules, &["--admin", &format!("127.0.0.1:{port}")]);
    let mut client = guard.connect();
    let (now, _): (i64, i64) = cmd("TIME").query(&mut client).unwrap();
    assert!(client.set_nx::<_, _, bool>("lock:a", now + 30).unwrap());
    assert_eq!(client.del("lock:a"), Ok(1));

    let metrics = get(port, "GET /metrics");
    assert!(metrics.starts_with("HTTP/1.1 200 OK\r\nContent-Type: application/openmetrics-text"), "{metrics}");
    for line in [
        "lockshift_guard_acquired_total 1",
        "lockshift_guard_released_total 1",
        "lockshift_guard_refused_total 0",
        "lockshift_guard_answer_seconds_count 2",
        "# EOF",
    ] {
        assert!(metrics.lines().any(|other| other == line), "{line}: {metrics}");
    }
    assert!(get(port, "GET /healthz").starts_with("HTTP/1.1 200 OK"));
    assert!(get(port, "GET /").starts_with("HTTP/1.1 404"));
    assert!(get(port, "POST /metrics").starts_with("HTTP/1.1 405"));
    server.kill();
    assert!(get(port, "GET /healthz").starts_with("HTTP/1.1 503"));
}
