//! `lockshift audit`: what a trace shows.

use std::path::PathBuf;
use std::time::Duration;

use super::exit::{Exit, Failure};
use super::global_options::GlobalOptions;
use super::output;
use super::trace::{self, Input};
use crate::audit::{Auditor, ClientsBy};
use crate::driver::host;
use crate::report::AuditReport;

/// Read a MONITOR trace: which client held what, and which races happened
///
/// A trace is what `redis-cli monitor` prints, or `lockshift record`: a file, several of them in a row as logs are rotated,
/// or `-` for standard input; gzip and zstd are decompressed. MONITOR lists commands and no replies; a simulated server that
/// runs the trace finds them again, and the protocols themselves say what each client concluded from them. A finding names
/// the race (`lockshift races --show ID` explains it), the key, the clients and the lines that show it.
///
/// Exit status 1 means that races happened. Lines that MONITOR does not write are named on standard error and passed over.
/// Exit status 3 means that the trace does not suffice for a verdict: it is empty, or more than one line and more than one in
/// a hundred were passed over, or its writer failed. What was found is shown all the same.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The trace: files, or - for standard input
    #[arg(required = true, value_name = "TRACE")]
    traces: Vec<PathBuf>,
    /// By what clients are distinguished: the tokens that they write (else the connection), the address without its port, or
    /// the connection
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = Identity::Token)]
    clients_by: Identity,
    /// Name every lock, not only the busiest, and the clients that acquired it, with their protocols
    #[arg(long, short)]
    all: bool,
}

/// By what clients are distinguished.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Identity {
    Token,
    Address,
    Connection,
}

impl From<Identity> for ClientsBy {
    fn from(identity: Identity) -> Self {
        match identity {
            Identity::Token => Self::Token,
            Identity::Address => Self::Address,
            Identity::Connection => Self::Connection,
        }
    }
}

/// Reads, and shows what it found.
pub(super) fn run(args: &Args, global: &GlobalOptions) -> Result<Exit, Failure> {
    let begin = host::mono();
    let mut auditor = Auditor::new().with_clients_by(args.clients_by.into());
    let coverage = trace::read(&Input::all(&args.traces), &mut |number, line| auditor.read(number, line))?;
    let audit = auditor.finish();
    let took: Duration = host::mono().saturating_since(begin);
    let exit = if audit.findings.is_empty() { Exit::Yes } else { Exit::No };
    output::print(&AuditReport::of(audit, took, args.all), global)?;
    coverage.verdict(exit)
}

const EXAMPLES: &str = "\x1b[1;4mExamples:\x1b[0m
  lockshift audit trace.log
  lockshift record --for 60s | lockshift audit -
  redis-cli monitor | head -n 1000000 | lockshift audit - --json | jq '.findings[].race'";
