//! What the simulated server costs: one command, one script, one copy.
//!
//! `cargo bench --bench simulated`.

use divan::{Bencher, black_box};
use lockshift::sim::{Flavour, Server, Session};
use lockshift::wire::{Command, UnixTime};

const NOON: UnixTime = UnixTime::from_nanos(43_200_000_000_000);
const RELEASE: &str =
    "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end";

fn main() {
    divan::main();
}

fn call(server: &mut Server, command: &Command) {
    black_box(server.call(Session(1), black_box(command), NOON));
}

/// A server with a lock on it, a script in its library, and a connection that watches.
fn busy() -> Server {
    let mut server = Server::new(Flavour::Redis70);
    call(&mut server, &set());
    call(&mut server, &Command::new("SCRIPT").arg("LOAD").arg(RELEASE));
    call(&mut server, &Command::new("WATCH").arg("other"));
    server
}

fn set() -> Command {
    Command::new("SET").arg("lock").arg("0123456789abcdef0123456789abcdef").arg("PX").arg("30000")
}

#[divan::bench]
fn get(bencher: Bencher<'_, '_>) {
    let mut server = busy();
    let command = Command::new("GET").arg("lock");
    bencher.bench_local(|| call(&mut server, &command));
}

#[divan::bench]
fn set_with_expiry(bencher: Bencher<'_, '_>) {
    let mut server = busy();
    let command = set();
    bencher.bench_local(|| call(&mut server, &command));
}

#[divan::bench]
fn compare_and_delete_in_lua(bencher: Bencher<'_, '_>) {
    let mut server = busy();
    let command = Command::new("EVAL").arg(RELEASE).arg("1").arg("lock").arg("another owner");
    bencher.bench_local(|| call(&mut server, &command));
}

#[divan::bench]
fn copy(bencher: Bencher<'_, '_>) {
    let server = busy();
    bencher.bench_local(|| black_box(&server).clone());
}
