//! What can go wrong between a lock and its server, and what to do about it.

use std::fmt;

/// What went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// `WRONGTYPE`: the key, or one that the lock keeps beside it, holds another type.
    WrongType,
    /// `READONLY`: this is a replica.
    ReadOnly,
    /// `OOM`: the server is out of memory.
    OutOfMemory,
    /// `NOAUTH`, `WRONGPASS`: not logged in.
    NotAuthenticated,
    /// `NOPERM`: logged in, but not allowed.
    NoPermission,
    /// `LOADING`: the server is starting.
    Loading,
    /// `BUSY`: a script runs.
    Busy,
    /// `MISCONF`: the server cannot save, and accepts no writes.
    CannotSave,
    /// `NOREPLICAS`: too few replicas, no writes.
    TooFewReplicas,
    /// `MASTERDOWN`: a replica without its master.
    MasterDown,
    /// `CLUSTERDOWN`, `TRYAGAIN`: the cluster does not serve this key now.
    ClusterDown,
    /// `MOVED`, `ASK`: a cluster, spoken to as a single server.
    OtherNode,
    /// `CROSSSLOT`: the lock's keys live on several nodes.
    CrossSlot,
    /// `ERR unknown command`: the server does not speak this protocol.
    UnknownCommand,
    /// A script that writes after it has read the time: the server is older than Redis 3.2.
    TooOld,
    /// Redis refused for another reason.
    Refused,
    /// The reply is not a valid Redis reply.
    NotRedis,
    /// No process listens at the address.
    ConnectionRefused,
    /// The server did not answer in time.
    TimedOut,
    /// The connection broke.
    Disconnected,
    /// The connection could not be made or used, for another reason.
    Unusable,
    /// Of the several servers of the lock too few can be used: they do not answer, or refuse.
    TooFewServers,
    /// The lock is on more servers than are connected.
    TooFewConnected,
    /// The lock was acquired and released again: too few replicas acknowledged it in time. See
    /// [`Replication`](crate::driver::Replication).
    NotReplicated,
    /// The protocol uses WATCH and MULTI, or waits for replicas, and the connection is shared or a cluster's.
    SharedConnection,
    /// The connection is a cluster connection of the `redis` crate, which sends commands again by itself.
    ResendingConnection,
    /// Random bits cannot be drawn.
    NoRandomness,
    /// A thread cannot be started.
    NoThread,
    /// There is no tokio runtime, or the one on which the lock was acquired has been shut down.
    NoRuntime,
}

impl ErrorKind {
    /// Whether the same attempt may succeed a little later without any change: the server restarts, a
    /// replica takes over, the network was interrupted.
    pub const fn is_transient(self) -> bool {
        match self {
            Self::ReadOnly
            | Self::Loading
            | Self::Busy
            | Self::TooFewReplicas
            | Self::MasterDown
            | Self::ClusterDown
            | Self::ConnectionRefused
            | Self::TimedOut
            | Self::Disconnected
            | Self::NotReplicated
            | Self::TooFewServers => true,
            Self::WrongType
            | Self::OutOfMemory
            | Self::NotAuthenticated
            | Self::NoPermission
            | Self::CannotSave
            | Self::OtherNode
            | Self::CrossSlot
            | Self::UnknownCommand
            | Self::TooOld
            | Self::Refused
            | Self::NotRedis
            | Self::Unusable
            | Self::TooFewConnected
            | Self::SharedConnection
            | Self::ResendingConnection
            | Self::NoRandomness
            | Self::NoThread
            | Self::NoRuntime => false,
        }
    }

    /// What is wrong, without what to do about it.
    #[cfg(feature = "cli")]
    pub(crate) const fn problem(self) -> &'static str {
        self.words().0
    }

    /// What is wrong, and what to do.
    const fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::WrongType => (
                "it, or a key that the lock keeps beside it, holds another type than this lock writes",
                "choose another key",
            ),
            Self::ReadOnly => ("the server is a replica and refuses writes", "connect to its master"),
            Self::OutOfMemory => ("the server is out of memory and refuses writes", "raise `maxmemory` or free some"),
            Self::NotAuthenticated => ("the server wants another login", "check user and password of the connection"),
            Self::NoPermission => (
                "this user may not run the lock's commands on it",
                "grant them with ACL SETUSER: `lockshift protocols --acl PROTOCOL` prints which",
            ),
            Self::Loading => ("the server is still loading its data", "try again when it is up"),
            Self::Busy => ("a script keeps the server busy", "wait for its end, or end it with SCRIPT KILL"),
            Self::CannotSave => ("the server cannot save to its disk and refuses writes", "see the server's log"),
            Self::TooFewReplicas => ("the server has too few replicas to accept writes", "see `min-replicas-to-write`"),
            Self::MasterDown => ("the server is a replica that has lost its master", "connect to the present master"),
            Self::ClusterDown => ("the cluster does not serve this key at the moment", "check CLUSTER INFO, try again"),
            Self::OtherNode => ("another node of a cluster has this key", "connect to the cluster, not to one server"),
            Self::CrossSlot => ("the lock's keys are on several nodes", "put braces around the name, as in `{name}`"),
            Self::UnknownCommand => {
                ("the server does not know a command of this lock", "upgrade it, or use another protocol")
            }
            Self::TooOld => ("this lock needs Redis 3.2 or later", "upgrade the server, or use another protocol"),
            Self::Refused => ("the server refused a command of this lock", "its own words say why"),
            Self::NotRedis => ("the reply is not a valid Redis reply", "check the address, and any proxy in between"),
            Self::ConnectionRefused => ("no server answers at the address", "start the server, or correct the address"),
            Self::TimedOut => ("the server did not answer in time", "check its load and the network, then try again"),
            Self::Disconnected => ("the connection broke", "connect anew and try again"),
            Self::Unusable => ("the connection cannot be used", "see the cause"),
            Self::TooFewServers => {
                ("too few of the servers can be used", "see the cause for each of them, then try again")
            }
            Self::TooFewConnected => ("the lock is on more servers than are connected", "connect to all of them"),
            Self::NotReplicated => {
                ("too few replicas have it, so it was released again", "see the cause, and whether they are connected")
            }
            Self::SharedConnection => (
                "this lock uses WAIT, or WATCH and MULTI",
                "give it a connection of its own, to one server, not a cluster's",
            ),
            Self::ResendingConnection => (
                "this cluster connection sends commands again by itself",
                "use one of `lockshift::connect`, which never does",
            ),
            Self::NoRandomness => {
                ("cannot draw random bits, without which owners cannot be distinguished", "see the cause")
            }
            Self::NoThread => ("cannot start the renewal thread", "see the cause, and lower the number of threads"),
            Self::NoRuntime => (
                "no tokio runtime is running here, or the runtime of this lock has ended",
                "use the lock inside of one that runs",
            ),
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (problem, remedy) = self.words();
        write!(f, "{problem}: {remedy}")
    }
}
