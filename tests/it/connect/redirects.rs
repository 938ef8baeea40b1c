//! A cluster that moves its slots: commands follow them.

use lockshift::connect::Server as Target;
use lockshift::wire::Key;
use redis::{Connection, cmd};

use crate::server::{Cluster, Server};

/// The names of the masters, as the cluster knows them.
fn id(server: &Server) -> String {
    cmd("CLUSTER").arg("MYID").query(&mut server.connect()).unwrap()
}

fn set_slot(server: &Server, slot: u16, state: &str, node: &str) {
    cmd("CLUSTER").arg("SETSLOT").arg(slot).arg(state).arg(node).exec(&mut server.connect()).unwrap();
}

fn migrate(from: &Server, to: &Server, key: &str) {
    let port = to.address().port();
    cmd("MIGRATE").arg("127.0.0.1").arg(port).arg(key).arg(0).arg(5000).exec(&mut from.connect()).unwrap();
}

/// A slot on its way from the first master to the second, in three stages.
struct Journey<'a> {
    from: &'a Server,
    to: &'a Server,
    key: String,
}

impl<'a> Journey<'a> {
    fn of(cluster: &'a Cluster) -> Self {
        let [from, to, _] = cluster.masters();
        let key = (0..).map(|number| format!("key {number}")).find(|key| Key::from(key.as_str()).slot() <= 5460);
        Self { from, to, key: key.expect("one of them is in the first third") }
    }

    fn slot(&self) -> u16 {
        Key::from(self.key.as_str()).slot()
    }

    /// The slot is being moved, and the key already has been: the old owner replies ASK.
    fn begin(&self) {
        set_slot(self.to, self.slot(), "IMPORTING", &id(self.from));
        set_slot(self.from, self.slot(), "MIGRATING", &id(self.to));
        let exists: bool = cmd("EXISTS").arg(&self.key).query(&mut self.from.connect()).unwrap();
        if exists {
            migrate(self.from, self.to, &self.key);
        }
    }

    /// The slot has moved: the old owner replies MOVED.
    fn end(&self) {
        let owner = id(self.to);
        for server in [self.to, self.from] {
            set_slot(server, self.slot(), "NODE", &owner);
        }
    }

    fn moved_count(&self) -> u32 {
        let mut connection: Connection = self.to.connect();
        cmd("ASKING").exec(&mut connection).unwrap();
        cmd("GET").arg(&self.key).query(&mut connection).unwrap()
    }
}

#[test]
fn a_moved_slot_is_followed_by_threads() {
    let cluster = Cluster::start();
    let journey = Journey::of(&cluster);
    let target: Target = format!("{}?cluster=true", journey.from.url()).parse().unwrap();
    let mut connection = target.connect().unwrap();
    let mut count = || cmd("INCR").arg(&journey.key).query(&mut connection);
    assert_eq!(count(), Ok(1));
    journey.begin();
    assert_eq!(count(), Ok(2), "ASK is followed");
    assert_eq!(journey.moved_count(), 2, "on the new owner");
    journey.end();
    assert_eq!(count(), Ok(3), "MOVED is followed");
    assert_eq!(count(), Ok(4));
}

#[cfg(feature = "tokio")]
#[test]
fn a_moved_slot_is_followed_by_tasks() {
    let cluster = Cluster::start();
    let journey = Journey::of(&cluster);
    let target: Target = format!("{}?cluster=true", journey.from.url()).parse().unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let mut connection = runtime.block_on(target.connect_async()).unwrap();
    let mut count = || runtime.block_on(cmd("INCR").arg(&journey.key).query_async(&mut connection));
    assert_eq!(count(), Ok(1));
    journey.begin();
    assert_eq!(count(), Ok(2), "ASK is followed");
    assert_eq!(journey.moved_count(), 2, "on the new owner");
    journey.end();
    assert_eq!(count(), Ok(3), "MOVED is followed");
    assert_eq!(count(), Ok(4));
}
