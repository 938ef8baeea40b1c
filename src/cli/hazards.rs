//! What INFO of the chosen servers shows: what endangers all locks, and what a look at them leaves out.

use std::collections::BTreeSet;

use super::exit::warn;
use crate::connect::Server;
use crate::driver::blocking;
use crate::inspect::ServerSight;
use crate::protocols::Choice;
use crate::wire::Transcript;

/// What INFO of the chosen servers shows.
#[derive(Debug, Default)]
pub(super) struct SeenServers {
    /// What endangers all locks; which of several servers it is of stands before it.
    pub(super) hazards: Vec<String>,
    /// The other databases that have keys.
    pub(super) other_databases: BTreeSet<u32>,
    /// Whether a server that was not named as a cluster is a node of one.
    pub(super) is_one_node: bool,
    /// Those that refuse INFO, or do not reply to it.
    unexamined: Vec<String>,
}

impl SeenServers {
    /// Says on standard error which servers could not be looked at.
    pub(super) fn warn_of_unexamined(&self) {
        for server in &self.unexamined {
            warn(format_args!("{server} does not reply to INFO: what endangers all of its locks is not known"));
        }
    }
}

/// Looks at every master of `server`.
pub(super) fn of_server(server: &Server, fleet: &[Choice]) -> SeenServers {
    let votes = fleet.iter().any(Choice::spans_servers);
    let masters = server.masters().unwrap_or_default();
    let mut found = SeenServers::default();
    for master in &masters {
        // One that cannot be reached ends the command elsewhere.
        let Ok(mut connection) = master.connect() else { continue };
        let look = |redis: &mut Transcript| ServerSight::look(votes, redis);
        let Ok(Some(sight)) = blocking::run(&mut connection, &look) else {
            found.unexamined.push(master.to_string());
            continue;
        };
        let of = if masters.len() > 1 { format!("{master}: ") } else { String::new() };
        found.hazards.extend(sight.hazards.iter().map(|hazard| format!("{of}{hazard}")));
        found.other_databases.extend(sight.databases.into_iter().filter(|it| i64::from(*it) != master.database()));
        found.is_one_node |= sight.is_of_cluster && !server.is_cluster();
    }
    found
}
