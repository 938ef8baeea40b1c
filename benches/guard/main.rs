//! The guard as a proxy: beside the server itself, HAProxy in TCP mode and nutcracker, if they are installed, in one run.
//!
//! Every side takes its turn in each round, so whatever else the machine does meets all alike; the ratio of a round is to the
//! server itself, and medians are printed. Requests are made by `redis-benchmark`, on a key that is not guarded. A lock cycle
//! is SETNX, EXPIRE and DEL of php-getset on a guarded key. `cargo bench --bench guard` writes its section of
//! `docs/benchmarks.md`; `cargo bench --bench guard -- --short` takes a minute and only prints.

#[path = "../measure/server.rs"]
mod server;

mod cycle;
mod load;
mod memory;
mod paced;
mod page;
mod sides;

use self::sides::{Side, started};

fn main() {
    let is_short = std::env::args().any(|argument| argument == "--short");
    let rounds = if is_short { 1 } else { 7 };
    let (_server, client) = server::started();
    drop(server::connected(&client));
    let load_before = page::load_average();
    let sides = started(&client);
    let all: Vec<&Side> = sides.iter().collect();
    let locking: Vec<&Side> = sides.iter().filter(|side| side.is_server || side.is_guard).collect();

    let alone = measured(rounds, &all, |side| load::requests_per_second(side.port, 1, 60_000));
    let piped = measured(rounds, &all, |side| load::requests_per_second(side.port, 16, 480_000));
    let cycles = measured(rounds, &locking, |side| cycle::cycles_per_second(side.port));
    // Half of what the slowest side delivers.
    let half = alone.medians().into_iter().fold(f64::MAX, f64::min) / 2.0;
    let p99 = measured(rounds, &all, |side| paced::p99_micros(side.port, half));

    let guard = sides.iter().find(|side| side.is_guard).expect("it is one of them");
    let section = [
        page::machine(&load_before),
        page::head(&sides),
        page::row("requests/s", &sides, &all, &alone.rates()),
        page::row("requests/s, pipelines of 16", &sides, &all, &piped.rates()),
        page::row("lock cycles/s, 16 clients", &sides, &locking, &cycles.rates()),
        page::row(&format!("p99 at {half:.0} requests/s, added"), &sides, &all, &p99.added_micros()),
        format!("\n{}", memory::of_connections(guard)),
    ];
    println!("{}", section.join("\n"));
    if !is_short {
        page::write(&section.join("\n"));
    }
}

/// What was measured: each side's value in each round.
struct Measured(Vec<Vec<f64>>);

/// Measures every side in each round.
fn measured(rounds: usize, sides: &[&Side], measure: impl Fn(&Side) -> f64) -> Measured {
    let mut values = Vec::new();
    for round in 0..rounds {
        let mut of_round = vec![0.0; sides.len()];
        // Another side begins each round.
        for place in (0..sides.len()).map(|place| (place + round) % sides.len()) {
            of_round[place] = measure(sides[place]);
        }
        values.push(of_round);
    }
    Measured(values)
}

impl Measured {
    fn medians(&self) -> Vec<f64> {
        self.of_each(|values, place| values[place])
    }

    /// The median of each side, and of its ratio to the first one within a round.
    fn rates(&self) -> Vec<String> {
        let ratios = self.of_each(|values, place| values[place] / values[0]);
        self.medians().iter().zip(ratios).map(|(median, ratio)| format!("{median:.0} ({ratio:.2})")).collect()
    }

    /// The median of each side, and of what it adds to the first one within a round.
    fn added_micros(&self) -> Vec<String> {
        let added = self.of_each(|values, place| values[place] - values[0]);
        self.medians().iter().zip(added).map(|(median, added)| format!("{median:.0} us ({added:+.0})")).collect()
    }

    fn of_each(&self, value: impl Fn(&[f64], usize) -> f64) -> Vec<f64> {
        (0..self.0[0].len()).map(|place| median(self.0.iter().map(|values| value(values, place)).collect())).collect()
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
