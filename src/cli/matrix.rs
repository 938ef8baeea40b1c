//! `lockshift matrix`: which protocols exclude each other on one key.

use super::exit::{Exit, Failure};
use super::global_options::GlobalOptions;
use super::named::protocol;
use super::progress::Count;
use super::{output, values};
use crate::driver::host;
use crate::lock::Lease;
use crate::matrix::matrix;
use crate::protocols::{Choice, Protocol, catalogue};
use crate::report::Matrix;

/// Show which protocols exclude each other on one key, and the value that breaks it
///
/// For every pair, a holder of one protocol acquires on an embedded server, and a newcomer of the other tries to: in the
/// middle of the lease, and long after the holder has died. Nothing is looked up; both protocols run.
///
/// *excludes* means: the newcomer does not acquire while the holder lives, and does once it has died. The two run one after
/// the other, so this says nothing about steps that interleave: `lockshift explore` does.
///
/// Exit status 1 means that some newcomer steals or starves.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The fleet: names from `lockshift protocols`; if none is given, one for each way to write a value
    #[arg(value_name = "PROTOCOL", value_parser = protocol(), hide_possible_values = true)]
    protocols: Vec<Choice>,
    /// Every protocol there is
    #[arg(long, conflicts_with = "protocols")]
    all: bool,
    /// For how long each of them holds
    #[arg(long, value_name = "D", default_value = "30s", value_parser = values::lease)]
    lease: Lease,
}

/// Computes it.
pub(super) fn run(args: &Args, global: &GlobalOptions) -> Result<Exit, Failure> {
    let protocols = match args.protocols.as_slice() {
        [] if args.all => catalogue().map(chosen).collect(),
        [] => one_of_each().map(chosen).collect(),
        named => named.to_vec(),
    };
    let progress = Count::of(protocols.len() * protocols.len(), "pairs");
    let meetings = matrix(&protocols, args.lease, host::wall(), &mut || progress.advance());
    drop(progress);
    let matrix = Matrix::of(&meetings);
    output::print(&matrix, global)?;
    Ok(if matrix.excludes() { Exit::Yes } else { Exit::No })
}

/// The first protocol of every family of dialects, and the modern ones.
fn one_of_each() -> impl Iterator<Item = Protocol> {
    let mut seen = Vec::new();
    catalogue().filter(move |protocol| {
        let family = protocol.dialect().map(|dialect| dialect.family);
        let is_new = family.is_none() || !seen.contains(&family);
        seen.push(family);
        is_new
    })
}

fn chosen(protocol: Protocol) -> Choice {
    protocol.name().parse().expect("a name of the catalogue")
}

const EXAMPLES: &str = "\x1b[1;4mExamples:\x1b[0m
  lockshift matrix php-getset java-getset token
  lockshift matrix redis-py-2.8 redis-mutex
  lockshift matrix --json | jq -r '.[] | select(.verdict != \"excludes\") | .holder + \" \" + .newcomer'";
