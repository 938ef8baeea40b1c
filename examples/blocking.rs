//! A job that at most one machine runs at a time, from a program with threads.
//!
//! `REDIS_URL=redis://127.0.0.1/ cargo run --example blocking`

use std::error::Error;
use std::process::ExitCode;
use std::time::Duration;

use lockshift::Locks;
use lockshift::locks::{AcquireError, Held};

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let url = std::env::var("REDIS_URL").unwrap_or_else(|_| "redis://127.0.0.1/".into());
    let locks = Locks::connect(&url)?;
    // Renewed for as long as the job takes, but not for ever if it hangs.
    let lock = locks.token("example:job", Duration::from_secs(10))?.held_for_at_most(Duration::from_secs(3600));
    match lock.acquire_within(Duration::from_secs(5)) {
        Ok(held) => job(held),
        Err(AcquireError::Timeout(_)) => {
            println!("another machine runs the job");
            Ok(ExitCode::SUCCESS)
        }
        Err(error) => Err(error.into()),
    }
}

fn job(held: Held) -> Result<ExitCode, Box<dyn Error>> {
    for step in 1..=3 {
        if held.is_lost() {
            eprintln!("the lock is lost: stopping before step {step}");
            return Ok(ExitCode::FAILURE);
        }
        println!("step {step}, with {:?} left", held.remaining());
    }
    // An error says that the lock was not held any more, or that it may remain until its lease ends.
    held.release()?;
    println!("done, and released");
    Ok(ExitCode::SUCCESS)
}
