//! Many who want one lock at once: each gets it, one at a time.

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
use crate::promise::{Harm, Row};
use crate::server::{Options, Server};
use crate::table::Table;

pub(crate) const CROWD: Row = Row::new("many waiters at once", Harm::None);

/// So many tasks wait for one lock that announces its releases: all of them get it, and no two at once.
pub(crate) fn each_of_many_gets_it(waiters: usize, table: &Table) {
    let server = Server::with(&Options::new().line("maxclients 1000"));
    let complaint = runtime().block_on(contend(&server, waiters)).err().map(|problem| problem.to_string());
    let got_it = if complaint.is_none() { waiters as u64 } else { 0 };
    table.count_recoveries(CROWD.name, "token", got_it, complaint);
}

async fn contend(server: &Server, waiters: usize) -> Result<(), Box<dyn Error + Send + Sync>> {
    let lease = Lease::new(Duration::from_secs(60))?;
    let locker = TokenLock::new("crowd".into(), lease).announced(Publish::Everywhere);
    // All of them ask at once over one connection: on a busy machine the last reply takes its time.
    let patient = AsyncConnectionConfig::new().set_response_timeout(Some(PATIENCE));
    let connection = server.client().get_multiplexed_async_connection_with_config(&patient).await?;
    let lock = aio::Lock::new(connection, locker).hearing(&aio::ReleaseListener::new(server.client()));
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
                            Err(format!("{others} inside already, {released:?}"))
                        };
                    }
                    // A reply that took longer than the connection waits, on a busy machine: it wants the lock still.
                    Ok(Attempt::Unknown(_) | Attempt::TooLate | Attempt::Held(_)) | Err(_) => {}
                }
            }
        });
    }
    while let Some(ended) = tasks.join_next().await {
        ended??;
    }
    let won = won.load(Ordering::SeqCst);
    if won == waiters as u64 { Ok(()) } else { Err(format!("{won} of {waiters} got it").into()) }
}
