//! How finely steps are cut, as one types it.

use crate::explore::Grain;

/// How finely steps are cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum StepCut {
    /// Reading the clock, sending a command and receiving its reply are three steps
    Fine,
    /// A round trip is one step, and a clock reading before an operation's first command another
    Medium,
    /// A round trip is one step
    Coarse,
}

impl StepCut {
    /// What it means.
    pub(super) fn grain(self) -> Grain {
        match self {
            Self::Fine => Grain::Fine,
            Self::Medium => Grain::Medium,
            Self::Coarse => Grain::Coarse,
        }
    }
}
