//! A fleet moves from its old locks to the token lock, under load: twenty processes, two keys, phase by phase and back.
//!
//! On `example:invoices` the old lock is PHP's: where `php` with the redis extension is installed, the old workers are
//! PHP (`locks.php`), and so are two of three replacements, by the same file or by the package `clients/php`. On
//! `example:stock` it is Java's: after `tests/interop/prepare jedis-lock` and `tests/interop/prepare lockshift-jedis` the old
//! workers are the published jedis-lock, and every second replacement is the package `clients/java`. All other workers are
//! this library, which otherwise speaks the old dialects too. Workers are replaced one after the other while all others go
//! on. Each holder does a piece of work that is lost if another worker does it at the same time, and a witness on a
//! connection of its own counts the holders.
//!
//! `REDIS_URL=redis://127.0.0.1/ cargo run --example migration`
//!
//! With `-- --guard` the old workers are never changed: they are started again with the address of a guard in bridge mode,
//! and the new workers with the token lock beside them.
//!
//! With `-- --skip-bridge` the new clients are deployed beside the old ones on the same key, without a plan,
//! until two workers hold it at once. Exit status 1: two workers held a lock at once, or work was lost.

mod crew;
mod guarded_address;
mod hold_report;
mod java;
mod phases;
mod program;
mod role;
mod statistics;
mod witness;
mod worker;

use std::error::Error;
use std::io;

use redis::Client;

use crew::Crew;
use phases::{BEHIND_GUARD, WHOLE_MIGRATION, WITHOUT_BRIDGE, walk};
use role::{JOBS, Role};

fn main() -> Result<(), Box<dyn Error>> {
    let url = std::env::var("REDIS_URL").unwrap_or_else(|_| "redis://127.0.0.1/".into());
    let client = Client::open(url.as_str())?;
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] => walk(&WHOLE_MIGRATION, Crew::new(url, &client)?, &mut io::stdout()),
        ["--guard"] => walk(&BEHIND_GUARD, Crew::new(url, &client)?.behind_guard()?, &mut io::stdout()),
        ["--skip-bridge"] => walk(&WITHOUT_BRIDGE, Crew::new(url, &client)?, &mut io::stdout()),
        ["worker", role, key, number] => {
            let role = Role::named(role).ok_or("no such role")?;
            let job = JOBS.iter().find(|job| job.key == *key).ok_or("no such job")?;
            worker::work(role, job, number, &url)
        }
        _ => Err("usage: migration [--guard | --skip-bridge]".into()),
    }
}
