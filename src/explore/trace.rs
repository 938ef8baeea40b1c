//! One schedule, step by step: the form that the explorer, a replay, an audit and every rendering share.
//!
//! With the feature `cli` a trace is written to JSON and read back, losing nothing. Traces of version 1, which told what a
//! step meant in words, are read as well.

#[cfg(feature = "cli")]
pub(crate) mod json;
mod replay;
#[cfg(feature = "cli")]
mod version1;

pub use replay::Mismatch;

use std::borrow::Cow;

use super::outcome::Event;
use super::property::Property;
use super::scene::{Bounds, Grain};
use super::world::Action;
use crate::wire::{Command, Key, Reply};

/// One schedule, step by step. Times are in milliseconds from its start.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(serde::Serialize, serde::Deserialize))]
pub struct Trace {
    /// The version of this form: [`Trace::VERSION`], whichever version it was read from.
    #[cfg_attr(feature = "cli", serde(deserialize_with = "version1::current"))]
    pub version: u32,
    /// The property that the schedule violates.
    pub property: Property,
    /// The step that broke the rule: its place among the steps.
    pub blame: Option<usize>,
    /// How far the search that found it went.
    pub bounds: Bounds,
    /// How finely the clients' steps are cut.
    pub grain: Grain,
    /// How long a tick is.
    pub tick_ms: u64,
    /// The server's wall clock at the start, in milliseconds since 1970.
    pub begin_ms: i64,
    /// Who took part.
    pub actors: Vec<Role>,
    /// The keys that are watched.
    #[cfg_attr(feature = "cli", serde(with = "json::keys"))]
    pub keys: Vec<Key>,
    /// What made the start state.
    pub prelude: Vec<PriorCommand>,
    /// The steps.
    pub steps: Vec<Step>,
    /// Which of them can repeat for ever, where the property is about schedules without end.
    #[cfg_attr(feature = "cli", serde(default, skip_serializing_if = "Option::is_none"))]
    pub cycle: Option<Cycle>,
}

/// The steps of a schedule that can repeat for ever: from one of them to the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(serde::Serialize, serde::Deserialize))]
pub struct Cycle {
    /// The place of the first of them among the steps.
    pub from: usize,
    /// The client that wants the lock all the time: its place among the actors.
    pub starving: usize,
}

/// A participant.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(serde::Serialize, serde::Deserialize))]
pub struct Role {
    /// `A`, `B`, ...
    pub name: String,
    /// The protocol's name.
    pub protocol: String,
    /// For how long it holds.
    pub lease_ms: u64,
    /// How far its wall clock is ahead of the server's.
    pub skew_ms: i64,
    /// Which lock it is after, if there are several.
    pub lock: u8,
    /// Whether it shares that lock with others who do: it reads.
    pub shares: bool,
}

/// A command before the start.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(serde::Serialize, serde::Deserialize))]
pub struct PriorCommand {
    /// How long before the start.
    pub ms_before: u64,
    /// The command.
    #[cfg_attr(feature = "cli", serde(with = "json::command"))]
    pub command: Command,
    /// What it was answered.
    #[cfg_attr(feature = "cli", serde(with = "json::reply"))]
    pub reply: Reply,
}

/// One step.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(serde::Serialize, serde::Deserialize), serde(try_from = "version1::AnyStep"))]
pub struct Step {
    /// What the explorer did.
    pub action: Action,
    /// Who acts: the place among the actors; `None` for the clock and the server.
    pub actor: Option<usize>,
    /// When.
    pub at_ms: u64,
    /// The wall clock of every actor, in milliseconds since 1970.
    pub clocks_ms: Vec<i64>,
    /// The command that the server ran, if one did.
    pub exchange: Option<Exchange>,
    /// What it meant.
    pub event: Event,
    /// Keys and beliefs before.
    pub before: Snapshot,
    /// Keys and beliefs after.
    pub after: Snapshot,
}

/// A command and its reply.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(serde::Serialize, serde::Deserialize))]
pub struct Exchange {
    /// What the server ran.
    #[cfg_attr(feature = "cli", serde(with = "json::command"))]
    pub command: Command,
    /// What it answered.
    #[cfg_attr(feature = "cli", serde(with = "json::reply"))]
    pub reply: Reply,
}

/// Keys and beliefs at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(serde::Serialize, serde::Deserialize))]
pub struct Snapshot {
    /// What each watched key holds.
    pub keys: Vec<Option<Content>>,
    /// What each actor believes to hold.
    pub beliefs: Vec<Option<Belief>>,
}

/// What a key holds.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(serde::Serialize, serde::Deserialize))]
pub struct Content {
    /// What TYPE answers.
    pub kind: String,
    /// The value, as a person reads it.
    pub value: String,
    /// How long the key still lives; `None`: for ever.
    pub ttl_ms: Option<u64>,
}

/// What an actor believes to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(serde::Serialize, serde::Deserialize))]
pub struct Belief {
    /// From when.
    pub from_ms: u64,
    /// The first moment at which it no longer does; `None`: until it releases.
    pub until_ms: Option<u64>,
}

impl Trace {
    /// The version of this form that this library writes.
    pub const VERSION: u32 = 2;

    /// The name of what acts in a step: the client's, `clock` or `server`.
    pub fn name_of(&self, step: &Step) -> Cow<'_, str> {
        match (step.actor, step.action.server()) {
            (Some(actor), _) => self.actors.get(actor).map_or("?", |role| &role.name).into(),
            (None, None) => "clock".into(),
            (None, Some(0)) => "server".into(),
            (None, Some(place)) => format!("server @{place}").into(),
        }
    }

    /// Every command that a server ran, those of the start state first.
    pub fn commands(&self) -> impl Iterator<Item = &Command> {
        let before = self.prelude.iter().map(|prior| &prior.command);
        before.chain(self.steps.iter().filter_map(|step| Some(&step.exchange.as_ref()?.command)))
    }

    /// Who believes at this moment to hold what another believes to hold: the places among the actors.
    pub fn clashing(&self, snapshot: &Snapshot) -> Vec<usize> {
        let believers: Vec<usize> = (0..self.actors.len()).filter(|who| snapshot.beliefs[*who].is_some()).collect();
        let clash = |one: usize, other: usize| {
            let (one, other) = (&self.actors[one], &self.actors[other]);
            one.lock == other.lock && !(one.shares && other.shares)
        };
        let has_rival = |who: &usize| believers.iter().any(|other| other != who && clash(*who, *other));
        believers.iter().copied().filter(has_rival).collect()
    }
}
