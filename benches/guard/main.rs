//! The guard as a proxy: beside the server itself, HAProxy in TCP mode and nutcracker, if they are installed, in one run.
//!
//! Every side takes its turn in each round, so whatever else the machine does meets all alike; the ratio of a round is to the
//! server itself, and medians are printed. Requests are made by `redis-benchmark`, on a key that is not guarded. A lock cycle
//! is SETNX, EXPIRE and DEL of php-getset on a guarded key. `cargo bench --bench guard` prints a table for
//! `docs/benchmarks.md`.

#[path = "../measure/server.rs"]
mod server;

mod cycle;
mod load;
mod memory;
mod paced;
mod sides;

use self::sides::{Side, started};

const ROUNDS: usize = 7;

fn main() {
    let (_server, client) = server::started();
    drop(server::connected(&client));
    let sides = started(&client);
    println!("| | {} |", sides.iter().map(|side| side.name).collect::<Vec<_>>().join(" | "));
    println!("|---|{}", "---|".repeat(sides.len()));

    let alone = rates("requests/s, no pipeline", &sides, |side| load::requests_per_second(side.port, 1, 60_000));
    rates("requests/s, pipelines of 16", &sides, |side| load::requests_per_second(side.port, 16, 480_000));
    let locking: Vec<&Side> = sides.iter().filter(|side| side.is_server || side.is_guard).collect();
    rates("lock cycles/s, 16 clients", &locking, |side| cycle::cycles_per_second(side.port));

    // Half of what the slowest side delivers.
    let half = alone.iter().copied().fold(f64::MAX, f64::min) / 2.0;
    let mut p99: Vec<Vec<f64>> = vec![Vec::new(); sides.len()];
    for _ in 0..ROUNDS {
        for (side, times) in sides.iter().zip(&mut p99) {
            times.push(paced::p99_micros(side.port, half));
        }
    }
    let cells: Vec<_> = p99.into_iter().map(|times| format!("{:.0} us", median(times))).collect();
    println!("| p99 at {:.0} requests/s | {} |", half, cells.join(" | "));

    let guard = sides.iter().find(|side| side.is_guard).expect("it is one of them");
    memory::print(guard);
}

/// Measures every side in each round, and prints the medians with the ratio to the first side. Returns the medians.
fn rates<'a>(
    what: &str,
    sides: impl IntoIterator<Item = &'a (impl std::borrow::Borrow<Side> + 'a)>,
    measure: impl Fn(&Side) -> f64,
) -> Vec<f64> {
    let sides: Vec<&Side> = sides.into_iter().map(std::borrow::Borrow::borrow).collect();
    let mut rounds: Vec<Vec<f64>> = Vec::new();
    for round in 0..ROUNDS {
        let mut rates = vec![0.0; sides.len()];
        // Another side begins each round.
        for place in (0..sides.len()).map(|place| (place + round) % sides.len()) {
            rates[place] = measure(sides[place]);
        }
        rounds.push(rates);
    }
    let column = |place: usize| rounds.iter().map(|rates| rates[place]).collect::<Vec<_>>();
    let medians: Vec<f64> = (0..sides.len()).map(|place| median(column(place))).collect();
    let ratio = |place: usize| median(rounds.iter().map(|rates| rates[place] / rates[0]).collect());
    let cells: Vec<_> = (0..sides.len()).map(|place| format!("{:.0} ({:.2})", medians[place], ratio(place))).collect();
    println!("| {what} | {} |", cells.join(" | "));
    medians
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
