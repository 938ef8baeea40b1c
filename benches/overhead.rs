//! What the blocking driver costs on top of the bare `redis` crate: one uncontended acquire and release of the token
//! lock, against the same two commands sent by hand, on one server, in one run.
//!
//! The two take turns in short rounds, and each round gives one ratio: whatever else the machine does meets both alike.
//! `cargo bench --bench overhead` prints the medians; they are times on this machine, the ratio is what matters.

#[path = "measure/server.rs"]
mod server;

use std::time::Duration;

use lockshift::driver::blocking::Lock;
use lockshift::driver::{Answer, Attempt, host};
use lockshift::lock::{Lease, Released};
use lockshift::modern::TokenLock;
use lockshift::wire::Key;
use redis::{Connection, Script, cmd};

const ROUNDS: usize = 600;
const CYCLES_PER_ROUND: u32 = 50;
const LEASE: Duration = Duration::from_secs(30);

fn main() {
    let (_server, client) = server::started();
    let connect = || server::connected(&client);
    let mut by_hand = ByHand::new(connect());
    let lock = Lock::new(connect(), TokenLock::new(Key::from("bench"), Lease::new(LEASE).expect("30 s is a lease")));
    let mut by_driver = || cycle(&lock);

    let mut rounds: Vec<_> = (0..ROUNDS).map(|round| pair(round, || by_hand.cycle(), &mut by_driver)).collect();
    let measured = rounds.split_off(ROUNDS / 10);

    let micros = |side: fn(&(f64, f64)) -> f64| median(measured.iter().map(side)) * 1e6;
    println!("bare redis crate   {:7.2} us per acquire and release", micros(|(bare, _)| *bare));
    println!("blocking driver    {:7.2} us per acquire and release", micros(|(_, driver)| *driver));
    println!(
        "ratio              {:7.4}    (median of {} paired rounds)",
        median(measured.iter().map(|(bare, driver)| driver / bare)),
        measured.len()
    );
}

/// One round of each, in an order that changes from round to round: seconds per cycle.
fn pair(round: usize, mut bare: impl FnMut(), mut driver: impl FnMut()) -> (f64, f64) {
    if round.is_multiple_of(2) {
        let bare = seconds_per_cycle(&mut bare);
        (bare, seconds_per_cycle(&mut driver))
    } else {
        let driver = seconds_per_cycle(&mut driver);
        (seconds_per_cycle(&mut bare), driver)
    }
}

fn seconds_per_cycle(cycle: &mut impl FnMut()) -> f64 {
    let began = host::mono();
    for _ in 0..CYCLES_PER_ROUND {
        cycle();
    }
    host::mono().saturating_since(began).as_secs_f64() / f64::from(CYCLES_PER_ROUND)
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<_> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn cycle(lock: &Lock<Connection>) {
    let Ok(Attempt::Won(guard)) = lock.try_acquire() else { panic!("no other client wants it") };
    assert!(matches!(guard.release(), Ok(Answer::Known(Released::Freed))));
}

/// The same two commands, as one writes them with the `redis` crate.
struct ByHand {
    connection: Connection,
    release: Script,
}

impl ByHand {
    fn new(connection: Connection) -> Self {
        let release =
            r#"if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) else return 0 end"#;
        Self { connection, release: Script::new(release) }
    }

    fn cycle(&mut self) {
        let Self { connection, release } = self;
        let token = "0123456789abcdef0123456789abcdef";
        let mut set = cmd("SET");
        set.arg("bench").arg(token).arg("NX").arg("PX").arg(30_000);
        assert_eq!(set.query(connection), Ok(true));
        assert_eq!(release.key("bench").arg(token).invoke(connection), Ok(1));
    }
}
