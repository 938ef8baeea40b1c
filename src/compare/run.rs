//! One run: a lock, and the clients that compete for it.

use std::sync::Arc;
use std::thread::{Builder, ScopedJoinHandle, scope};
use std::time::Duration;

use redis::{ConnectionLike, RedisResult};

use super::client::Client;
use super::course::{Course, Track};
use super::figures::{Figures, Tally};
use super::ledger::{Entered, Ledger};
use super::trouble::Trouble;
use super::witness::Witness;
use crate::driver::blocking::ReleaseListener;
use crate::driver::{Error, host};
use crate::lock::{Lease, Locker, Token};
use crate::wire::Key;

/// How often the caller is told of the progress.
const NEWS: Duration = Duration::from_millis(100);

/// Runs the workload under the protocol that `protocol` makes for a key: its figures, or `None` if it was stopped
/// early. Whatever the outcome, the keys of the run are deleted at its end.
///
/// # Errors
/// The server cannot be used.
pub fn run<C, F>(
    course: &Course<'_>,
    protocol: impl Fn(Key, Lease) -> Arc<dyn Locker>,
    connect: F,
) -> Result<Option<Figures>, Trouble>
where
    C: ConnectionLike + Send + 'static,
    F: Fn() -> RedisResult<C>,
{
    let name = name()?;
    let key = Key::from(name.as_str());
    let connect = || connect().map_err(|error| Error::connection(&key, error));
    let pairs =
        (0..course.workload.clients).map(|_| Ok((connect()?, connect()?))).collect::<Result<Vec<_>, Error>>()?;
    let cleaner = connect()?;

    // The clock starts once everybody is connected.
    let track = Track::new(course);
    let ledger = Arc::new(Ledger::new(&key));
    let witness = |connection| Witness::new(connection, key.with_suffix(":witness"), track.began());
    let client = |(own, other)| {
        let locker = protocol(key.clone(), course.workload.lease);
        Client::new(&track, Entered::new(own, Arc::clone(&ledger)), locker, witness(other))
    };
    let heard = || course.bells.map_or(0, ReleaseListener::commands);
    let before = heard();
    let outcome = compete(course, &track, pairs.into_iter().map(client).collect());
    let cleaned = witness(cleaner).clean_up(&ledger.keys());
    let tally = outcome?;
    cleaned?;
    let elapsed = course.workload.length;
    let commands = ledger.commands() + (heard() - before);
    let clients = course.workload.clients;
    Ok((!course.stop.is_given()).then(|| Figures::of(tally, clients, commands, elapsed)))
}

/// A name that no other run has, all of it in one slot of a cluster.
fn name() -> Result<String, getrandom::Error> {
    let token: Token = host::owner(0)?.token;
    Ok(format!("{{lockshift:compare:{}}}", token.hex()))
}

/// Lets the clients compete, each on a thread of its own, and adds up what they saw.
fn compete<C: ConnectionLike + Send + 'static>(
    course: &Course<'_>,
    track: &Track<'_>,
    clients: Vec<Client<'_, C>>,
) -> Result<Tally, Trouble> {
    scope(|scope| {
        let mut threads: Vec<ScopedJoinHandle<'_, Result<Tally, Trouble>>> = Vec::with_capacity(clients.len());
        for client in clients {
            let thread = Builder::new().spawn_scoped(scope, || client.compete().inspect_err(|_| track.stop()));
            threads.push(thread.map_err(Trouble::NoThread).inspect_err(|_| track.stop())?);
        }
        while track.pause(NEWS) {
            (course.progress)(track.elapsed(), track.acquisitions());
        }
        // A client panics only over a protocol that breaks its contract; then so do we.
        let tallies =
            threads.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        tallies.reduce(|one, other| Ok(one?.and(other?))).unwrap_or_else(|| Ok(Tally::default()))
    })
}
