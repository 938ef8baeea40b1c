//! What a checkup finds.

use crate::inspect::{Hazard, ServerHazard};

/// What is examined, in the order of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Subject {
    /// Whether it is the server to connect to, and serves.
    Role,
    /// Whether it has the commands.
    Version,
    /// Whether the user may run them.
    Permissions,
    /// Whether its clock agrees with this machine's.
    Clock,
    /// Whether it keeps what it has granted, and has room for more.
    Memory,
    /// Whether it remembers after a restart, and can save.
    Persistence,
    /// Whether a failover keeps the locks.
    Replicas,
}

impl Subject {
    /// All of them.
    pub const ALL: [Self; 7] =
        [Self::Role, Self::Version, Self::Permissions, Self::Clock, Self::Memory, Self::Persistence, Self::Replicas];

    /// Its name, for people and programs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Role => "role",
            Self::Version => "version",
            Self::Permissions => "permissions",
            Self::Clock => "clock",
            Self::Memory => "memory",
            Self::Persistence => "persistence",
            Self::Replicas => "replicas",
        }
    }
}

/// Something that does not fit, or could not be examined.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DoctorFinding {
    /// It is a Sentinel, which keeps no keys: nothing else is examined.
    IsSentinel,
    /// The user may not run INFO, which says most of this subject.
    InfoRefused {
        /// What was not examined.
        subject: Subject,
    },
    /// It is a replica: it refuses writes.
    IsReplica {
        /// Its master, `host:port`.
        master: String,
    },
    /// It is a node of a cluster, and the client takes it for a single server.
    IsClusterNode,
    /// It is a node of a cluster that is down: it refuses every key, or those of missing masters.
    ClusterIsDown,
    /// It refuses CLUSTER INFO.
    ClusterNotExamined,
    /// It is a node of a cluster, and these protocols of the fleet need single servers: they use WATCH and MULTI, or vote.
    UnsuitedToCluster {
        /// Their names.
        protocols: Vec<String>,
    },
    /// It is still loading its data.
    IsLoading,
    /// Protocols whose scripts write after TIME need Redis 3.2.
    NeedsRedis32 {
        /// Their names.
        protocols: Vec<String>,
    },
    /// It does not know these commands of the fleet: it is too old, or they are renamed or disabled.
    Unknown {
        /// In lower case.
        commands: Vec<String>,
    },
    /// It does not describe its commands.
    CommandsNotExamined,
    /// The user may not run these commands of the fleet on its keys.
    NotAllowed {
        /// The user.
        user: String,
        /// In lower case.
        commands: Vec<String>,
        /// What ACL SETUSER has to add to what it has.
        rule: String,
    },
    /// The user may run none of the commands of the fleet that take keys, so it is another one than that of the fleet: what that
    /// one may was not examined.
    UserOfOtherCommands {
        /// The user.
        user: String,
        /// What ACL SETUSER has to add to what it has, if it is that of the fleet.
        rule: String,
    },
    /// It is older than Redis 7.0, or this user may not ask.
    PermissionsNotExamined,
    /// The clocks are apart.
    Clocks(Hazard),
    /// It refuses TIME.
    ClockNotExamined,
    /// It could not write to its disk the last time.
    CannotSave {
        /// Whether it refuses writes for that; `None` where this user may not ask how it is configured.
        refuses_writes: Option<bool>,
    },
    /// It has no append-only file and has saved no snapshot since it was started.
    HasSavedNothing,
    /// INFO lacks its memory limit, or what it does there, and this user may not ask.
    MemoryNotExamined,
    /// It has used nine tenths of its memory or more, and refuses writes when that is full.
    NearlyFull {
        /// Used, in bytes.
        used: u64,
        /// The limit, in bytes.
        limit: u64,
    },
    /// It has fewer replicas that confirm in time than `min-replicas-to-write` says, and refuses writes.
    TooFewReplicas {
        /// How many confirm in time.
        in_time: u64,
        /// How many it wants; `None` where this user may not ask.
        wanted: Option<u64>,
    },
    /// What endangers every lock of a server.
    Server(ServerHazard),
}

impl DoctorFinding {
    /// What it is about.
    pub fn subject(&self) -> Subject {
        match self {
            Self::IsSentinel
            | Self::IsReplica { .. }
            | Self::IsClusterNode
            | Self::ClusterIsDown
            | Self::ClusterNotExamined
            | Self::UnsuitedToCluster { .. }
            | Self::IsLoading => Subject::Role,
            Self::InfoRefused { subject } => *subject,
            Self::NeedsRedis32 { .. } | Self::Unknown { .. } | Self::CommandsNotExamined => Subject::Version,
            Self::NotAllowed { .. } | Self::UserOfOtherCommands { .. } | Self::PermissionsNotExamined => {
                Subject::Permissions
            }
            Self::Clocks(_) | Self::ClockNotExamined => Subject::Clock,
            Self::MemoryNotExamined | Self::NearlyFull { .. } | Self::Server(ServerHazard::Evicts { .. }) => {
                Subject::Memory
            }
            Self::CannotSave { .. } | Self::HasSavedNothing | Self::Server(ServerHazard::ForgetsOnRestart) => {
                Subject::Persistence
            }
            Self::TooFewReplicas { .. } | Self::Server(ServerHazard::WritesAlone { .. }) => Subject::Replicas,
        }
    }

    /// How it counts.
    pub fn weight(&self) -> Weight {
        match self {
            Self::ClusterNotExamined
            | Self::InfoRefused { .. }
            | Self::CommandsNotExamined
            | Self::UserOfOtherCommands { .. }
            | Self::PermissionsNotExamined
            | Self::ClockNotExamined
            | Self::MemoryNotExamined
            | Self::CannotSave { refuses_writes: None } => Weight::NotExamined,
            Self::CannotSave { refuses_writes: Some(false) } | Self::HasSavedNothing => Weight::Notable,
            _ => Weight::Harmful,
        }
    }
}

/// How a finding counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Weight {
    /// It should be changed.
    Harmful,
    /// It could not be examined, and may be harmful.
    NotExamined,
    /// Good to know.
    Notable,
}
