//! `lockshift dry-run`: what would have happened under another lock.

use std::path::PathBuf;
use std::time::Duration;

use super::auditors::Auditors;
use super::doubt::doubt;
use super::exit::{Exit, Failure};
use super::global_options::GlobalOptions;
use super::identity::IdentityArgs;
use super::named::protocol;
use super::trace::{self, TraceInput};
use super::{output, values};
use crate::audit::Auditor;
use crate::dry_run::{Demand, Terms, play};
use crate::lock::Lease;
use crate::protocols::Choice;
use crate::report::DryRun;

/// Play what the clients of a MONITOR trace wanted under another protocol and lease
///
/// The trace, as for `lockshift audit`, says which client wanted which lock when, and how long the work took. The same clients want
/// the same at the same moments on a simulated server, each one thing after the other, and what comes of it stands beside
/// what the trace shows. They back off as lockshift's drivers do, from a fixed random seed; all have one clock,
/// nothing is lost on the wire, and no client renews.
///
/// The advised lease is twice the longest work; it comes with the number of holds that it rests on and what they cover. A hold
/// that is open when the trace ends is played as released then. Without knowing what a client is there is no advice. Exit status 1 means that two clients held at once in the play too, or that
/// work took longer than the lease; exit status 3, that the trace does not suffice (see `lockshift audit --help`) or that locks had to be left out.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The trace: files, or - for standard input
    #[arg(required = true, value_name = "TRACE")]
    traces: Vec<PathBuf>,
    #[command(flatten)]
    identity: IdentityArgs,
    /// The protocol that they speak instead: a name from `lockshift protocols`
    #[arg(long, value_name = "PROTOCOL", value_parser = protocol(), hide_possible_values = true)]
    to: Choice,
    /// For how long each asks to hold the lock
    #[arg(long, value_name = "D", value_parser = values::lease)]
    lease: Lease,
    /// For how long each waits before it gives up
    #[arg(long, value_name = "D", default_value = "1m", value_parser = patience)]
    wait: Duration,
    /// Name every lock, not only the busiest
    #[arg(long, short)]
    all: bool,
}

/// Reads, plays, and shows both.
pub(super) fn run(args: &Args, global: &GlobalOptions) -> Result<Exit, Failure> {
    let mut auditors = Auditors::new(|| Auditor::new().with_clients_by(args.identity.clients_by()).keeping_episodes());
    let coverage = trace::read(&TraceInput::all(&args.traces), &mut |command| auditors.read(command))?;
    let (_, audit) = auditors.finish_one()?;
    let terms = Terms::new(args.to.clone(), args.lease, args.wait);
    let mut report = DryRun::new(&terms, &audit, args.all);
    let mut is_clean = true;
    for demand in Demand::all(&audit, args.identity.is_given()) {
        let refused = |fault| Failure::new(Exit::Usage, format_args!("`{}` cannot be played: {fault}", args.to));
        let played = play(&demand, &terms).map_err(refused)?;
        is_clean &= played.is_clean();
        report.add(&demand, &played);
    }
    output::print(&report, global)?;
    let exit = coverage.verdict(if is_clean { Exit::Yes } else { Exit::No })?;
    if let Some(sentence) = report.says_too_little().filter(|_| is_clean) {
        return Err(Failure::new(Exit::Unusable, sentence));
    }
    doubt(args.identity, [&audit].into_iter()).filter(|_| is_clean).map_or(Ok(exit), Err)
}

/// A length of time that can be played to its end, whatever the lock does.
fn patience(typed: &str) -> Result<Duration, String> {
    const LONGEST: Duration = Duration::from_secs(24 * 3600);
    let length = values::length(typed).map_err(|error| error.to_string())?;
    if length <= LONGEST { Ok(length) } else { Err("at most a day".to_owned()) }
}

const EXAMPLES: &str = "\x1b[1;4mExamples:\x1b[0m
  lockshift dry-run trace.log --to token --lease 10s
  lockshift dry-run trace.log --to php-getset --lease 30s     the old lock, with a longer lease
  lockshift record --for 60s | lockshift dry-run - --to token --lease 10s --json | jq '.locks[].advice.lease_ms'";
