//! A fleet moves from its old locks to the token lock, under load: twenty processes, two keys, phase by phase and back.
//!
//! On `example:invoices` the old lock is PHP's: where `php` with the redis extension is installed, the old workers are
//! PHP (`locks.php`), and half of those who take their places as well; else this library speaks their dialect. On
//! `example:stock` it is Java's jedis-lock, spoken by this library. One worker after the other is stopped, and another
//! takes its place; all others go on. Every holder does a piece of work that only comes out right if nobody else does it
//! at the same time, and is counted in and out on a connection of its own.
//!
//! `REDIS_URL=redis://127.0.0.1/ cargo run --example migration`
//!
//! With `-- --skip-bridge` the new clients are deployed beside the old ones on the same key, as one would without a plan,
//! until two hold it at once. Exit status 1: two have held a lock at once, or work was lost.

mod course;
mod crew;
mod figures;
mod news;
mod role;
mod witness;
mod worker;

use std::error::Error;
use std::io;

use redis::Client;

use course::{SKIPPING_THE_BRIDGE, THE_WHOLE_WAY, walk};
use crew::Crew;
use role::{JOBS, Role};

fn main() -> Result<(), Box<dyn Error>> {
    let url = std::env::var("REDIS_URL").unwrap_or_else(|_| "redis://127.0.0.1/".into());
    let client = Client::open(url.as_str())?;
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] => walk(&THE_WHOLE_WAY, Crew::new(url, &client)?, &mut io::stdout()),
        ["--skip-bridge"] => walk(&SKIPPING_THE_BRIDGE, Crew::new(url, &client)?, &mut io::stdout()),
        ["worker", role, key, number] => {
            let role = Role::named(role).ok_or("no such role")?;
            let job = JOBS.iter().find(|job| job.key == *key).ok_or("no such job")?;
            worker::work(role, job, number, &client)
        }
        _ => Err("usage: migration [--skip-bridge]".into()),
    }
}
