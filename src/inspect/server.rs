//! What INFO shows of a server: what endangers every lock of it, and where else there are keys.

use std::fmt;

use crate::wire::{Command, Reply, Transcript, Turn};

/// What INFO shows of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerSight {
    /// What endangers every lock.
    pub hazards: Vec<ServerHazard>,
    /// The databases that have keys.
    pub databases: Vec<u32>,
    /// Whether it is a node of a cluster.
    pub is_of_cluster: bool,
}

impl ServerSight {
    /// Looks at a server by one INFO; `None` if it refuses that. `votes` is whether it is one of several Redlock masters, which
    /// must not forget. What INFO leaves out is not known to be a hazard.
    ///
    /// # Errors
    /// [`Pending`](crate::wire::Pending): the reply is still to come.
    pub fn look(votes: bool, redis: &mut Transcript) -> Turn<Option<Self>> {
        let Reply::Bulk(info) = redis.send(Command::new("INFO"))? else { return Ok(None) };
        let info = String::from_utf8_lossy(&info);
        // "db3:keys=1,expires=0,avg_ttl=0"
        let database = |line: &str| line.strip_prefix("db")?.split_once(":keys=")?.0.parse().ok();
        Ok(Some(Self {
            hazards: ServerHazard::all(&info, votes),
            databases: info.lines().filter_map(database).collect(),
            is_of_cluster: field(&info, "cluster_enabled") == Some("1"),
        }))
    }
}

/// The value of a field of INFO.
fn field<'a>(info: &'a str, name: &str) -> Option<&'a str> {
    info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
}

/// What endangers every lock of a server.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum ServerHazard {
    /// It has a memory limit, and deletes keys when that is reached: locks that are held among them.
    Evicts {
        /// Its `maxmemory-policy`.
        policy: String,
    },
    /// It has replicas and writes without waiting for any: one that takes over may lack the last locks.
    WritesAlone {
        /// How many replicas are connected.
        replicas: u64,
    },
    /// It is one of several Redlock masters and has no append-only file: when it restarts, it has forgotten its vote.
    ForgetsOnRestart,
}

impl ServerHazard {
    /// All that INFO tells.
    pub(crate) fn all(info: &str, votes: bool) -> Vec<Self> {
        let field = |name: &str| field(info, name).map(str::to_owned);
        let number = |name: &str| field(name).and_then(|value| value.parse::<u64>().ok()).unwrap_or(0);
        let evicts = field("maxmemory_policy").and_then(|policy| Self::of_memory(number("maxmemory"), &policy));
        // The count of replicas that are in time is reported only where `min-replicas-to-write` is set.
        let replicas = number("connected_slaves");
        let writes_alone = replicas > 0 && field("min_slaves_good_slaves").is_none();
        let forgets = votes && field("aof_enabled").is_some_and(|enabled| enabled == "0");
        let rest = [writes_alone.then_some(Self::WritesAlone { replicas }), forgets.then_some(Self::ForgetsOnRestart)];
        evicts.into_iter().chain(rest.into_iter().flatten()).collect()
    }

    /// What this policy does where memory is limited to so many bytes; 0 is no limit.
    pub(crate) fn of_memory(limit: u64, policy: &str) -> Option<Self> {
        (limit > 0 && policy != "noeviction").then(|| Self::Evicts { policy: policy.to_owned() })
    }
}

impl fmt::Display for ServerHazard {
    /// One sentence without a full stop.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Evicts { policy } => {
                let counters = if policy.starts_with("allkeys") { " and fencing counters" } else { "" };
                write!(f, "maxmemory-policy is {policy}: when memory is full it deletes locks that are held{counters}")
            }
            Self::WritesAlone { replicas } => {
                let replicas = if *replicas == 1 { "a replica".to_owned() } else { format!("{replicas} replicas") };
                write!(f, "it has {replicas} and min-replicas-to-write is not set: a failover can lose the last locks")
            }
            Self::ForgetsOnRestart => f.write_str(
                "it has no append-only file: after a restart this Redlock master grants locks that are held",
            ),
        }
    }
}

#[test]
fn info_tells_what_endangers_all_locks() {
    let all = |info: &str, votes| ServerHazard::all(info, votes);
    let safe = "# Memory\r\nmaxmemory:0\r\nmaxmemory_policy:noeviction\r\n# Persistence\r\naof_enabled:1\r\n\
                # Replication\r\nrole:master\r\nconnected_slaves:2\r\nmin_slaves_good_slaves:2\r\n";
    assert_eq!(all(safe, true), []);
    assert_eq!(all(&safe.replace("noeviction", "allkeys-lru"), true), [], "there is no limit to reach");
    let full = safe.replace("maxmemory:0", "maxmemory:1000");
    assert_eq!(all(&full, true), [], "it refuses writes, and deletes nothing");
    let policy = "volatile-ttl".to_owned();
    assert_eq!(all(&full.replace("noeviction", "volatile-ttl"), true), [ServerHazard::Evicts { policy }]);
    let alone = safe.replace("min_slaves_good_slaves:2\r\n", "");
    assert_eq!(all(&alone, true), [ServerHazard::WritesAlone { replicas: 2 }]);
    let forgetful = safe.replace("aof_enabled:1", "aof_enabled:0");
    assert_eq!(all(&forgetful, true), [ServerHazard::ForgetsOnRestart]);
    assert_eq!(all(&forgetful, false), [], "one server alone has no majority to break");
    assert_eq!(all("", true), []);
}
