//! A job that at most one machine runs at a time, from an async program. If the lock is lost, the job is dropped where
//! it stands.
//!
//! `REDIS_URL=redis://127.0.0.1/ cargo run --features tokio --example tokio`

use std::error::Error;
use std::process::ExitCode;
use std::time::Duration;

use lockshift::aio::Locks;
use lockshift::locks::{AcquireError, WithError};

#[tokio::main]
async fn main() -> Result<ExitCode, Box<dyn Error>> {
    let url = std::env::var("REDIS_URL").unwrap_or_else(|_| "redis://127.0.0.1/".into());
    let locks = Locks::connect(&url).await?;
    // Renewed for as long as the job takes, but not for ever if it hangs.
    let lock = locks.token("example:job", Duration::from_secs(10))?.held_for_at_most(Duration::from_secs(3600));
    match lock.with(Duration::from_secs(5), async |_| job().await).await {
        Ok(()) => println!("done, and released"),
        Err(WithError::Acquire(AcquireError::Timeout(_))) => println!("another machine runs the job"),
        Err(error) => return Err(error.into()),
    }
    Ok(ExitCode::SUCCESS)
}

async fn job() {
    for step in 1..=3 {
        println!("step {step}");
        tokio::task::yield_now().await;
    }
}
