//! `lockshift scan`: all lock keys of a server.

mod pace;
mod running_scan;

use std::num::NonZeroU32;

use super::exit::{Exit, Failure, warn};
use super::global_options::GlobalOptions;
use super::named::{FleetArg, fleet};
use super::server_options::ServerOptions;
use super::{failure, hazards, output, values};
use crate::driver::host;
use crate::report::ScanReport;
use crate::scan::{ScanSummary, Walk};
use pace::ScanPace;
use running_scan::{RunningScan, ScanEnd};

/// Show all lock keys of a server, those with hazards first
///
/// A key counts as a lock if its value is one: a stamp within a year of now in the hand of one of the known dialects, a
/// token, or a hash or sorted set that names its holders. Values such as 1 or true may be locks too, but cannot be recognised; look at those
/// with `lockshift inspect`.
///
/// Only commands that change nothing are sent: SCAN, GETRANGE, HRANDFIELD, HLEN, HGETALL, ZRANGE, ZCARD, MEMORY USAGE, PTTL,
/// DBSIZE, INFO; CLUSTER SLOTS to a cluster, all of whose masters are scanned. The server is never kept busy for longer than a thousand
/// keys at a time, and little is fetched of a value, however long it is. While a server enlarges or shrinks its table of keys, SCAN
/// may name a key twice; it is listed twice then.
///
/// With --fleet, hazards name the members of the fleet that would take a lock that is held, or never get past one. Exit status 1
/// means that some lock has a hazard. What endangers every lock is reported for the server: eviction, replicas without
/// min-replicas-to-write and, with redlock in --fleet, no append-only file. Only the database of the address is scanned; others
/// that have keys are named. A scan that is stopped (Ctrl-C) or loses its server shows what it has found. Exit status 3 means
/// that no lock has a hazard and keys were left out which may be locks: the user may not read them, or they were moving to another
/// node of a cluster. Where keys were left out and some lock has a hazard, the exit status is 1, and standard error names the keys.
/// A hash or sorted set that is too large for any lock is counted, and is no reason for 3.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Only keys that match this pattern of Redis' SCAN
    #[arg(long = "match", value_name = "GLOB")]
    pattern: Option<String>,
    /// Have the server visit no more than this many keys a second
    #[arg(long, value_name = "N", value_parser = values::at_least_one)]
    rate: Option<NonZeroU32>,
    /// The protocols that share these keys
    #[arg(long, value_name = "PROTOCOL,...", value_parser = fleet(), hide_possible_values = true)]
    fleet: Vec<FleetArg>,
    /// Show no more than this many locks; all are counted. JSON has all of them, as they are found
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: usize,
    #[command(flatten)]
    server: ServerOptions,
}

/// Scans.
pub(super) fn run(args: &Args, global: &GlobalOptions) -> Result<Exit, Failure> {
    let server = args.server.server()?;
    let masters = server.masters().map_err(|error| failure::of_server(&server, error))?;
    let pace = ScanPace::of(args.rate)?;
    let walk = Walk::of(args.pattern.clone().map(String::into_bytes)).by(pace.page());
    let fleet = FleetArg::members(&args.fleet);
    let seen = hazards::of_server(&server, &fleet);
    let summary = ScanSummary::keeping(if global.json { 0 } else { args.limit });
    let stream = global.json.then(|| output::JsonListStream::begin("locks"));
    let began = host::mono();
    let members = FleetArg::by_name(&args.fleet);
    let mut scan = RunningScan::new(walk, pace, &members, summary, stream);
    let ended = scan.walk(&masters);
    let (summary, stream) = scan.close();
    let ended = match ended {
        ScanEnd::Lost(failure) if summary.keys == 0 => return Err(failure),
        ended => ended,
    };
    seen.warn_of_unexamined();
    let seconds = host::mono().saturating_since(began);
    let is_whole = matches!(ended, ScanEnd::Whole) && summary.has_seen_all() && !seen.is_one_node;
    let scanned = ScanReport::of(&summary, seconds, !fleet.is_empty(), is_whole)
        .on_server(seen.hazards)
        .beside(seen.other_databases);
    match stream {
        Some(stream) => stream.end(&scanned)?,
        None => output::print(&scanned, global)?,
    }
    match ended {
        ScanEnd::Lost(failure) => Err(failure),
        ScanEnd::Stopped(request) => {
            warn("stopped before all keys were seen");
            Ok(request.exit())
        }
        ScanEnd::Whole | ScanEnd::OutputClosed => {
            let left_out = if seen.is_one_node {
                Some(format!(
                    "{server} is one node of a cluster, and no other was scanned: add ?cluster=true to the address"
                ))
            } else {
                (!summary.has_seen_all()).then(|| "some keys could not be looked at".to_owned())
            };
            match left_out {
                Some(sentence) if !summary.is_hazardous() => Err(Failure::new(Exit::Unusable, sentence)),
                left_out => {
                    left_out.iter().for_each(warn);
                    Ok(if summary.is_hazardous() { Exit::No } else { Exit::Yes })
                }
            }
        }
    }
}

const EXAMPLES: &str = "\x1b[1;4mExamples:\x1b[0m
  lockshift scan --match 'lock:*'
  lockshift scan --fleet php-getset,java-getset,token --rate 20000
  lockshift scan --json | jq -r '.locks[] | select(.hazards != []) | .key'";
