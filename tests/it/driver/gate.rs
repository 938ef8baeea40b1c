//! A gate before the server's writes: while it is shut, a write that arrives waits there, and one can see that it does.
//! So a test acts while a command is under way, without guessing how long it takes.

use redis::{Connection, InfoDict, cmd};

use crate::patience::until;
use crate::server::Server;

/// A gate that is shut until opened.
pub(super) struct Gate(Connection);

impl Gate {
    /// Holds back every write from now on; reads pass.
    pub(super) fn shut(server: &Server) -> Self {
        let mut operator = server.connect();
        cmd("CLIENT").arg("PAUSE").arg(3_600_000).arg("WRITE").exec(&mut operator).unwrap();
        Self(operator)
    }

    /// Returns once that many writes wait.
    pub(super) fn until_waiting(&mut self, writes: usize) {
        until(format_args!("{writes} commands wait at the gate"), || {
            let info: InfoDict = cmd("INFO").arg("clients").query(&mut self.0).unwrap();
            (info.get("blocked_clients") == Some(writes)).then_some(())
        });
    }

    /// Lets everything through.
    pub(super) fn open(mut self) {
        cmd("CLIENT").arg("UNPAUSE").exec(&mut self.0).unwrap();
    }
}
