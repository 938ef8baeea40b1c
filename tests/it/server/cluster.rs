//! A Redis Cluster of three masters. They take some seconds to agree on being one.

use std::ops::RangeInclusive;

use redis::cluster::ClusterClient;
use redis::cmd;

use super::{Options, Server};
use crate::patience::until;

/// Three masters that share the 16384 slots.
pub(crate) struct Cluster {
    masters: [Server; 3],
}

const SLOTS: [RangeInclusive<u16>; 3] = [0..=5460, 5461..=10922, 10923..=16383];

impl Cluster {
    /// Three masters, none of them with a key.
    pub(crate) fn start() -> Self {
        let cluster = Self { masters: SLOTS.map(|_| Server::with(&Options::new().line("cluster-enabled yes"))) };
        let first = cluster.masters[0].address();
        for (epoch, (master, slots)) in (1..).zip(cluster.masters.iter().zip(SLOTS)) {
            let mut operator = master.connect();
            cmd("CLUSTER").arg("SET-CONFIG-EPOCH").arg(epoch).exec(&mut operator).expect("a new node has none");
            cmd("CLUSTER").arg("ADDSLOTS").arg(slots.collect::<Vec<_>>()).exec(&mut operator).expect("they are free");
            let meet = cmd("CLUSTER").arg("MEET").arg(first.ip().to_string()).arg(first.port()).exec(&mut operator);
            meet.expect("the first is there");
        }
        cluster
            .masters
            .iter()
            .for_each(|master| until("all masters know that all slots are served", || agrees(master)));
        cluster
    }

    /// A client that has to find the others by itself.
    pub(crate) fn client(&self) -> ClusterClient {
        ClusterClient::new(vec![self.masters[0].url()]).expect("the url is well formed")
    }

    /// Its servers, in the order of their slots.
    pub(crate) fn masters(&self) -> &[Server; 3] {
        &self.masters
    }

    /// How many keys each master has.
    pub(crate) fn keys(&self) -> [u64; 3] {
        self.masters.each_ref().map(|master| cmd("DBSIZE").query(&mut master.connect()).expect("it counts them"))
    }
}

fn agrees(master: &Server) -> Option<()> {
    let info: String = cmd("CLUSTER").arg("INFO").query(&mut master.connect()).ok()?;
    let says = |line| info.lines().any(|sent| sent == line);
    (says("cluster_state:ok") && says("cluster_known_nodes:3") && says("cluster_slots_ok:16384")).then_some(())
}

#[test]
fn keys_of_all_masters_are_reached_through_one_connection() {
    let cluster = Cluster::start();
    let mut connection = cluster.client().get_connection().unwrap();
    for number in 0..30 {
        cmd("SET").arg(format!("key {number}")).arg(number).exec(&mut connection).unwrap();
    }
    assert!(cluster.keys().iter().all(|keys| *keys > 0), "{:?}", cluster.keys());
    assert_eq!(cluster.keys().iter().sum::<u64>(), 30);
}
