//! `lockshift audit`: what a trace shows.

use std::path::PathBuf;
use std::time::Duration;

use super::exit::{Exit, Failure};
use super::global_options::GlobalOptions;
use super::page;
use super::trace::{self, Input};
use crate::audit::Auditor;
use crate::driver::host;
use crate::report::AuditReport;

/// Read a MONITOR trace: who held what, and which races happened
///
/// A trace is what `redis-cli monitor` prints, or `lockshift record`: a file, several of them in a row as logs are rotated,
/// or `-` for standard input. MONITOR lists commands and no replies; they are found again by running a simulated server
/// over the trace, and the protocols themselves say what each client made of them. A finding names the race (`lockshift
/// races --show ID` tells its story), the key, the clients and the lines that show it.
///
/// Exit status 1 means that races happened. Lines that are none of MONITOR's are named on standard error and passed over.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The trace: files, or - for standard input
    #[arg(required = true, value_name = "TRACE")]
    traces: Vec<PathBuf>,
    /// Name every lock, not only the busiest, and who has acquired it in which protocol
    #[arg(long, short)]
    all: bool,
}

/// Reads, and shows what it found.
pub(super) fn run(args: &Args, global: &GlobalOptions) -> Result<Exit, Failure> {
    let begin = host::mono();
    let mut auditor = Auditor::new();
    trace::read(&Input::all(&args.traces), &mut |number, line| auditor.read(number, line))?;
    let audit = auditor.finish();
    let took: Duration = host::mono().saturating_since(begin);
    let exit = if audit.findings.is_empty() { Exit::Yes } else { Exit::No };
    page::print(&AuditReport::of(audit, took, args.all), global)?;
    Ok(exit)
}

const EXAMPLES: &str = "\x1b[1;4mExamples:\x1b[0m
  lockshift audit trace.log
  lockshift record --for 60s | lockshift audit -
  redis-cli monitor | head -n 1000000 | lockshift audit - --json | jq '.findings[].race'";
