//! A Redis Cluster of three masters, perhaps with replicas. They take some seconds to agree on being one.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashSet};
use std::ops::RangeInclusive;
use std::time::{Duration, Instant};

use redis::cluster::ClusterClient;
use redis::{InfoDict, Value, cmd};

use super::{Options, Server};
use crate::patience::{now, pause, until};

/// Three masters that share the 16384 slots, perhaps with a replica each.
pub(crate) struct Cluster {
    masters: [Server; 3],
    /// In the order of their masters, if there are any.
    replicas: Vec<Server>,
}

/// Longer than a replica tries to take over.
const HANDOVER_FAILS_AFTER: Duration = Duration::from_secs(6);

const SLOTS: [RangeInclusive<u16>; 3] = [0..=5460, 5461..=10922, 10923..=16383];

impl Cluster {
    /// Three masters, none of them with a key.
    pub(crate) fn start() -> Self {
        let cluster = Self { masters: [(); 3].map(|()| node()), replicas: Vec::new() };
        for (epoch, (master, slots)) in (1..).zip(cluster.masters.iter().zip(SLOTS)) {
            let mut operator = master.connect();
            cmd("CLUSTER").arg("SET-CONFIG-EPOCH").arg(epoch).exec(&mut operator).expect("a new node has none");
            cmd("CLUSTER").arg("ADDSLOTS").arg(slots.collect::<Vec<_>>()).exec(&mut operator).expect("they are free");
            cluster.meet(master);
        }
        cluster.until_agreed();
        cluster
    }

    /// The same, with a replica of each master.
    pub(crate) fn with_replicas() -> Self {
        let mut cluster = Self::start();
        cluster.replicas = cluster.masters.each_ref().map(|_| node()).into();
        cluster.replicas.iter().for_each(|replica| cluster.meet(replica));
        cluster.until_agreed();
        for (master, replica) in cluster.masters.iter().zip(&cluster.replicas) {
            let name: String = cmd("CLUSTER").arg("MYID").query(&mut master.connect()).expect("a node has a name");
            cmd("CLUSTER").arg("REPLICATE").arg(name).exec(&mut replica.connect()).expect("it is empty");
            until_follows(replica);
        }
        cluster.until_roles_agree();
        cluster
    }

    fn meet(&self, node: &Server) {
        let first = self.masters[0].address();
        let meet = cmd("CLUSTER").arg("MEET").arg(first.ip().to_string()).arg(first.port()).exec(&mut node.connect());
        meet.expect("the first is there");
    }

    fn until_agreed(&self) {
        let nodes = self.masters.len() + self.replicas.len();
        let all = self.masters.iter().chain(&self.replicas);
        all.for_each(|node| until("all nodes know each other, and that all slots are served", || agrees(node, nodes)));
    }

    /// Lets each replica take over from its master, or the other way round if it has before. Nothing that was written is
    /// lost: the master waits until the replica has all of it.
    pub(crate) fn hand_over(&self) {
        for pair in self.masters.iter().zip(&self.replicas) {
            let replica = if is_master(pair.0) == Some(true) { pair.1 } else { pair.0 };
            let master = if std::ptr::eq(replica, pair.1) { pair.0 } else { pair.1 };
            // A handover that is asked for again begins anew; one that was refused, or has failed, has to be.
            let mut asked = None;
            let answers = RefCell::new(Vec::new());
            until(format_args!("the replica has taken over: {answers:?}"), || {
                if is_master(replica)? {
                    return Some(());
                }
                if asked.is_none_or(|asked: Instant| asked.elapsed() > HANDOVER_FAILS_AFTER) {
                    let answer = cmd("CLUSTER").arg("FAILOVER").exec(&mut replica.client().get_connection().ok()?);
                    asked = answer.is_ok().then(now);
                    answers.borrow_mut().push(answer);
                }
                pause(Duration::from_millis(20));
                None
            });
            until_follows(master);
            self.until_roles_agree();
        }
    }

    /// Waits until all nodes have heard of the last election and of its result. A replica that has not would ask for votes in that
    /// election's epoch, in which the masters have voted; and masters that have not do not vote for one that they take for a
    /// master. With the default time limits it asks again after a minute only.
    fn until_roles_agree(&self) {
        until("all nodes are in one epoch and know who is a master", || {
            let nodes = self.masters.iter().chain(&self.replicas);
            let views: Option<HashSet<_>> = nodes.map(|node| Some((epoch(node)?, names_of_masters(node)?))).collect();
            (views?.len() == 1).then_some(())
        });
    }

