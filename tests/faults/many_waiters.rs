//! Many waiters for one lock: each of them acquires it, one at a time.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use lockshift::driver::{Attempt, Wait, aio};
use lockshift::lock::Lease;
use lockshift::modern::{Publish, TokenLock};
use redis::AsyncConnectionConfig;
use tokio::task::JoinSet;

use crate::drivers::runtime;
use crate::patience::PATIENCE;
use crate::promise::{Damage, FaultRow};
use crate::server::{Options, Server};
use crate::table::Table;

pub(crate) const MANY_WAITERS: FaultRow = FaultRow::new("many waiters at once", Damage::Nothing);

/// Lets this many tasks wait for one lock that publishes its releases: all of them acquire it, and no two at once.
pub(crate) fn every_waiter_acquires(waiters: usize, table: &Table) {
    let server = Server::with(&Options::new().line("maxclients 1000"));
    let complaint = runtime().block_on(contend(&server, waiters)).err().map(|problem| problem.to_string());
    let acquired = if complaint.is_none() { waiters as u64 } else { 0 };
    table.count_recoveries(MANY_WAITERS.name, "token", acquired, complaint);
}

async fn contend(server: &Server, waiters: usize) -> Result<(), Box<dyn Error + Send + Sync>> {
    let lease = Lease::new(Duration::from_secs(60))?;
    let locker = TokenLock::new("crowd".into(), lease).announced(Publish::Everywhere);
    // All attempts share one connection: on a busy machine the last reply may be late.
    let patient = AsyncConnectionConfig::new().set_response_timeout(Some(PATIENCE));
    let connection = server.client().get_multiplexed_async_connection_with_config(&patient).await?;
    let lock = aio::Lock::new(connection, locker).notified_by(&aio::ReleaseListener::new(server.client()));
    let (inside, won) = (Arc::new(AtomicI64::new(0)), Arc::new(AtomicU64::new(0)));
    let mut tasks = JoinSet::new();
    for _ in 0..waiters {
        let (lock, inside, won) = (lock.clone(), Arc::clone(&inside), Arc::clone(&won));
        tasks.spawn(async move {
            loop {
                match lock.acquire(&Wait::notified()).await {
                    Ok(Attempt::Won(guard)) => {
                        let others = inside.fetch_add(1, Ordering::SeqCst);
                        tokio::task::yield_now().await;
                        inside.fetch_sub(1, Ordering::SeqCst);
                        won.fetch_add(1, Ordering::SeqCst);
                        let released = guard.release().await;
                        return if others == 0 {
                            Ok(())
                        } else {
                            Err(format!("{others} holders already, {released:?}"))
                        };
                    }
                    // The reply was late, on a busy machine: try again.
                    Ok(Attempt::Unknown(_) | Attempt::TooLate | Attempt::Held(_)) | Err(_) => {}
                }
            }
        });
    }
    while let Some(ended) = tasks.join_next().await {
        ended??;
    }
    let won = won.load(Ordering::SeqCst);
    if won == waiters as u64 { Ok(()) } else { Err(format!("{won} of {waiters} acquired it").into()) }
}
