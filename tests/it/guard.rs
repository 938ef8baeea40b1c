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

use crate::patience::until;
use crate::server::Server;

/// The clock of the server, in whole seconds since 1970.
pub(crate) fn server_secs(connection: &mut redis::Connection) -> i64 {
    let (secs, _): (i64, i64) = cmd("TIME").query(connection).expect("a server has a clock");
    secs
}

/// Waits until the server has a client that BLPOP blocks, or none.
fn until_blocked(server: &Server, wanted: bool) {
    let mut direct = server.connect();
    until("the server knows of the blocked client", || {
        let clients: String = cmd("CLIENT").arg("LIST").query(&mut direct).unwrap();
        (clients.contains("cmd=blpop") == wanted).then_some(())
    });
}
