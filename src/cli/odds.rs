//! `lockshift odds`: what to expect in a day under each protocol.

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use super::auditors::Auditors;
use super::exit::{Exit, Failure};
use super::global_options::GlobalOptions;
use super::identity::IdentityArgs;
use super::named::protocol;
use super::progress::Count;
use super::trace::{self, TraceCommand, TraceInput};
use super::{output, values};
use crate::audit::{Audit, Auditor, LockSummary};
use crate::driver::{Wait, host};
use crate::lock::Lease;
use crate::odds::{OddsEffort, PlayedProtocol, RoundTrips, TracedWorkload, WaitPace, estimate};
use crate::protocols::{Choice, Generation};
use crate::report::{LockOdds, Odds};
use crate::wire::Key;

/// Estimate how many double holds, wrong releases and starved waits a day has, under each protocol
///
/// The trace, as for `lockshift audit`, says which clients want a lock when, how long they work, how long they rest, how many of
/// them die, and how wrong their clocks are. That is played many times on a simulated server, with the protocols
/// themselves: the one in the trace as its clients use it, its bridge, and token locks that poll, are notified, or queue, whose
/// clients extend their lease while they work. Each play is as long as the trace and draws its works and rests from
/// those of the trace.
///
/// An interval holds the rate with a confidence of 95 %, if the days are like the trace (bootstrap percentiles, or the interval
/// of a Poisson count where that is wider). What was never seen is not called impossible: the exact Poisson bound says that it
/// happens less often than that. A lock whose clients could only be guessed or speak several protocols, or with fewer than ten
/// holds, has no estimate. Exit status 3 means that no lock has one.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The trace: files, or - for standard input
    #[arg(required = true, value_name = "TRACE")]
    traces: Vec<PathBuf>,
    #[command(flatten)]
    identity: IdentityArgs,
    /// Only the lock on this key
    #[arg(long, value_name = "KEY", value_parser = values::key())]
    key: Option<Key>,
    /// How many locks, the busiest first
    #[arg(long, value_name = "N", default_value_t = 3)]
    locks: usize,
    /// The protocols to compare with the one in the trace
    #[arg(long = "to", value_name = "PROTOCOL", value_parser = protocol(), hide_possible_values = true)]
    to: Vec<Choice>,
    /// The lease of these protocols; that of the trace, if none is given
    #[arg(long, value_name = "D", value_parser = values::lease)]
    lease: Option<Lease>,
    /// Clients of these protocols do not extend their lease
    #[arg(long)]
    no_renew: bool,
    /// The round trip, if the trace has no replies
    #[arg(long, value_name = "D", default_value = "500us", value_parser = values::length)]
    round_trip: Duration,
    /// A wait that is longer than this is starved; ten leases of the trace, if none is given
    #[arg(long, value_name = "D", value_parser = values::length)]
    starved_after: Option<Duration>,
    /// How many times each protocol is played
    #[arg(long, value_name = "N", default_value = "200", value_parser = values::at_least_one)]
    periods: NonZeroU32,
    /// End after this long, with fewer plays of each protocol
    #[arg(long = "for", value_name = "D", default_value = "1m", value_parser = values::length)]
    length: Duration,
    /// Where the random numbers begin
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

/// Reads, plays, and shows what to expect.
pub(super) fn run(args: &Args, global: &GlobalOptions) -> Result<Exit, Failure> {
    const MOST_ROUND_TRIPS: usize = 1 << 14;
    let mut auditors = Auditors::new(|| Auditor::new().with_clients_by(args.identity.clients_by()).keeping_episodes());
    let mut round_trips = Vec::new();
    let coverage = trace::read(&TraceInput::all(&args.traces), &mut |received| {
        if let TraceCommand::Exchange { line, reply: Some((_, answered_at)), .. } = &received
            && round_trips.len() < MOST_ROUND_TRIPS
            && *answered_at > line.at
        {
            round_trips.push(answered_at.saturating_since(line.at));
        }
        auditors.read(received);
    })?;
    let (_, audit) = auditors.finish_one()?;
    let round_trips =
        if round_trips.is_empty() { RoundTrips::Assumed(args.round_trip) } else { RoundTrips::Measured(round_trips) };
    let report = estimated(args, &audit, &round_trips)?;
    output::print(&report, global)?;
    coverage.verdict(Exit::Yes)?;
    if report.has_an_estimate() {
        return Ok(Exit::Yes);
    }
    Err(Failure::new(Exit::Unusable, "no lock of the trace has an estimate"))
}

