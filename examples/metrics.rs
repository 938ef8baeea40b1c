//! What becomes of locks, in the text format of Prometheus. The library counts; how its numbers leave the program is the
//! program's own concern.
//!
//! `REDIS_URL=redis://127.0.0.1/ cargo run --example metrics`

use std::error::Error;
use std::fmt::{self, Write};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use lockshift::connect::{Server, blocking::Connection};
use lockshift::driver::blocking::{Lock, ReleaseListener};
use lockshift::driver::{Attempt, Counted, Counters, Wait};
use lockshift::lock::Lease;
use lockshift::modern::FairLock;

fn main() -> Result<(), Box<dyn Error>> {
    let url = std::env::var("REDIS_URL").unwrap_or_else(|_| "redis://127.0.0.1/".into());
    let server: Server = url.parse()?;
    let releases = ReleaseListener::new(server.client()?)?;
    let counters = Arc::new(Counters::default());

    let lease = Lease::new(Duration::from_secs(10))?;
    let workers = (0..4).map(|_| {
        let locker = FairLock::new("example:metrics".into(), lease);
        let lock = Lock::new(server.connect()?, locker).notified_by(&releases).counting(&counters);
        Ok(thread::spawn(move || work(&lock)))
    });
    for worker in workers.collect::<Result<Vec<_>, redis::RedisError>>()? {
        worker.join().expect("no worker panics")?;
    }
    print!("{}", exposition("example:metrics", counters.counted())?);
    Ok(())
}

fn work(lock: &Lock<Connection>) -> Result<(), lockshift::driver::Error> {
    for _ in 0..5 {
        if let Attempt::Won(guard) = lock.acquire(&Wait::notified().for_at_most(Duration::from_secs(5)))? {
            drop(guard);
        }
    }
    Ok(())
}

/// The counters of the locks on one key, as a scrape reads them.
fn exposition(key: &str, counted: Counted) -> Result<String, fmt::Error> {
    let counters = [
        ("lockshift_acquired_total", "Locks acquired.", counted.acquired as f64),
        ("lockshift_refused_total", "Waits that ended without the lock.", counted.refused as f64),
        ("lockshift_waited_seconds_total", "Time spent waiting.", counted.waited.as_secs_f64()),
        ("lockshift_held_seconds_total", "Time spent holding.", counted.held.as_secs_f64()),
        ("lockshift_lost_total", "Locks lost while they were held.", counted.lost as f64),
        ("lockshift_intruded_total", "Locks taken by older clients while they were held.", counted.intruded as f64),
    ];
    let mut text = String::new();
    for (name, help, value) in counters {
        writeln!(text, "# HELP {name} {help}\n# TYPE {name} counter\n{name}{{key=\"{key}\"}} {value}")?;
    }
    Ok(text)
}
