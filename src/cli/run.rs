//! `lockshift run`: a command under a lock, as flock(1) does it with a file.

mod acquiring;
mod child;
mod holding;
mod news;

use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

use super::everywhere::Everywhere;
use super::exit::{Exit, Failure};
use super::server::Server;
use super::wires::Wires;
use super::{failure, page, words};
use crate::driver::blocking::Lock;
use crate::lock::Lease;
use crate::protocols::Choice;
use crate::report::Ran;
use crate::wire::Key;

use acquiring::{Acquiring, Ended};
use child::OnLost;
use holding::Holding;
use news::News;

/// Hold a lock while a command runs
///
/// As flock(1): waits for the lock, runs CMD under it, releases it, and ends with CMD's exit status (128 and the number
/// of the signal, if one ended it). The lock is renewed while CMD runs, where the protocol can do that. SIGINT, SIGTERM,
/// SIGHUP and SIGQUIT are passed on to CMD. CMD finds the key in LOCKSHIFT_KEY and, if the protocol hands one out, the
/// fencing token in LOCKSHIFT_FENCE.
///
/// Other exit statuses: 126 and 127 if CMD cannot be run or found; 3 if the server cannot be used; 4 if the reply to the
/// try was lost, and CMD has not run. With --json the last line on standard error is one object that says how it went.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The key of the lock
    #[arg(value_parser = words::key())]
    key: Key,
    /// How to lock: a name from `lockshift protocols`
    #[arg(long, short, value_name = "P", default_value = "token")]
    protocol: Choice,
    /// For how long the lock outlives us if we die
    #[arg(long, value_name = "D", default_value = "30s", value_parser = words::lease)]
    lease: Lease,
    /// Give up after this long; without it, wait until the lock is free
    #[arg(long, short, value_name = "D", value_parser = words::length, conflicts_with = "nonblock")]
    wait: Option<Duration>,
    /// Try once, do not wait
    #[arg(long, short)]
    nonblock: bool,
    /// The exit status if the lock is not acquired
    #[arg(long, short = 'E', value_name = "N", default_value_t = 1)]
    conflict_exit_code: u8,
    /// What to do with CMD when the lock is lost
    #[arg(long, value_enum, default_value_t = OnLost::Kill)]
    on_lost: OnLost,
    /// The command, and its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<OsString>,
}

/// Runs CMD under the lock.
pub(super) fn run(args: &Args, everywhere: &Everywhere) -> Result<Exit, Failure> {
    let server = if args.protocol.spans_servers() { everywhere.masters()? } else { everywhere.server()? };
    let server = Arc::new(server);
    let news = News::listen()?;
    let mut ran = Ran::new(args.key.to_string(), args.protocol.to_string());
    // What went wrong is said first: the note is the last line.
    let exit = args.run_under_lock(&server, &news, &mut ran).unwrap_or_else(Failure::tell);
    if everywhere.json {
        page::note(&ran);
    }
    Ok(exit)
}

impl Args {
    fn run_under_lock(&self, server: &Arc<Server>, news: &News, ran: &mut Ran) -> Result<Exit, Failure> {
        let choice = match &**server {
            Server::Masters(nodes) => {
                self.protocol.on_servers(nodes.len()).map_err(|error| Failure::new(Exit::Usage, error))?
            }
            Server::Single(_) | Server::Cluster(_) => self.protocol.clone(),
        };
        let locker = choice.locker(self.key.clone(), self.lease);
        let wires = Wires::to(server, self.lease).map_err(|error| failure::of_connection(server, &self.key, error))?;
        let lock = Lock::new(wires, Arc::clone(&locker));
        match (Acquiring { server, wait: self.wait, once: self.nonblock }).acquire(&lock, news, ran)? {
            Ended::Won(guard) => {
                let holding = Holding { server, command: &self.command, on_lost: self.on_lost };
                holding.hold(guard, &*locker, news, ran)
            }
            Ended::Held => Ok(Exit::Of(self.conflict_exit_code)),
            Ended::Asked(request) => Ok(request.exit()),
        }
    }
}

const EXAMPLES: &str = "\x1b[1;4mExamples:\x1b[0m
  lockshift run nightly-backup -- ./backup.sh
  lockshift run report --nonblock -E 0 -- ./report.sh      do nothing if somebody is at it
  lockshift run stock --wait 10s --lease 5s -- sh -c 'echo \"$LOCKSHIFT_KEY\"'
  lockshift run stock --protocol php-getset -- ./import    side by side with old PHP workers
  lockshift run stock --protocol redlock --redis redis://a --redis redis://b --redis redis://c -- ./import";
