//! A line of `guard --events`: one event as a JSON object. The commands of observed keys are what `audit` reads.

use serde::{Deserialize, Serialize};

use crate::explore::json::{command, key, known_reply};
use crate::guard::Note;
use crate::proxy::{Occurrence, ProxyEvent};
use crate::wire::{Command, Key, Reply, UnixTime};

/// One line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
#[serde(tag = "event", rename_all = "snake_case")]
pub(crate) enum EventKind {
    /// An observed command; without a reply if that was too long to keep.
    Command {
        #[serde(with = "command")]
        command: Command,
        #[serde(with = "known_reply", default, skip_serializing_if = "Option::is_none")]
        reply: Option<Reply>,
    },
    /// What a guard did or saw.
    Lock {
        #[serde(with = "key")]
        key: Key,
        what: NoteName,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lease_ms: Option<u64>,
    },
}

/// A [`Note`] by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum NoteName {
    Acquired,
    TookOver,
    Refused,
    Released,
    ReleasedLost,
    DelIgnored,
    AttemptWhileHolding,
    Renewed,
    Lost,
    HolderDisconnected,
}

impl EventLine {
    /// The line of an event at this moment.
    pub(super) fn of(event: ProxyEvent, at: UnixTime) -> Self {
        let what = match event.what {
            Occurrence::Exchange(command, reply) => EventKind::Command { command, reply },
            Occurrence::Note(key, note) => {
                let (what, lease) = name(&note);
                let lease_ms = lease.and_then(|lease| u64::try_from(lease.as_millis()).ok());
                EventKind::Lock { key, what, lease_ms }
            }
        };
        let at_us = at.as_nanos() / 1_000;
        Self { at_us, client: event.client.to_string(), database: event.database, what }
    }
}

fn name(note: &Note) -> (NoteName, Option<std::time::Duration>) {
    match note {
        Note::Acquired(lease) => (NoteName::Acquired, Some(*lease)),
        Note::TookOver(lease) => (NoteName::TookOver, Some(*lease)),
        Note::Refused => (NoteName::Refused, None),
        Note::Released => (NoteName::Released, None),
        Note::ReleasedLost => (NoteName::ReleasedLost, None),
        Note::DelIgnored => (NoteName::DelIgnored, None),
        Note::AttemptWhileHolding => (NoteName::AttemptWhileHolding, None),
        Note::Renewed => (NoteName::Renewed, None),
        Note::Lost => (NoteName::Lost, None),
        Note::HolderDisconnected => (NoteName::HolderDisconnected, None),
    }
}
