//! The phases of a migration.

use std::fmt;

/// A phase of a migration: which protocols take part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// The old clients alone.
    Legacy,
    /// Old clients and bridges.
    LegacyAndBridge,
    /// Bridges alone.
    Bridge,
    /// Bridges, and clients that only speak the new protocol.
    BridgeAndModern,
    /// Those alone.
    Modern,
}

impl Phase {
    /// All of them, in their order.
    pub const ALL: [Self; 5] = [Self::Legacy, Self::LegacyAndBridge, Self::Bridge, Self::BridgeAndModern, Self::Modern];

    /// Its name in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Legacy => "legacy",
            Self::LegacyAndBridge => "legacy + bridge",
            Self::Bridge => "bridge",
            Self::BridgeAndModern => "bridge + modern",
            Self::Modern => "modern",
        }
    }

    /// Whether old clients take part.
    pub const fn has_legacy(self) -> bool {
        matches!(self, Self::Legacy | Self::LegacyAndBridge)
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
