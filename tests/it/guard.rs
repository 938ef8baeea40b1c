//! The guard: guarded clients exclude each other in every schedule, and real ones on a real server.

mod administered;
mod bridging;
mod configured;
mod deployed;
mod discreet;
mod encrypted;
mod explored;
mod extending;
mod leaving;
mod observing;
mod proxy;
mod remembering;
mod renewing;
mod replies;
mod server_faults;
mod subscribing;
mod transactions;
mod transparent;
mod unread;

use redis::cmd;

/// The clock of the server, in whole seconds since 1970.
pub(crate) fn server_secs(connection: &mut redis::Connection) -> i64 {
    let (secs, _): (i64, i64) = cmd("TIME").query(connection).expect("a server has a clock");
    secs
}
