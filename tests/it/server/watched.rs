//! A master, its replica, and a sentinel that watches both.

use std::collections::HashMap;

use redis::{InfoDict, Value, cmd};

use super::{Options, Server};
use crate::patience::until;

/// A master, its replica, and a sentinel that watches both under the name `mymaster`.
pub(crate) struct Watched {
    pub(crate) master: Server,
    pub(crate) replica: Server,
    pub(crate) sentinel: Server,
}

impl Watched {
    /// Both have the same data, none, and the sentinel knows both.
    pub(crate) fn start() -> Self {
        let master = Server::start();
        let replica = Server::with(&Options::new().replica_of(&master));
        // A sentinel looks every ten seconds: the replica follows before it looks for the first time.
        until("the replica follows", || {
            let info: InfoDict = cmd("INFO").arg("replication").query(&mut replica.connect()).ok()?;
            (info.get::<String>("master_link_status")? == "up").then_some(())
        });
        let sentinel = Server::with(&Options::new().sentinel_of(&master));
        let watched = Self { master, replica, sentinel };
        until("the sentinel knows the replica, and that it follows", || watched.knows_the_replica());
        watched
    }

    fn knows_the_replica(&self) -> Option<()> {
        let ask = cmd("SENTINEL").arg("REPLICAS").arg("mymaster").query(&mut self.sentinel.connect());
        let known: Vec<HashMap<String, String>> = ask.ok()?;
        let follows = |replica: &HashMap<String, String>| {
            replica["flags"] == "slave" && replica.get("master-link-status").is_some_and(|status| status == "ok")
        };
        known.iter().any(follows).then_some(())
    }

    /// How to reach the master, by what the sentinel says.
    pub(crate) fn address(&self) -> String {
        format!("redis+sentinel://{}/mymaster", self.sentinel.address())
    }

    /// Waits until the replica has all that the master has.
    pub(crate) fn replicate(&self) {
        let mut master = self.master.connect();
        cmd("SET").arg("mark").arg(1).exec(&mut master).unwrap();
        let mut replica = self.replica.connect();
        until("the replica has the mark", || cmd("GET").arg("mark").query::<Option<u8>>(&mut replica).ok().flatten());
    }

    /// Makes the replica the master, by command.
    pub(crate) fn fail_over(&self) {
        let mut sentinel = self.sentinel.connect();
        until("the sentinel begins a failover", || {
            cmd("SENTINEL").arg("FAILOVER").arg("mymaster").exec(&mut sentinel).ok()
        });
        self.until_replaced();
    }

    /// Stops the master, and returns when the sentinel has made the replica the master by itself.
    pub(crate) fn hang(&self) {
        let mut sentinel = self.sentinel.connect();
        let words = ["SET", "mymaster", "down-after-milliseconds", "300"];
        cmd("SENTINEL").arg(&words).exec(&mut sentinel).expect("it watches mymaster");
        self.master.pause();
        self.until_named();
    }

    /// The same, and lets the old master run again.
    pub(crate) fn replace(&self) {
        self.hang();
        self.master.resume();
        self.until_replaced();
    }

    fn until_named(&self) {
        let mut sentinel = self.sentinel.connect();
        let port = self.replica.address().port();
        until("the sentinel names the replica as master", || {
            let ask = cmd("SENTINEL").arg("GET-MASTER-ADDR-BY-NAME").arg("mymaster").query(&mut sentinel);
            let (_, named): (String, u16) = ask.ok()?;
            (named == port).then_some(())
        });
    }

    fn until_replaced(&self) {
        self.until_named();
        until("the old master follows the new one", || {
            // A master that is demoted closes all connections.
            let mut master = self.master.client().get_connection().ok()?;
            let (role, ..): (String, Value, Value, Value, Value) = cmd("ROLE").query(&mut master).ok()?;
            (role == "slave").then_some(())
        });
    }
}

#[test]
fn a_master_that_stands_still_is_replaced() {
    let watched = Watched::start();
    watched.replicate();
    watched.replace();
    assert_eq!(cmd("GET").arg("mark").query(&mut watched.replica.connect()), Ok(1));
}