    /// Stops the master of the first slots until the others have replaced it by its replica, and lets it run again.
    pub(crate) fn replace_first(&self) {
        let pair = [&self.masters[0], &self.replicas[0]];
        let [master, replica] = if is_master(pair[0]) == Some(true) { pair } else { [pair[1], pair[0]] };
        let nodes = || self.masters.iter().chain(&self.replicas);
        let time_out_after = |millis: u32| {
            nodes().for_each(|node| {
                let words = ["SET", "cluster-node-timeout", &millis.to_string()];
                cmd("CONFIG").arg(&words).exec(&mut node.connect()).expect("it can be set");
            });
        };
        time_out_after(500);
        master.pause();
        until("the others have replaced the master", || is_master(replica)?.then_some(()));
        master.resume();
        until_follows(master);
        self.until_roles_agree();
        // As it is by default: a busy machine is not a dead master.
        time_out_after(15_000);
    }

    /// Whether this key is in one of the first third of the slots.
    pub(crate) fn is_of_first(&self, key: &str) -> bool {
        let slot: u16 = cmd("CLUSTER").arg("KEYSLOT").arg(key).query(&mut self.masters[1].connect()).expect("a number");
        SLOTS[0].contains(&slot)
    }

    /// A client that has to find the others by itself.
    pub(crate) fn client(&self) -> ClusterClient {
        ClusterClient::new(vec![self.masters[0].url()]).expect("the url is well formed")
    }

    /// What names it, by one of its nodes.
    pub(crate) fn target(&self) -> lockshift::connect::Server {
        format!("{}?cluster=true", self.masters[0].url()).parse().expect("the url is well formed")
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

fn node() -> Server {
    Server::with(&Options::new().line("cluster-enabled yes"))
}

fn agrees(node: &Server, nodes: usize) -> Option<()> {
    let info: String = cmd("CLUSTER").arg("INFO").query(&mut node.connect()).ok()?;
    let says = |line: &str| info.lines().any(|sent| sent == line);
    let knows = format!("cluster_known_nodes:{nodes}");
    (says("cluster_state:ok") && says(&knows) && says("cluster_slots_ok:16384")).then_some(())
}

/// The highest epoch that it has heard of.
fn epoch(node: &Server) -> Option<String> {
    let info: String = cmd("CLUSTER").arg("INFO").query(&mut node.connect()).ok()?;
    info.lines().find_map(|line| line.strip_prefix("cluster_current_epoch:")).map(str::to_owned)
}

/// The masters that it knows.
fn names_of_masters(node: &Server) -> Option<BTreeSet<String>> {
    let nodes: String = cmd("CLUSTER").arg("NODES").query(&mut node.connect()).ok()?;
    let masters = nodes.lines().filter_map(|line| {
        let mut words = line.split(' ');
        let (name, flags) = (words.next()?, words.nth(1)?);
        flags.split(',').any(|flag| flag == "master").then(|| name.to_owned())
    });
    Some(masters.collect())
}

fn is_master(node: &Server) -> Option<bool> {
    let role: Vec<Value> = cmd("ROLE").query(&mut node.client().get_connection().ok()?).ok()?;
    Some(matches!(role.first(), Some(Value::BulkString(name)) if name == b"master"))
}

fn until_follows(replica: &Server) {
    until("the replica follows its master", || {
        let mut connection = replica.client().get_connection().ok()?;
        let info: InfoDict = cmd("INFO").arg("replication").query(&mut connection).ok()?;
        (info.get::<String>("master_link_status")? == "up").then_some(())
    });
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

#[test]
fn replicas_take_over_what_was_written() {
    let cluster = Cluster::with_replicas();
    let mut connection = cluster.client().get_connection().unwrap();
    let keys: Vec<String> = (0..30).map(|number| format!("key {number}")).collect();
    keys.iter().for_each(|key| cmd("SET").arg(key).arg(1).exec(&mut connection).unwrap());
    let are_there = |what: &str| {
        keys.iter().for_each(|key| {
            until(format_args!("{key} is there when {what}"), || {
                let mut connection = cluster.client().get_connection().ok()?;
                cmd("GET").arg(key).query::<Option<u8>>(&mut connection).ok().flatten()
            });
        });
    };

    cluster.hand_over();
    assert!(cluster.masters.iter().all(|node| is_master(node) == Some(false)), "the replicas are the masters");
    are_there("the masters have handed over");
    cluster.hand_over();
    assert!(keys.iter().any(|key| cluster.is_of_first(key)), "keys of the first master are among them");
    cluster.replace_first();
    assert_eq!(cluster.masters.each_ref().map(is_master), [Some(false), Some(true), Some(true)]);
    are_there("a master was replaced");
}
