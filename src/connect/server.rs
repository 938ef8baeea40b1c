//! What an address names, and within what time it has to answer.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

#[cfg(feature = "tls")]
use redis::RedisResult;

use super::address::{InvalidAddress, Named, named, split};
use super::node::{Node, PasswordSource, Timeouts};

/// A Redis: one server, a cluster, or the master that sentinels name.
///
/// It is parsed from an [address](super). Nothing is connected until [`connect`](Self::connect) or a connection's
/// first command. The default timeouts are 2 s to connect, handshake included, and 1 s to answer a command.
#[derive(Clone, Debug)]
pub struct Server {
    pub(super) place: Arc<Place>,
    pub(super) timeouts: Timeouts,
}

/// Where it is.
#[derive(Clone, Debug)]
pub(super) enum Place {
    /// At one address.
    Single(Node),
    /// At the addresses that these nodes of a cluster name.
    Cluster(Vec<Node>),
    /// At the address that these sentinels name for the service.
    Sentinel { sentinels: Vec<Node>, service: String, template: Node },
}

impl Server {
    /// What these addresses name together: several are nodes of one cluster.
    ///
    /// # Errors
    /// [`InvalidAddress`]: one of them is malformed or cannot be a node of a cluster, or there is none.
    pub fn at<A: AsRef<str>>(addresses: impl IntoIterator<Item = A>) -> Result<Self, InvalidAddress> {
        let addresses: Vec<A> = addresses.into_iter().collect();
        let all = addresses.iter().flat_map(|typed| split(typed.as_ref())).map(named);
        let place = match all.collect::<Result<Vec<_>, _>>()? {
            one if one.len() == 1 => match one.into_iter().next() {
                Some(Named::Single(node)) => Place::Single(node),
                Some(Named::OfCluster(node)) => Place::Cluster(vec![of_cluster(node)?]),
                Some(Named::Master { sentinels, service, template }) => {
                    Place::Sentinel { sentinels, service, template }
                }
                None => return Err(InvalidAddress::new("no address of a Redis is given")),
            },
            several => {
                let nodes = several.into_iter().map(|named| match named {
                    Named::Single(node) | Named::OfCluster(node) => of_cluster(node),
                    Named::Master { template, .. } => Err(InvalidAddress::new(format_args!(
                        "{template} cannot be a node of a cluster: sentinels name one master, in one address"
                    ))),
                });
                Place::Cluster(nodes.collect::<Result<_, _>>()?)
            }
        };
        if matches!(&place, Place::Cluster(nodes) if nodes.is_empty()) {
            return Err(InvalidAddress::new("no address of a Redis is given"));
        }
        Ok(Self { place: Arc::new(place), timeouts: Timeouts::default() })
    }

    /// What each of these addresses names by itself.
    ///
    /// # Errors
    /// [`InvalidAddress`]: one of them is malformed.
    pub fn each<A: AsRef<str>>(addresses: impl IntoIterator<Item = A>) -> Result<Vec<Self>, InvalidAddress> {
        let mut servers = Vec::new();
        for addresses in addresses {
            for address in split(addresses.as_ref()) {
                servers.push(address.parse()?);
            }
        }
        Ok(servers)
    }

    /// The same, where connecting may take this long, handshake and login included.
    #[must_use]
    pub fn connecting_within(mut self, patience: Duration) -> Self {
        self.timeouts.connect = patience.max(SHORTEST);
        self
    }

    /// The same, where a command may take this long to be answered. Its outcome is unknown after that.
    #[must_use]
    pub fn answering_within(mut self, patience: Duration) -> Self {
        self.timeouts.response = patience.max(SHORTEST);
        self
    }

    /// The same, where a command may take a third of `lease` to be answered, if that is shorter than now: a renewal
    /// that is not answered leaves time for another one.
    #[must_use]
    pub fn for_lease(self, lease: Duration) -> Self {
        let response = self.timeouts.response.min(lease / 3);
        self.answering_within(response)
    }

    /// The same, where encrypted connections trust the authority `root_cert`, if one is given, instead of those that
    /// the system trusts, and present the certificate `client_tls`, if one is given. All are in PEM format.
    ///
    /// # Errors
    /// A certificate or key cannot be read.
    #[cfg(feature = "tls")]
    pub fn trusting(mut self, certificates: &redis::TlsCertificates) -> RedisResult<Self> {
        let each =
            |nodes: &[Node]| nodes.iter().map(|node| node.trusting(certificates)).collect::<RedisResult<Vec<_>>>();
        self.place = Arc::new(match &*self.place {
            Place::Single(node) => Place::Single(node.trusting(certificates)?),
            Place::Cluster(nodes) => Place::Cluster(each(nodes)?),
            Place::Sentinel { sentinels, service, template } => Place::Sentinel {
                sentinels: each(sentinels)?,
                service: service.clone(),
                template: template.trusting(certificates)?,
            },
        });
        Ok(self)
    }

    /// The same, where connections log in as `user` and with `password`, if they are given, in place of those of the
    /// address. Sentinels have a login of their own.
    #[must_use]
    pub fn logging_in(self, user: Option<&str>, password: Option<&str>) -> Self {
        self.with_nodes(|node| node.logging_in(user, password))
    }

