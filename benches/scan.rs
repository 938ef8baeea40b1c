//! `lockshift scan` beside `redis-cli --scan`, which only lists the keys: a server of a million keys, one in five hundred
//! of them a lock.
//!
//! The two take turns; each turn gives one ratio. `cargo bench --bench scan` prints the medians, and the most memory that
//! `lockshift scan` needed for a tenth of the keys and for all of them.

use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use lockshift::driver::host;
use redis::{Connection, ConnectionAddr};
use redis_test::server::RedisServer;

const KEYS: u32 = 1_000_000;
const TURNS: usize = 7;

fn main() {
    let server = RedisServer::new();
    let ConnectionAddr::Tcp(host, port) = server.client_addr() else { panic!("it listens on a port") };
    let (url, port) = (format!("redis://{host}:{port}/"), port.to_string());
    let mut connection = connected(&url);
    fill(&mut connection, 0..KEYS / 10);
    let small = memory_kib(&url);
    fill(&mut connection, KEYS / 10..KEYS);

    let mut turns: Vec<_> = (0..TURNS).map(|_| (seconds(listing(&port)), seconds(scanning(&url)))).collect();
    turns.sort_by(|one, other| (one.1 / one.0).total_cmp(&(other.1 / other.0)));
    let (listing, scanning) = turns[TURNS / 2];
    println!("redis-cli --scan   {:9.0} keys/s", f64::from(KEYS) / listing);
    println!("lockshift scan     {:9.0} keys/s", f64::from(KEYS) / scanning);
    println!("rate               {:9.2}    of redis-cli's (median of {TURNS} turns)", listing / scanning);
    println!(
        "memory             {small:9} KiB at the most with {} keys, {} KiB with {KEYS}",
        KEYS / 10,
        memory_kib(&url)
    );
}

fn listing(port: &str) -> Command {
    let mut command = Command::new("redis-cli");
    command.args(["-p", port, "--scan"]);
    command
}

fn scanning(url: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lockshift"));
    command.args(["scan", "--redis", url]);
    command
}

fn seconds(mut command: Command) -> f64 {
    let began = host::mono();
    let status = command.stdout(Stdio::null()).status().expect("it is installed");
    assert!(status.code().is_some_and(|code| code < 2), "{command:?} ended with {status}");
    host::mono().saturating_since(began).as_secs_f64()
}

/// The most memory that a scan had, as the system tells while it runs.
fn memory_kib(url: &str) -> u64 {
    let mut child = scanning(url).stdout(Stdio::null()).spawn().expect("it was built");
    let mut most = 0;
    while child.try_wait().expect("it is ours").is_none() {
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let peak =
            status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse().ok());
        most = most.max(peak.unwrap_or(0));
        host::sleep(Duration::from_millis(2));
    }
    most
}

/// What servers hold beside locks: documents, counters, pages, sessions.
fn fill(connection: &mut Connection, numbers: std::ops::Range<u32>) {
    let soon = host::wall().as_secs() + 3600;
    let numbers: Vec<_> = numbers.collect();
    for some in numbers.chunks(10_000) {
        let mut batch = redis::pipe();
        for number in some {
            let value = match number % 1000 {
                0 => soon.to_string(),
                500 => format!("{number:032x}"),
                rest if rest < 450 => format!("{{\"user\":{number},\"name\":\"somebody\",\"cart\":[1,2,3]}}"),
                rest if rest < 750 => (number % 4096).to_string(),
                rest if rest < 850 => "x".repeat(200),
                _ => format!("session-{number}"),
            };
            batch.cmd("SET").arg(format!("key:{number}")).arg(value).ignore();
        }
        batch.exec(connection).expect("it has memory enough");
    }
}

fn connected(url: &str) -> Connection {
    let client = redis::Client::open(url).expect("the address is well formed");
    loop {
        match client.get_connection() {
            Ok(connection) => return connection,
            Err(_) => host::sleep(Duration::from_millis(5)),
        }
    }
}
