//! What the commands of this program need that hold no lock: a row each.

use std::collections::BTreeSet;
use std::fmt;

use super::Permissions;

/// A command of this program that looks at a server, or at what runs on it, and holds no lock. `run`, `compare` and `guard`
/// need what their protocol needs; `audit`, `dry-run` and `odds` read files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObservingCommand {
    name: &'static str,
    sends: &'static [&'static str],
    reads_keys: bool,
}

const fn row(name: &'static str, reads_keys: bool, sends: &'static [&'static str]) -> ObservingCommand {
    ObservingCommand { name, sends, reads_keys }
}

impl ObservingCommand {
    /// All of them.
    pub const ALL: &[Self] = &[
        row(
            "inspect",
            true,
            &["getrange", "hgetall", "hlen", "info", "memory|usage", "pttl", "time", "type", "zcard", "zrange"],
        ),
        row(
            "scan",
            true,
            &[
                "dbsize",
                "getrange",
                "hgetall",
                "hlen",
                "hrandfield",
                "info",
                "memory|usage",
                "pttl",
                "scan",
                "zcard",
                "zrange",
            ],
        ),
        row("doctor", false, &["acl|dryrun", "acl|whoami", "command|info", "info", "time"]),
        row("record", false, &["client|id", "monitor", "role"]),
        row("watch", false, &["client|id", "client|list", "info", "monitor", "ping", "role"]),
    ];

    /// The one of this name.
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|command| command.name == name).copied()
    }

    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        self.name
    }

    /// What it needs on a single server of Redis 7.0 or later, to look at keys of this pattern.
    pub fn permissions(self, pattern: &str) -> Permissions {
        Permissions {
            commands: self.sends.iter().map(ToString::to_string).collect(),
            keys: self.reads_keys.then(|| pattern.to_owned()).into_iter().collect(),
            channels: BTreeSet::new(),
        }
    }
}

impl fmt::Display for ObservingCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}
