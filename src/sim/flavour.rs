//! Which server is simulated.

/// Which server is simulated: the native compare commands that it has, and the version it names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
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
}
