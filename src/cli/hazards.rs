//! What endangers all locks of the chosen servers.

use crate::connect::Server;
use crate::driver::blocking;
use crate::inspect::ServerHazard;
use crate::protocols::Choice;
use crate::wire::Transcript;

/// Looks at every master of `server`; which of several a hazard is of stands before it. One that cannot be looked at has
/// none that is known.
pub(super) fn of_server(server: &Server, fleet: &[Choice]) -> Vec<String> {
    let votes = fleet.iter().any(Choice::spans_servers);
    let masters = server.masters().unwrap_or_default();
    let mut found = Vec::new();
    for master in &masters {
        let Ok(mut connection) = master.connect() else { continue };
        let look = |redis: &mut Transcript| ServerHazard::look(votes, redis);
        let hazards = blocking::run(&mut connection, &look).unwrap_or_default();
        let of = if masters.len() > 1 { format!("{master}: ") } else { String::new() };
        found.extend(hazards.iter().map(|hazard| format!("{of}{hazard}")));
    }
    found
}
