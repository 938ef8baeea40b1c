//! The smallest permissions of some protocols and commands.

use serde::Serialize;

use super::Report;
use crate::permissions::{ObservingCommand, Permissions};
use crate::protocols::Choice;

/// Permissions of protocols and commands: in JSON an array.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Granted {
    rows: Vec<GrantedRow>,
}

/// One protocol or command: the fields are those of its JSON.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct GrantedRow {
    #[serde(skip_serializing_if = "Option::is_none")]
    protocol: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<&'static str>,
    commands: Vec<String>,
    keys: Vec<String>,
    channels: Vec<String>,
    rule: String,
}

impl Granted {
    /// Those of these protocols and commands on keys of this pattern; without one, on all keys that each protocol derives
    /// from a name, and on all keys.
    pub fn of(choices: &[Choice], commands: &[ObservingCommand], pattern: Option<&str>) -> Self {
        let of_protocol = |choice: &Choice| {
            let derived = choice.key_names().into_iter().map(|name| name.key_of(b"*"));
            let patterns: Vec<String> = match pattern {
                Some(pattern) => vec![pattern.to_owned()],
                None => derived.map(|key| String::from_utf8_lossy(key.as_bytes()).into_owned()).collect(),
            };
            let granted = patterns.iter().map(|pattern| Permissions::of(choice, pattern));
            let granted = granted.reduce(Permissions::and).unwrap_or_default();
            GrantedRow { protocol: Some(choice.to_string()), ..GrantedRow::of(granted) }
        };
        let of_command = |command: &ObservingCommand| {
            let granted = command.permissions(pattern.unwrap_or("*"));
            GrantedRow { command: Some(command.name()), ..GrantedRow::of(granted) }
        };
        Self { rows: choices.iter().map(of_protocol).chain(commands.iter().map(of_command)).collect() }
    }
}

impl GrantedRow {
    fn of(granted: Permissions) -> Self {
        let rule = granted.rule();
        let list = |words: std::collections::BTreeSet<String>| words.into_iter().collect();
        let Permissions { commands, keys, channels } = granted;
        let (commands, keys, channels) = (list(commands), list(keys), list(channels));
        Self { protocol: None, command: None, commands, keys, channels, rule }
    }
}

impl Report for Granted {
    /// A line for each, to follow `ACL SETUSER NAME on >PASSWORD`.
    fn text(&self, _width: Option<u16>) -> String {
        self.rows.iter().map(|row| format!("{}\n", row.rule)).collect()
    }
}
