//! The Redis that was chosen: one address, or several of one cluster.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use redis::cluster::{ClusterClient, ClusterConnection};
use redis::{Client, Connection, ConnectionAddr, ConnectionInfo, IntoConnectionInfo, RedisError, RedisResult};

/// How long a server may take to accept a connection, and to answer one command.
const PATIENCE: Duration = Duration::from_secs(5);

/// One address, as typed.
#[derive(Clone, Debug)]
pub(super) struct Node {
    info: ConnectionInfo,
    of_cluster: bool,
    /// The address without its password.
    shown: String,
}

impl FromStr for Node {
    type Err = String;

    fn from_str(typed: &str) -> Result<Self, String> {
        let shown = without_secrets(typed);
        let Some(url) = redis::parse_redis_url(typed) else {
            return Err(format!(
                "{shown} is no address of a Redis: it begins with redis://, rediss:// or redis+unix://"
            ));
        };
        let of_cluster = url.query_pairs().any(|(name, value)| name == "cluster" && value == "true");
        let refused = |error: RedisError| format!("{shown} is no address of a Redis: {error}");
        let info = url.into_connection_info().map_err(refused)?;
        Ok(Self { info, of_cluster, shown })
    }
}

/// An address without what stands before the host or behind a question mark, where passwords are. It need not be one.
fn without_secrets(typed: &str) -> String {
    let bare = typed.split('?').next().unwrap_or_default();
    match (bare.split_once("://"), bare.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, host))) => format!("{scheme}://***@{host}"),
        (None, Some((_, host))) => format!("***@{host}"),
        (_, None) => bare.to_owned(),
    }
}

impl Node {
    /// Whether it says that there are more.
    pub(super) fn is_of_cluster(&self) -> bool {
        self.of_cluster
    }

    /// Whether it is a socket of this machine.
    pub(super) fn is_local(&self) -> bool {
        matches!(self.info.addr(), ConnectionAddr::Unix(_))
    }
}

impl Node {
    /// The same, at the address that a cluster tells. One without a name is where we asked.
    fn moved_to(&self, (host, port): (String, u16)) -> Self {
        let addr = match self.info.addr() {
            ConnectionAddr::Tcp(asked, _) => {
                ConnectionAddr::Tcp(if host.is_empty() { asked.clone() } else { host }, port)
            }
            ConnectionAddr::TcpTls { host: asked, insecure, tls_params, .. } => ConnectionAddr::TcpTls {
                host: if host.is_empty() { asked.clone() } else { host },
                port,
                insecure: *insecure,
                tls_params: tls_params.clone(),
            },
            other => other.clone(),
        };
        Self { shown: addr.to_string(), info: self.info.clone().set_addr(addr), of_cluster: self.of_cluster }
    }
}

impl fmt::Display for Node {
    /// The address without its password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

/// The Redis that was chosen.
#[derive(Clone, Debug)]
pub(super) enum Server {
    /// One server.
    Single(Box<Node>),
    /// A cluster, by some of its nodes.
    Cluster(Vec<Node>),
    /// Several masters that know nothing of each other.
    Masters(Vec<Node>),
}

impl Server {
    /// Whether connections to it are encrypted.
    pub(super) fn is_encrypted(&self) -> bool {
        let nodes = match self {
            Self::Single(node) => std::slice::from_ref(&**node),
            Self::Cluster(nodes) | Self::Masters(nodes) => nodes,
        };
        nodes.iter().any(|node| matches!(node.info.addr(), ConnectionAddr::TcpTls { .. }))
    }

    /// The client of its first node. What is published on one node of a cluster is heard on all.
    pub(super) fn any_client(&self) -> RedisResult<Client> {
        let info = match self {
            Self::Single(node) => node.info.clone(),
            Self::Cluster(nodes) | Self::Masters(nodes) => nodes
                .first()
                .map(|node| node.info.clone())
                .ok_or((redis::ErrorKind::InvalidClientConfig, "there is no address"))?,
        };
        Client::open(info)
    }

    /// A client for one server.
    pub(super) fn client(node: &Node) -> RedisResult<Client> {
        Client::open(node.info.clone())
    }

    /// A new connection to one server.
    pub(super) fn connect_single(node: &Node) -> RedisResult<Connection> {
        let connection = Client::open(node.info.clone())?.get_connection_with_timeout(PATIENCE)?;
        connection.set_read_timeout(Some(PATIENCE))?;
        connection.set_write_timeout(Some(PATIENCE))?;
        Ok(connection)
    }

    /// A new connection to a cluster. It never sends a command twice by itself: after a lost reply, a second
    /// `SET NX` would be refused by our own first one.
    pub(super) fn connect_cluster(nodes: &[Node]) -> RedisResult<ClusterConnection> {
        let nodes: Vec<_> = nodes.iter().map(|node| node.info.clone()).collect();
        let client = ClusterClient::builder(nodes).connection_timeout(PATIENCE).response_timeout(PATIENCE).build()?;
        let connection = client.get_connection()?;
        connection.set_auto_reconnect(false);
        Ok(connection)
    }
}

/// The masters behind the chosen Redis, one connection each: there, SCAN shows every key once.
impl Server {
    /// The masters of the cluster, or the one server.
    pub(super) fn masters(&self) -> RedisResult<Vec<Node>> {
        let nodes = match self {
            Self::Single(node) => return Ok(vec![(**node).clone()]),
            Self::Cluster(nodes) | Self::Masters(nodes) => nodes,
        };
        let mut refusal = None;
        for node in nodes {
            match Self::connect_single(node).and_then(|mut connection| slots(&mut connection)) {
                Ok(addresses) => return Ok(addresses.into_iter().map(|address| node.moved_to(address)).collect()),
                Err(error) => refusal = Some(error),
            }
        }
        Err(refusal.expect("a cluster has a node that was named"))
    }
}

/// The address of each master: the third of every range that CLUSTER SLOTS lists.
fn slots(connection: &mut Connection) -> RedisResult<BTreeSet<(String, u16)>> {
    let ranges: Vec<Vec<redis::Value>> = redis::cmd("CLUSTER").arg("SLOTS").query(connection)?;
    let address = |range: &Vec<redis::Value>| {
        let (host, port, ..): (String, u16, redis::Value, redis::Value) =
            redis::from_redis_value(range.get(2)?.clone()).ok()?;
        Some((host, port))
    };
    Ok(ranges.iter().filter_map(address).collect())
}

impl fmt::Display for Server {
    /// Its addresses, passwords hidden.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Single(node) => node.fmt(f),
            Self::Cluster(nodes) | Self::Masters(nodes) => {
                let shown: Vec<_> = nodes.iter().map(|node| node.shown.as_str()).collect();
                f.write_str(&shown.join(","))
            }
        }
    }
}

#[test]
fn addresses_are_shown_without_their_secrets() {
    let table = [
        ("redis://127.0.0.1:6379/2", "redis://127.0.0.1:6379/2"),
        ("rediss://default:se@same@redis.example:6380/0?protocol=resp3", "rediss://***@redis.example:6380/0"),
        ("redis+unix:///run/redis.sock?pass=sesame", "redis+unix:///run/redis.sock"),
        ("sesame@redis.example", "***@redis.example"),
        ("http://:sesame@redis.example", "http://***@redis.example"),
    ];
    for (typed, shown) in table {
        assert_eq!(without_secrets(typed), shown, "{typed}");
    }
}
