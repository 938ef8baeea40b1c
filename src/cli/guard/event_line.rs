//! A line of `guard --events`: one event as a JSON object. The commands of observed keys are what `audit` reads.

use std::borrow::Cow;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::audit::Finding;
use crate::explore::json::{command, key, known_reply};
use crate::guard::Note;
use crate::proxy::{Occurrence, ProxyEvent};
use crate::wire::{Command, Key, Reply, UnixTime};

/// One line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct EventLine {
    /// When the reply arrived, by the clock of the guard's host, in microseconds since 1970.
    pub(crate) at_us: i64,
    /// The client's address.
    pub(crate) client: String,
    /// The database that it has selected.
    pub(crate) database: u32,
    #[serde(flatten)]
    pub(crate) what: EventKind,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "event", rename_all = "snake_case")]
pub(crate) enum EventKind {
    /// An observed command; without a reply if that was too long to keep.
    Command {
        #[serde(with = "command")]
        #[cfg_attr(test, schemars(with = "Vec<String>"))]
        command: Command,
        #[serde(with = "known_reply", default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(test, schemars(with = "Option<crate::explore::json::ReplyJson>"))]
        reply: Option<Reply>,
    },
    /// What a guard did or saw.
    Lock {
        #[serde(with = "key")]
        #[cfg_attr(test, schemars(with = "String"))]
        key: Key,
        what: Cow<'static, str>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lease_ms: Option<u64>,
        /// Why it was refused.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        because: Option<Cow<'static, str>>,
    },
    /// A race that was found in observed commands.
    Finding {
        #[serde(with = "key")]
        #[cfg_attr(test, schemars(with = "String"))]
        key: Key,
        /// Its id; `None` if it is not a documented one.
        race: Option<Cow<'static, str>>,
        certainty: Cow<'static, str>,
        clients: Vec<String>,
    },
}

impl EventLine {
    /// The line of an event at this moment.
    pub(super) fn of(event: ProxyEvent, at: UnixTime) -> Self {
        let what = match event.what {
            Occurrence::Exchange(command, reply) => EventKind::Command { command, reply },
            Occurrence::Note(key, note) => {
                let millis = |lease: &Duration| u64::try_from(lease.as_millis()).ok();
                let lease_ms = match &note {
                    Note::Acquired(lease) | Note::TookOver(lease) | Note::Extended(lease) => millis(lease),
                    _ => None,
                };
                let because = match &note {
                    Note::Refused(because) => Some(because.name().into()),
                    _ => None,
                };
                EventKind::Lock { key, what: note.name().into(), lease_ms, because }
            }
        };
        let at_us = at.as_nanos() / 1_000;
        Self { at_us, client: event.client.to_string(), database: event.database, what }
    }

    /// The line of a finding at this moment, caused by a command of this client.
    pub(super) fn of_finding(finding: &Finding, client: &str, at: UnixTime) -> Self {
        let verdict = &finding.verdict;
        let what = EventKind::Finding {
            key: finding.key.clone(),
            race: verdict.race.map(|race| race.name().into()),
            certainty: verdict.certainty.name().into(),
            clients: verdict.clients.iter().map(ToString::to_string).collect(),
        };
        Self { at_us: at.as_nanos() / 1_000, client: client.to_owned(), database: finding.database, what }
    }
}
