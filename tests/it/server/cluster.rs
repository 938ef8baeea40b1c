//! A Redis Cluster of three masters. It takes a second to agree on itself, so the tests that run at the same time share
//! one; the last of them to end stops it. Keys are for each test to choose.

use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use redis::cluster::{ClusterClient, ClusterConnection};
use redis::cmd;

use super::{Options, Server};
use crate::patience::until;

/// Three masters that share the 16384 slots.
pub(crate) struct Cluster {
    masters: Vec<Server>,
}

const SLOTS: [RangeInclusive<u16>; 3] = [0..=5460, 5461..=10922, 10923..=16383];

impl Cluster {
    /// A cluster that other tests may be using as well.
    pub(crate) fn shared() -> Arc<Self> {
        static SHARED: Mutex<Weak<Cluster>> = Mutex::new(Weak::new());
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        shared.upgrade().unwrap_or_else(|| {
            let cluster = Arc::new(Self::start());
            *shared = Arc::downgrade(&cluster);
            cluster
        })
    }

    fn start() -> Self {
        let options = Options::new().line("cluster-enabled yes").line("cluster-require-full-coverage yes");
        let masters: Vec<_> = SLOTS.iter().map(|_| Server::with(&options)).collect();
        for (epoch, (master, slots)) in masters.iter().zip(SLOTS).enumerate() {
            let mut connection = master.connect();
            let mut tell =
                |words: &[String]| cmd("CLUSTER").arg(words).exec(&mut connection).expect("a new cluster node");
            tell(&["SET-CONFIG-EPOCH".to_owned(), (epoch + 1).to_string()]);
            tell(&[vec!["ADDSLOTS".to_owned()], slots.map(|slot| slot.to_string()).collect()].concat());
            tell(&["MEET".to_owned(), "127.0.0.1".to_owned(), masters[0].address().port().to_string()]);
        }
        let cluster = Self { masters };
        cluster
            .masters
            .iter()
            .for_each(|master| until("all masters know that all slots are served", || agrees(master)));
        cluster
    }

    /// A client that knows all masters.
    pub(crate) fn client(&self) -> ClusterClient {
        ClusterClient::new(self.masters.iter().map(Server::url)).expect("the urls are well formed")
    }

    /// A new blocking connection to the cluster.
    pub(crate) fn connect(&self) -> ClusterConnection {
        self.client().get_connection().expect("the cluster is up")
    }

    /// Its servers.
    pub(crate) fn masters(&self) -> &[Server] {
        &self.masters
    }
}

fn agrees(master: &Server) -> Option<()> {
    let info: String = cmd("CLUSTER").arg("INFO").query(&mut master.connect()).ok()?;
    let says = |line| info.lines().any(|said| said == line);
    (says("cluster_state:ok") && says("cluster_known_nodes:3") && says("cluster_slots_ok:16384")).then_some(())
}

#[test]
fn keys_of_all_masters_are_reached_through_one_connection() {
    let cluster = Cluster::shared();
    let mut connection = cluster.connect();
    for number in 0..30 {
        let key = format!("keys_of_all_masters {number}");
        cmd("SET").arg(&key).arg(number).exec(&mut connection).unwrap();
        assert_eq!(cmd("GET").arg(&key).query(&mut connection), Ok(number));
    }
    for master in cluster.masters() {
        let keys: u64 = cmd("DBSIZE").query(&mut master.connect()).unwrap();
        assert!(keys > 0, "each master has some of them");
    }
}
