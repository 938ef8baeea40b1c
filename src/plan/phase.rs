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
    /// The old clients alone, behind guards that observe.
    LegacyObserved,
    /// Old clients, some of them behind guards in bridge mode.
    LegacyAndGuard,
    /// Old clients behind guards in bridge mode, all of them.
    Guard,
    /// The same, and clients that only speak the new protocol.
    GuardAndModern,
    /// Clients that only speak the new protocol, alone.
    Modern,
}

/// What stands between the old clients and the new protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Bridges in place of the old clients.
    Bridge,
    /// Guards before the old clients, which stay as they are.
    Guard,
}

impl Way {
    /// Its phases, in their order.
    pub const fn phases(self) -> &'static [Phase] {
        match self {
            Self::Bridge => {
                &[Phase::Legacy, Phase::LegacyAndBridge, Phase::Bridge, Phase::BridgeAndModern, Phase::Modern]
            }
            Self::Guard => &[
                Phase::Legacy,
                Phase::LegacyObserved,
                Phase::LegacyAndGuard,
                Phase::Guard,
                Phase::GuardAndModern,
                Phase::Modern,
            ],
        }
    }
}

impl Way {
    /// How many phases are explored from this one on: one whose clients behave as in the phase before is not.
    pub fn explored_from(self, phase: Phase) -> u32 {
        let rest = self.phases().iter().skip_while(|other| **other != phase);
        rest.map(|phase| u32::from(*phase != Phase::LegacyObserved)).sum()
    }
}

impl Phase {
    /// Its name in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Legacy => "legacy",
            Self::LegacyAndBridge => "legacy + bridge",
            Self::Bridge => "bridge",
            Self::BridgeAndModern => "bridge + modern",
            Self::LegacyObserved => "legacy, observed",
            Self::LegacyAndGuard => "legacy + guard",
            Self::Guard => "guard",
            Self::GuardAndModern => "guard + modern",
            Self::Modern => "modern",
        }
    }

    /// Whether old clients take part.
    pub const fn has_legacy(self) -> bool {
        matches!(self, Self::Legacy | Self::LegacyAndBridge | Self::LegacyObserved | Self::LegacyAndGuard)
    }

    /// Whether an old client may have died that no bridge and no guard has known: one takes part, or did in the phase before.
    pub(super) const fn follows_legacy(self) -> bool {
        self.has_legacy() || matches!(self, Self::Bridge | Self::Guard)
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
