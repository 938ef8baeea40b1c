//! `lockshift scan`: all lock keys of a server.

use std::num::NonZeroU32;
use std::time::Duration;

use redis::Connection;

use super::everywhere::Everywhere;
use super::exit::{Exit, Failure};
use super::keys::Keys;
use super::server::{Node, Server};
use super::{failure, page};
use crate::driver::{blocking, host};
use crate::inspect::Finding;
use crate::protocols::Choice;
use crate::report::{Inspection, Scanned};
use crate::scan::{Tally, Walk};
use crate::wire::Transcript;

/// Show all lock keys of a server, those with hazards first
///
/// A key counts as a lock if its value is one: a stamp within a year of now in the hand of one of the known dialects, or a
/// token. Values such as 1 or true may be locks too, but nobody can tell; look at those with `lockshift inspect`.
///
/// Only commands that change nothing are sent: SCAN, GETRANGE, PTTL, DBSIZE; CLUSTER SLOTS to a cluster, all of whose
/// masters are scanned. The server is never kept busy for longer than a thousand keys at a time.
///
/// With --fleet, hazards name who of the fleet would take a lock that is held, or never get past one. Exit status 1
/// means that some lock has a hazard.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Only keys that match this pattern of Redis' SCAN
    #[arg(long = "match", value_name = "GLOB")]
    pattern: Option<String>,
    /// Look at no more than this many keys a second
    #[arg(long, value_name = "N")]
    rate: Option<NonZeroU32>,
    /// The protocols that share these keys
    #[arg(long, value_name = "PROTOCOL,...", value_delimiter = ',')]
    fleet: Vec<Choice>,
    /// Show no more than this many locks; all are counted. JSON has all of them, as they are found
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: usize,
}

/// Scans.
pub(super) fn run(args: &Args, everywhere: &Everywhere) -> Result<Exit, Failure> {
    let server = everywhere.server()?;
    let masters = server.masters().map_err(|error| failure::of_server(&server, error))?;
    let mut scan = Scan {
        walk: Walk::of(args.pattern.clone().map(String::into_bytes)),
        args,
        tally: Tally::keeping(if everywhere.json { 0 } else { args.limit }),
        json: everywhere.json.then(|| page::Stream::begin("locks")),
        progress: Keys::new(),
    };
    let began = host::mono();
    for master in &masters {
        let mut connection = Server::connect_single(master).map_err(|error| failure::of_server(master, error))?;
        scan.server(master, &mut connection)?;
    }
    let seconds = host::mono().saturating_since(began);
    let exit = if scan.tally.is_hazardous() { Exit::No } else { Exit::Yes };
    let Scan { tally, json, progress, .. } = scan;
    drop(progress);
    let scanned = Scanned::of(&tally, seconds, !args.fleet.is_empty());
    match json {
        Some(stream) => stream.end(&scanned)?,
        None => page::print(&scanned, everywhere)?,
    }
    Ok(exit)
}

/// A scan on its way.
struct Scan<'a> {
    walk: Walk,
    args: &'a Args,
    tally: Tally,
    json: Option<page::Stream>,
    progress: Keys,
}

impl Scan<'_> {
    /// All keys of one server.
    fn server(&mut self, node: &Node, connection: &mut Connection) -> Result<(), Failure> {
        let refused = |broken: crate::driver::Interrupted| failure::of_procedure(node, broken);
        let size: u64 = redis::cmd("DBSIZE").query(connection).map_err(|error| failure::of_server(node, error))?;
        self.progress.expect(size);
        let mut next = Some(0);
        while let Some(cursor) = next {
            let began = host::mono();
            let found =
                blocking::run(connection, &|redis: &mut Transcript| self.walk.page(cursor, redis)).map_err(refused)?;
            let glances: Vec<_> =
                found.keys.iter().map(|key| |redis: &mut Transcript| self.walk.glance(key, redis)).collect();
            let sights = blocking::run_together(connection, &glances).map_err(refused)?;
            for sight in sights.into_iter().flatten() {
                self.found(Finding::among(sight, self.args.fleet.iter().map(Choice::protocol)))?;
            }
            let looked = found.keys.len() as u64;
            self.tally.keys += looked;
            self.progress.advance(looked, self.tally.locks);
            self.hold_back(looked, host::mono().saturating_since(began));
            next = found.next.filter(|_| !self.json.as_ref().is_some_and(page::Stream::is_closed));
        }
        Ok(())
    }

    fn found(&mut self, finding: Finding) -> Result<(), Failure> {
        if let Some(stream) = &mut self.json {
            stream.add(&Inspection::of(finding.clone(), false))?;
        }
        self.tally.add(finding);
        Ok(())
    }

    /// Pauses for as long as that many keys should have taken.
    fn hold_back(&self, looked: u64, elapsed: Duration) {
        if let Some(rate) = self.args.rate {
            let due = Duration::from_secs_f64(looked as f64 / f64::from(rate.get()));
            host::sleep(due.saturating_sub(elapsed));
        }
    }
}

const EXAMPLES: &str = "\x1b[1;4mExamples:\x1b[0m
  lockshift scan --match 'lock:*'
  lockshift scan --fleet php-getset,java-getset,token --rate 20000
  lockshift scan --json | jq -r '.locks[] | select(.hazards != []) | .key'";
