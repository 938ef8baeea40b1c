//! The smallest permissions of some protocols.

use serde::Serialize;

use super::Report;
use crate::permissions::Permissions;
use crate::protocols::Choice;

/// Permissions of protocols: in JSON an array.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Granted {
    protocols: Vec<GrantedRow>,
}

/// One protocol: the fields are those of its JSON.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct GrantedRow {
    protocol: String,
    commands: Vec<String>,
    keys: Vec<String>,
    channels: Vec<String>,
    rule: String,
}

impl Granted {
    /// Those of these protocols on keys of this pattern, or on all keys that each derives from a name.
    pub fn of(choices: &[Choice], pattern: Option<&str>) -> Self {
        let row = |choice: &Choice| {
            let derived = choice.key_names().into_iter().map(|name| name.key_of(b"*"));
            let patterns: Vec<String> = match pattern {
                Some(pattern) => vec![pattern.to_owned()],
                None => derived.map(|key| String::from_utf8_lossy(key.as_bytes()).into_owned()).collect(),
            };
            let granted = patterns.iter().map(|pattern| Permissions::of(choice, pattern));
            let granted = granted.reduce(Permissions::and).unwrap_or_default();
            let rule = granted.rule();
            let list = |words: std::collections::BTreeSet<String>| words.into_iter().collect();
            let Permissions { commands, keys, channels } = granted;
            let (commands, keys, channels) = (list(commands), list(keys), list(channels));
            GrantedRow { protocol: choice.to_string(), commands, keys, channels, rule }
        };
        Self { protocols: choices.iter().map(row).collect() }
    }
}

impl Report for Granted {
    /// A line for each protocol, to follow `ACL SETUSER NAME on >PASSWORD`.
    fn text(&self, _width: Option<u16>) -> String {
        self.protocols.iter().map(|row| format!("{}\n", row.rule)).collect()
    }
}
