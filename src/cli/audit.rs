//! `lockshift audit`: what a trace shows.

use std::path::PathBuf;
use std::time::Duration;

use super::auditors::Auditors;
use super::doubt::doubt;
use super::exit::{Exit, Failure};
use super::global_options::GlobalOptions;
use super::identity::IdentityArgs;
use super::output;
use super::trace::{self, TraceInput};
use crate::audit::Auditor;
use crate::driver::host;
use crate::report::AuditReport;

/// Read a MONITOR trace or a packet capture: which client held what, and which races happened
///
/// A trace is what `redis-cli monitor` prints, or `lockshift record`, or a packet capture of `tcpdump` (pcap or pcapng, with
/// whole packets: `-s 0`), or what `lockshift guard --mode observe --events FILE` writes: a file, several of them in a row as
/// logs are rotated, or `-` for standard input; gzip and zstd are decompressed. Pass the oldest file first: m.log* of a shell
/// names m.log before m.log.1, which is older. A capture and a guard's events have the replies, and a capture may have several
/// servers. MONITOR lists commands and no replies; a simulated server that runs the trace finds them again, and the protocols
/// themselves say what each client concluded from them. A finding names the race (`lockshift races --show ID` explains it),
/// the key, the clients and the lines that show it.
///
/// Exit status 1 means that races happened. Lines that MONITOR does not write are named on standard error and passed over.
/// Exit status 3 means that the trace does not suffice for a verdict: it is empty, or more than one line and more than one in
/// a hundred were passed over, or its writer failed, or its files are out of order, or no race was found and clients could only
/// be guessed, one tried to acquire a lock as no known protocol does, or a lock was changed in a way that is not followed. What
/// was found is shown all the same.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The trace: files, or - for standard input
    #[arg(required = true, value_name = "TRACE")]
    traces: Vec<PathBuf>,
    #[command(flatten)]
    identity: IdentityArgs,
    /// Name every lock, not only the busiest, and the clients that acquired it, with their protocols
    #[arg(long, short)]
    all: bool,
}

/// Reads, and shows what it found.
pub(super) fn run(args: &Args, global: &GlobalOptions) -> Result<Exit, Failure> {
    let begin = host::mono();
    let mut auditors = Auditors::new(|| Auditor::new().with_clients_by(args.identity.clients_by()));
    let coverage = trace::read(&TraceInput::all(&args.traces), &mut |command| auditors.read(command))?;
    let audits = auditors.finish();
    let took: Duration = host::mono().saturating_since(begin);
    let exit = if audits.iter().all(|(_, audit)| audit.findings.is_empty()) { Exit::Yes } else { Exit::No };
    let doubt = doubt(args.identity, audits.iter().map(|(_, audit)| audit)).filter(|_| exit == Exit::Yes);
    output::print(&AuditReport::of(audits, took, args.all), global)?;
    coverage.verdict(exit)?;
    doubt.map_or(Ok(exit), Err)
}

const EXAMPLES: &str = "\x1b[1;4mExamples:\x1b[0m
  lockshift audit trace.log
  lockshift record --for 60s | lockshift audit -
  tcpdump -i any -s 0 -w - port 6379 | lockshift audit -
  redis-cli monitor | head -n 1000000 | lockshift audit - --json | jq '.findings[].race'";
