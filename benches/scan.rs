//! `lockshift scan` beside `redis-cli --scan`, which only lists the keys: a server of a million keys, one in five hundred
//! of them a lock.
//!
//! The two take turns; each turn gives one ratio. `cargo bench --bench scan` prints the medians, and the most memory that
//! `lockshift scan` needed for a tenth of the keys and for all of them.

#[path = "measure/peak.rs"]
mod peak;
#[path = "measure/server.rs"]
mod server;

use std::process::{Command, Stdio};

use lockshift::driver::host;
use redis::{Connection, ConnectionAddr};

use peak::memory_kib;

const KEYS: u32 = 1_000_000;
const TURNS: usize = 7;

fn main() {
    let (server, client) = server::started();
    let ConnectionAddr::Tcp(host, port) = server.client_addr() else { panic!("it listens on a port") };
    let (url, port) = (format!("redis://{host}:{port}/"), port.to_string());
    let mut connection = server::connected(&client);
    fill(&mut connection, 0..KEYS / 10);
    let small = memory_kib(scanning(&url));
    fill(&mut connection, KEYS / 10..KEYS);

    let mut turns: Vec<_> = (0..TURNS).map(|_| (seconds(listing(&port)), seconds(scanning(&url)))).collect();
    turns.sort_by(|one, other| (one.1 / one.0).total_cmp(&(other.1 / other.0)));
    let (listing_s, scanning_s) = turns[TURNS / 2];
    println!("redis-cli --scan   {:9.0} keys/s", f64::from(KEYS) / listing_s);
    println!("lockshift scan     {:9.0} keys/s", f64::from(KEYS) / scanning_s);
    println!("rate               {:9.2}    of redis-cli's (median of {TURNS} turns)", listing_s / scanning_s);
    println!(
        "memory             {small:9} KiB at the most with {} keys, {} KiB with {KEYS}",
        KEYS / 10,
        memory_kib(scanning(&url))
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
                rest if rest < 450 => format!("{{\"user\":{number},\"name\":\"customer\",\"cart\":[1,2,3]}}"),
                rest if rest < 750 => (number % 4096).to_string(),
                rest if rest < 850 => "x".repeat(200),
                _ => format!("session-{number}"),
            };
            batch.cmd("SET").arg(format!("key:{number}")).arg(value).ignore();
        }
        batch.exec(connection).expect("it has memory enough");
    }
}
