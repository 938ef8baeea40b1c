//! `--mode`.

/// What the guard does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum GuardMode {
    /// It changes nothing, and reports the commands and their replies: for these protocols or any other
    Observe,
    #[default]
    /// It decides which client acquires; clients without a guard may share the keys
    Protect,
    /// The same, and it holds the new key `{key}:token` as a bridge does: clients of new locks may share the lock
    Bridge,
}

impl GuardMode {
    /// Its name on the command line.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Observe => "observe",
            Self::Protect => "protect",
            Self::Bridge => "bridge",
        }
    }
}
