//! `lockshift doctor`: whether the servers fit a fleet.

use super::exit::{Exit, Failure};
use super::failure;
use super::global_options::GlobalOptions;
use super::named::{FleetArg, fleet};
use super::output;
use super::server_options::ServerOptions;
use crate::doctor::{Connecting, examine};
use crate::driver::blocking;
use crate::report::Doctor;
use crate::wire::Transcript;

/// Say whether a server fits what a fleet of locks wants, and what should be changed
///
/// Examined are its role, version and commands, the permissions of the user that connects, its clock beside this machine's,
/// memory and eviction, what it keeps on disk, and its replicas. Only commands that change nothing are sent: INFO, TIME,
/// COMMAND INFO, ACL WHOAMI, ACL DRYRUN, and where these leave a question CLUSTER INFO and CONFIG GET. What cannot be examined,
/// because the server is too old or the user may not, is named. Of a cluster every master is examined.
///
/// Exit status 1 means that something should be changed. Exit status 3 means that nothing was found that should be, and that most
/// could not be examined: the user may not run INFO.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The protocols that will use the server, each with its options: their commands and needs are examined. The library's
    /// `Locks::token` is `token,announce=publish`
    #[arg(long, value_name = "PROTOCOL,...", value_parser = fleet(), hide_possible_values = true, default_value = "token")]
    fleet: Vec<FleetArg>,
    /// The keys of the fleet, for the permissions: a pattern of Redis
    #[arg(long = "match", value_name = "GLOB", default_value = "*")]
    pattern: String,
    #[command(flatten)]
    server: ServerOptions,
}

/// Examines each master.
pub(super) fn run(args: &Args, global: &GlobalOptions) -> Result<Exit, Failure> {
    let fleet = FleetArg::members(&args.fleet);
    let mut checkups = Vec::new();
    for server in args.server.servers()? {
        let connecting = Connecting { to_cluster: server.is_cluster(), to_database: server.selects_database() };
        let masters = server.masters().map_err(|error| failure::of_server(&server, error))?;
        for master in masters {
            let mut connection = master.connect().map_err(|error| failure::of_server(&master, error))?;
            let look = |redis: &mut Transcript| examine(&fleet, &args.pattern, connecting, redis);
            let checkup =
                blocking::run(&mut connection, &look).map_err(|broken| failure::of_procedure(&master, broken))?;
            checkups.push((master.to_string(), checkup));
        }
    }
    let fits = checkups.iter().all(|(_, checkup)| checkup.fits());
    let unknown = checkups.iter().find(|(_, checkup)| checkup.lacks_info()).map(|(server, _)| server.clone());
    output::print(&Doctor::of(checkups), global)?;
    match unknown {
        _ if !fits => Ok(Exit::No),
        Some(server) => Err(Failure::new(
            Exit::Unusable,
            format_args!(
                "{server}: this user may not examine it: log in as one with the rights that `lockshift protocols --acl \
                 --command doctor` prints, or grant them with ACL SETUSER"
            ),
        )),
        None => Ok(Exit::Yes),
    }
}

const EXAMPLES: &str = "\x1b[1;4mExamples:\x1b[0m
  lockshift doctor --redis redis://127.0.0.1:6379
  lockshift doctor --fleet php-getset,bridge:php-getset,token --match 'lock:*'
  lockshift doctor --fleet redlock --redis redis://a --redis redis://b --redis redis://c
  lockshift doctor --json | jq -r '.[].findings[].change'";
