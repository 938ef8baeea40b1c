//! Which server is simulated.

/// Which server is simulated: the native compare commands that it has, and the version it names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Flavour {
    /// Redis 7.0: no native compare commands.
    #[default]
    Redis70,
    /// Redis 8.4: `SET IFEQ`, `DELEX`.
    Redis84,
    /// Valkey 9.0: `SET IFEQ`, `DELIFEQ`.
    Valkey9,
}

impl Flavour {
    /// Every flavour.
    pub const ALL: [Self; 3] = [Self::Redis70, Self::Redis84, Self::Valkey9];

    /// The name by which the server introduces itself.
    pub fn server_name(self) -> &'static str {
        match self {
            Self::Redis70 | Self::Redis84 => "redis",
            Self::Valkey9 => "valkey",
        }
    }

    /// The server's own version.
    pub fn version(self) -> &'static str {
        match self {
            Self::Redis70 => "7.0.15",
            Self::Redis84 => "8.4.0",
            Self::Valkey9 => "9.0.0",
        }
    }

    /// Whether MULTI or WATCH between MULTI and EXEC makes EXEC fail, beside being refused.
    pub(super) fn nesting_spoils(self) -> bool {
        match self {
            Self::Redis70 | Self::Redis84 => false,
            Self::Valkey9 => true,
        }
    }

    /// Whether SET knows IFEQ.
    pub(super) fn sets_if_equal(self) -> bool {
        match self {
            Self::Redis70 => false,
            Self::Redis84 | Self::Valkey9 => true,
        }
    }
}