    /// The same, where each new connection asks `password` for the password to log in with: passwords are replaced while a
    /// program runs. It is called on the thread or the task that connects. Sentinels have a login of their own.
    ///
    /// ```
    /// use lockshift::connect::Server;
    /// let server: Server = "redis://app@redis.example/".parse()?;
    /// let server = server.asking_for_password(|| std::fs::read_to_string("/run/secrets/redis").unwrap_or_default());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn asking_for_password(self, password: impl Fn() -> String + Send + Sync + 'static) -> Self {
        let source = PasswordSource(Arc::new(password));
        self.with_nodes(|node| node.asking_for_password(source.clone()))
    }

    /// The same with other nodes, but for its sentinels.
    fn with_nodes(mut self, node: impl Fn(&Node) -> Node) -> Self {
        self.place = Arc::new(match &*self.place {
            Place::Single(single) => Place::Single(node(single)),
            Place::Cluster(nodes) => Place::Cluster(nodes.iter().map(node).collect()),
            Place::Sentinel { sentinels, service, template } => {
                Place::Sentinel { sentinels: sentinels.clone(), service: service.clone(), template: node(template) }
            }
        });
        self
    }

    /// The first of its addresses that is to be encrypted and answers without encryption, as a plain Redis does. One that
    /// cannot be reached is not among them. A handshake with such a port would wait for its timeout.
    pub fn unencrypted_port(&self) -> Option<String> {
        let Place::Sentinel { sentinels, .. } = &*self.place else {
            return self.named().iter().find_map(Node::unencrypted_port);
        };
        sentinels.iter().find_map(Node::unencrypted_port)
    }

    /// How long a command may take to be answered.
    pub fn response_timeout(&self) -> Duration {
        self.timeouts.response
    }

    /// Whether it is a cluster: then protocols that use WATCH and MULTI cannot be carried.
    pub fn is_cluster(&self) -> bool {
        matches!(*self.place, Place::Cluster(_))
    }

    /// Whether it is one server at a fixed address.
    pub fn is_single(&self) -> bool {
        matches!(*self.place, Place::Single(_))
    }

    /// Whether connections to it send SELECT: its address has a database other than 0.
    pub fn selects_database(&self) -> bool {
        self.named().iter().any(|node| node.info().redis_settings().db() != 0)
    }

    /// The database that connections to it select.
    pub(crate) fn database(&self) -> i64 {
        match &*self.place {
            Place::Single(node) | Place::Sentinel { template: node, .. } => node.info().redis_settings().db(),
            Place::Cluster(_) => 0,
        }
    }

    /// Whether connections to it are encrypted.
    pub fn is_encrypted(&self) -> bool {
        self.named().iter().any(Node::is_encrypted)
    }

    /// The addresses that were given.
    fn named(&self) -> &[Node] {
        match &*self.place {
            Place::Single(node) => std::slice::from_ref(node),
            Place::Cluster(nodes) => nodes,
            Place::Sentinel { template, .. } => std::slice::from_ref(template),
        }
    }
}

/// The shortest time that can be set as the timeout of a socket.
const SHORTEST: Duration = Duration::from_millis(1);

fn of_cluster(node: Node) -> Result<Node, InvalidAddress> {
    if node.is_local() {
        return Err(InvalidAddress::new(format_args!(
            "{node} cannot be a node of a cluster: name its nodes by redis:// or rediss:// addresses"
        )));
    }
    Ok(node)
}

impl FromStr for Server {
    type Err = InvalidAddress;

    fn from_str(typed: &str) -> Result<Self, InvalidAddress> {
        Self::at([typed])
    }
}

impl fmt::Display for Server {
    /// Its addresses as they were typed, passwords hidden.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown: Vec<_> = self.named().iter().map(ToString::to_string).collect();
        f.write_str(&shown.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_addresses_are_one_cluster() {
        let cluster: Server = "redis://a,redis://:sesame@b:1".parse().unwrap();
        assert!(cluster.is_cluster());
        assert_eq!(cluster.to_string(), "redis://a,redis://***@b:1");
        assert!("redis://a?cluster=true".parse::<Server>().unwrap().is_cluster());
        assert!(!"redis://a".parse::<Server>().unwrap().is_cluster());
        for refused in
            ["redis://a,redis+unix:///b", "redis+unix:///b?cluster=true", "redis://a,redis+sentinel://b/m", ""]
        {
            assert!(refused.parse::<Server>().is_err(), "{refused}");
        }
        assert!(Server::at([""; 0]).is_err());
    }

    #[test]
    fn an_address_with_a_database_selects_it() {
        for (typed, selects) in [
            ("redis://a", false),
            ("redis://a/0", false),
            ("redis://a/2", true),
            ("redis+unix:///run/redis.sock?db=2", true),
            ("redis+sentinel://a,b/main", false),
            ("redis+sentinel://a,b/main/3", true),
        ] {
            assert_eq!(typed.parse::<Server>().unwrap().selects_database(), selects, "{typed}");
        }
    }

    #[test]
    fn a_short_lease_shortens_the_wait_for_an_answer_and_a_long_one_leaves_it() {
        let server: Server = "redis://a".parse().unwrap();
        let response = |lease| server.clone().for_lease(Duration::from_millis(lease)).timeouts.response;
        assert_eq!(response(30_000), Duration::from_secs(1));
        assert_eq!(response(600), Duration::from_millis(200));
        assert_eq!(response(0), SHORTEST);
    }
}
