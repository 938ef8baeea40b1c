//! A job that at most one machine runs at a time, from a program with threads.
//!
//! `REDIS_URL=redis://127.0.0.1/ cargo run --example blocking`

use std::error::Error;
use std::process::ExitCode;
use std::time::Duration;

use lockshift::driver::blocking::Lock;
use lockshift::driver::{Answer, Attempt, Renewal, Wait};
use lockshift::lock::{Lease, Released};
use lockshift::modern::TokenLock;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let url = std::env::var("REDIS_URL").unwrap_or_else(|_| "redis://127.0.0.1/".into());
    let connection = redis::Client::open(url)?.get_connection_with_timeout(Duration::from_secs(2))?;
    // Without this, a server that hangs would hang whoever releases.
    connection.set_read_timeout(Some(Duration::from_secs(2)))?;
    connection.set_write_timeout(Some(Duration::from_secs(2)))?;

    let lock = Lock::new(connection, TokenLock::new("example:job".into(), Lease::new(Duration::from_secs(10))?));
    match lock.acquire(&Wait::backoff().for_at_most(Duration::from_secs(5)))? {
        Attempt::Won(mut guard) => {
            // Held for as long as the job takes, but not for ever if it hangs.
            guard.renew(Renewal::every_third().for_at_most(Duration::from_secs(3600)))?;
            for step in 1..=3 {
                if let Some(loss) = guard.lost() {
                    eprintln!("the lock is lost ({loss:?}): stopping before step {step}");
                    return Ok(ExitCode::FAILURE);
                }
                println!("step {step}, with {:?} left", guard.left());
            }
            match guard.release()? {
                Answer::Known(Released::Freed | Released::LeftAlone | Released::StillHeld) => {
                    println!("done, and given back")
                }
                Answer::Known(Released::Lost | Released::Intruded) => println!("done, but perhaps not alone"),
                Answer::Unknown(unknown) => println!("done; {unknown}"),
            }
            Ok(ExitCode::SUCCESS)
        }
        Attempt::Held(_) | Attempt::TooLate => {
            println!("another machine is at it");
            Ok(ExitCode::SUCCESS)
        }
        Attempt::Unknown(unknown) => Err(unknown.into()),
    }
}
