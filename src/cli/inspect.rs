//! `lockshift inspect`: what is in a key.

use super::exit::{Exit, Failure};
use super::global_options::GlobalOptions;
use super::named::{FleetArg, fleet};
use super::server_options::ServerOptions;
use super::{failure, hazards, output, values};
use crate::driver::{Error, blocking};
use crate::inspect::{Finding, look};
use crate::report::Inspection;
use crate::wire::{Key, Transcript};

/// Show what is in a key: which protocols wrote it, when it ends, which would take it over, what is wrong with it
///
/// Only commands that change nothing are sent: TYPE, GETRANGE, HLEN, HGETALL, ZCARD,
/// ZRANGE, MEMORY USAGE, PTTL, TIME, INFO. Every protocol of `lockshift protocols` is
/// asked whether it could have written the value, and what it would make of it now: take it for held, take it over
/// because it reads as expired, end with an error, or wait until the key is deleted without ever reading it.
///
/// What endangers every lock of the server is shown as well: eviction, replicas without
/// min-replicas-to-write and, with redlock in --fleet, no append-only file.
///
/// Exit status 1 means that there is no key, or that no known lock writes such a value. Exit status 3
/// means as well that it is a hash or a sorted set that is too large to be looked at.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The key
    #[arg(value_parser = values::key())]
    key: Key,
    /// Ask only the protocols that share this key, instead of all that are known
    #[arg(long, value_name = "PROTOCOL,...", value_parser = fleet(), hide_possible_values = true)]
    fleet: Vec<FleetArg>,
    /// Name every protocol, not only the first few of each kind
    #[arg(long, short)]
    all: bool,
    #[command(flatten)]
    server: ServerOptions,
}

/// Looks, and shows what it saw.
pub(super) fn run(args: &Args, global: &GlobalOptions) -> Result<Exit, Failure> {
    let server = args.server.server()?;
    let refused = |error| failure::of_connection(&server, server.is_encrypted(), &args.key, error);
    let mut connection = server.connect().map_err(refused)?;
    let seen = blocking::run(&mut connection, &|redis: &mut Transcript| look(&args.key, redis));
    let sight = seen.map_err(|broken| failure::of_lock(&server, &Error::because(&args.key, broken.cause)))?;
    let fleet = FleetArg::members(&args.fleet);
    let finding = match fleet.as_slice() {
        [] => Finding::of(sight),
        _ => Finding::among(sight, FleetArg::by_name(&args.fleet)),
    };
    let exit = match finding.is_lock() {
        true => Exit::Yes,
        false if finding.sight.is_too_large => Exit::Unusable,
        false => Exit::No,
    };
    let seen = hazards::of_server(&server, &fleet);
    seen.warn_of_unexamined();
    let inspection = Inspection::of(finding, args.all).on_server(seen.hazards);
    output::print(&inspection, global)?;
    Ok(exit)
}

const EXAMPLES: &str = "\x1b[1;4mExamples:\x1b[0m
  lockshift inspect lock:42
  lockshift inspect lock:42 --fleet php-getset,token
  lockshift inspect lock:42 --json | jq -r '.hazards[]'
  lockshift inspect \"$key\" >/dev/null && echo \"it is a lock\"";
