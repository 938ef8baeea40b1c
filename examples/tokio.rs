//! A job that at most one machine runs at a time, from an async program. If the lock is lost, the job is dropped where
//! it stands.
//!
//! `REDIS_URL=redis://127.0.0.1/ cargo run --features tokio --example tokio`

use std::error::Error;
use std::process::ExitCode;
use std::time::Duration;

use lockshift::driver::aio::Lock;
use lockshift::driver::{Answer, Attempt, Renewal, Wait};
use lockshift::lock::{Lease, Released};
use lockshift::modern::TokenLock;

#[tokio::main]
async fn main() -> Result<ExitCode, Box<dyn Error>> {
    let url = std::env::var("REDIS_URL").unwrap_or_else(|_| "redis://127.0.0.1/".into());
    let connection = redis::Client::open(url)?.get_connection_manager().await?;

    let lock = Lock::new(connection, TokenLock::new("example:job".into(), Lease::new(Duration::from_secs(10))?));
    match lock.acquire(&Wait::backoff().for_at_most(Duration::from_secs(5))).await? {
        Attempt::Won(mut guard) => {
            // Held for as long as the job takes, but not for ever if it hangs.
            guard.renew(Renewal::every_third().for_at_most(Duration::from_secs(3600))).await;
            let watch = guard.watch();
            tokio::select! {
                () = job() => {}
                Some(loss) = watch.wait() => {
                    eprintln!("the lock is lost ({loss:?}): the job was stopped");
                    return Ok(ExitCode::FAILURE);
                }
            }
            match guard.release().await? {
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

async fn job() {
    for step in 1..=3 {
        println!("step {step}");
        tokio::task::yield_now().await;
    }
}
