//! `lockshift matrix`: who may share a key with whom.

use super::everywhere::Everywhere;
use super::exit::{Exit, Failure};
use super::{page, words};
use crate::driver::host;
use crate::lock::Lease;
use crate::matrix::matrix;
use crate::protocols::{Choice, catalogue};
use crate::report::Matrix;

/// Show who may share a key with whom, and the value that breaks it
///
/// For every pair, a holder of one protocol writes its value into an embedded server and a newcomer of the other comes:
/// in the middle of the lease, and long after the holder has died. Nothing is looked up; both protocols run.
///
/// Exit status 1 means that some pair is not safe.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The fleet: names from `lockshift protocols`; all of them if none is given
    #[arg(value_name = "PROTOCOL")]
    protocols: Vec<Choice>,
    /// For how long each of them holds
    #[arg(long, value_name = "D", default_value = "30s", value_parser = words::lease)]
    lease: Lease,
}

/// Computes it.
pub(super) fn run(args: &Args, everywhere: &Everywhere) -> Result<Exit, Failure> {
    let everyone = || catalogue().map(|protocol| protocol.name().parse().expect("a name of the catalogue")).collect();
    let protocols: Vec<Choice> = if args.protocols.is_empty() { everyone() } else { args.protocols.clone() };
    let matrix = Matrix::of(&matrix(&protocols, args.lease, host::wall()));
    page::print(&matrix, everywhere)?;
    Ok(if matrix.is_safe() { Exit::Yes } else { Exit::No })
}

const EXAMPLES: &str = "\x1b[1;4mExamples:\x1b[0m
  lockshift matrix php-getset java-getset token
  lockshift matrix redis-py-2.8 redis-mutex
  lockshift matrix --json | jq -r '.[] | select(.verdict != \"safe\") | .holder + \" \" + .newcomer'";