fn estimated(args: &Args, audit: &Audit, round_trips: &RoundTrips) -> Result<Odds, Failure> {
    let chosen = audit.locks.iter().filter(|lock| args.key.as_ref().is_none_or(|key| *key == lock.key));
    let locks: Vec<_> = chosen.take(args.locks).collect();
    let workload =
        |lock: &LockSummary| TracedWorkload::of(audit, lock, args.identity.is_given(), None, round_trips.clone());
    let mut report = Odds::new(args.seed);
    let plays: Vec<_> = locks
        .iter()
        .map(|lock| {
            let workload = workload(lock);
            let plays = workload.as_ref().map(|workload| args.plays(workload)).unwrap_or_default();
            (lock, workload, plays)
        })
        .collect();
    let count: usize = plays.iter().map(|(.., plays)| plays.len()).sum();
    let all = usize::try_from(args.periods.get()).unwrap_or(usize::MAX);
    let progress = Count::of(count.saturating_mul(all), "plays");
    let began = host::mono();
    let mut done: u32 = 0;
    for (lock, workload, plays) in plays {
        let mut odds = LockOdds::of(lock, &workload);
        for protocol in plays {
            let Ok(workload) = &workload else { break };
            done += 1;
            // What one protocol leaves of its share goes to the next ones.
            let ends = args.length.saturating_mul(done) / u32::try_from(count).unwrap_or(u32::MAX);
            let starved_after = args.starved_after(workload);
            let effort = OddsEffort { periods: args.periods.get(), seed: args.seed, starved_after };
            let mut goes_on = || {
                progress.advance();
                host::mono().saturating_since(began) < ends
            };
            let refused =
                |fault| Failure::new(Exit::Usage, format_args!("`{}` cannot be played: {fault}", protocol.choice));
            let found = estimate(workload, &protocol, effort, &mut goes_on).map_err(refused)?;
            odds.add(&protocol, effort, &found);
        }
        report.add(odds);
    }
    Ok(report)
}

impl Args {
    fn starved_after(&self, workload: &TracedWorkload) -> Duration {
        self.starved_after.unwrap_or(workload.lease.length().saturating_mul(10))
    }

    /// The protocol of the trace, and those to compare it with.
    fn plays(&self, workload: &TracedWorkload) -> Vec<PlayedProtocol> {
        let traced = workload.pause.map_or_else(|| WaitPace::Driver(Wait::backoff()), WaitPace::AsTraced);
        let spoken = &workload.spoken;
        let as_traced = PlayedProtocol {
            choice: spoken.clone(),
            lease: workload.lease,
            pace: traced.clone(),
            renews: workload.renews,
        };
        let bridge = format!("bridge:{}", spoken.protocol().name()).parse();
        let defaults =
            ["token", "token,announce=publish", "fair"].map(|name| name.parse().expect("it is in the catalogue"));
        let others: Vec<Choice> =
            if self.to.is_empty() { bridge.into_iter().chain(defaults).collect() } else { self.to.clone() };
        let play = |choice: Choice| {
            let pace = match choice.protocol().generation() {
                Generation::Legacy => traced.clone(),
                Generation::Bridge | Generation::Modern => WaitPace::Driver(Wait::notified()),
            };
            let renews = !self.no_renew && choice.protocol().generation() != Generation::Legacy;
            PlayedProtocol { choice, lease: self.lease.unwrap_or(workload.lease), pace, renews }
        };
        std::iter::once(as_traced).chain(others.into_iter().map(play)).collect()
    }
}

const EXAMPLES: &str = "\x1b[1;4mExamples:\x1b[0m
  lockshift odds trace.log
  lockshift odds trace.log --key invoices --to redisson --to fair --lease 30s
  tcpdump -i any -s 0 -w - -G 600 -W 1 port 6379 | lockshift odds - --json | jq '.locks[].protocols[].double_holds'";
