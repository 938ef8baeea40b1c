//! One run: a lock, and the clients that compete for it.

use std::sync::Arc;
use std::thread::{Builder, ScopedJoinHandle, scope};
use std::time::Duration;

use redis::{ConnectionLike, RedisResult};

use super::client::ComparedClient;
use super::command_log::{CommandLog, Logged};
use super::error::RunError;
use super::settings::{RunClock, Settings};
use super::statistics::{ClientTotals, Statistics};
use super::witness::Witness;
use crate::driver::blocking::ReleaseListener;
use crate::driver::{Error, host};
use crate::lock::{Lease, Locker, Token};
use crate::wire::Key;

/// How often the progress is reported.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);

/// Runs the workload under the protocol that `protocol` makes for a key, and returns its statistics, or `None` if it was
/// stopped early. The keys of the run are deleted at its end, whatever the outcome.
///
/// # Errors
/// The server cannot be used, or a reply was lost.
pub fn run<C, F>(
    settings: &Settings<'_>,
    protocol: impl Fn(Key, Lease) -> Arc<dyn Locker>,
    connect: F,
) -> Result<Option<Statistics>, RunError>
where
    C: ConnectionLike + Send + 'static,
    F: Fn() -> RedisResult<C>,
{
    let name = name()?;
    let key = Key::from(name.as_str());
    let connect = || connect().map_err(|error| Error::connection(&key, error));
    let connect_client = |_| Ok((connect()?, connect()?, connect()?));
    let connections = (0..settings.workload.clients).map(connect_client).collect::<Result<Vec<_>, Error>>()?;
    let cleaner = connect()?;

    // The clock starts once all clients are connected.
    let clock = RunClock::new(settings);
    let log = Arc::new(CommandLog::new(&key));
    let witness = |connection| Witness::new(connection, key.with_suffix(":witness"), clock.began());
    let client = |(own, late, other)| {
        let locker = protocol(key.clone(), settings.workload.lease);
        let logged = |connection| Logged::new(connection, Arc::clone(&log));
        ComparedClient::new(&clock, [logged(own), logged(late)], locker, witness(other))
    };
    let listened = || settings.listener.map_or(0, ReleaseListener::commands);
    let before = listened();
    let outcome = compete(settings, &clock, connections.into_iter().map(client).collect());
    let cleaned = witness(cleaner).clean_up(&log.keys());
    let totals = outcome?;
    cleaned?;
    let elapsed = settings.workload.length;
    let commands = log.commands() + (listened() - before);
    let clients = settings.workload.clients;
    Ok((!settings.stop.is_given()).then(|| Statistics::of(totals, clients, commands, elapsed)))
}

/// A random name for the keys of this run, in one slot of a cluster.
fn name() -> Result<String, getrandom::Error> {
    let token: Token = host::owner(0)?.token;
    Ok(format!("{{lockshift:compare:{}}}", token.hex()))
}

/// Lets the clients compete, each on its own thread, and adds up their totals.
fn compete<C: ConnectionLike + Send + 'static>(
    settings: &Settings<'_>,
    clock: &RunClock<'_>,
    clients: Vec<ComparedClient<'_, C>>,
) -> Result<ClientTotals, RunError> {
    scope(|scope| {
        let mut threads: Vec<ScopedJoinHandle<'_, Result<ClientTotals, RunError>>> = Vec::with_capacity(clients.len());
        for client in clients {
            let thread = Builder::new().spawn_scoped(scope, || client.compete().inspect_err(|_| clock.stop()));
            threads.push(thread.map_err(RunError::NoThread).inspect_err(|_| clock.stop())?);
        }
        while clock.pause(PROGRESS_INTERVAL) {
            (settings.progress)(clock.elapsed(), clock.acquisitions());
        }
        // A client panics only if a protocol breaks its contract. The panic goes on here.
        let totals =
            threads.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        totals.reduce(|one, other| Ok(one?.and(other?))).unwrap_or_else(|| Ok(ClientTotals::default()))
    })
}
