//! What the proxy has counted.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::leases::Overrun;
use super::server_refusal::ServerRefusal;
use crate::guard::{Note, RefusedBecause};
use crate::race_id::RaceId;

/// Counters that all connections share.
#[derive(Debug, Default)]
pub struct ProxyCounters {
    connections: AtomicU64,
    open: AtomicU64,
    acquired: AtomicU64,
    taken_over: AtomicU64,
    refused: AtomicU64,
    released: AtomicU64,
    lost: AtomicU64,
    deletions_prevented: AtomicU64,
    attempts_while_holding: AtomicU64,
    renewed: AtomicU64,
    lost_while_holding: AtomicU64,
    holders_disconnected: AtomicU64,
    withdrawn: AtomicU64,
    outcomes_unknown: AtomicU64,
    overruns: AtomicU64,
    unaudited: AtomicU64,
    prevented: ByName,
    found: ByName,
    server_refusals: ByName,
}

/// The races that the guard prevents.
pub(super) const PREVENTABLE: [RaceId; 3] = [RaceId::DoubleTakeover, RaceId::LateUnlock, RaceId::Overrun];
/// The name of a race that is not a documented one.
pub(super) const UNEXPLAINED: &str = "unexplained";

/// Counts by name.
#[derive(Debug, Default)]
struct ByName(Mutex<BTreeMap<&'static str, u64>>);

impl ByName {
    fn add(&self, name: &'static str) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(name).or_default() += 1;
    }

    fn counts(&self) -> BTreeMap<&'static str, u64> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Their values at a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(feature = "cli", derive(serde::Serialize))]
pub struct ProxyCounts {
    /// Client connections so far.
    pub connections: u64,
    /// Client connections now.
    pub open_connections: u64,
    /// Those of them that have the settings before the latest: their clients hold locks, try to, or are inside a
    /// transaction.
    pub connections_with_old_settings: u64,
    /// Which keys are guarded, and how.
    pub guards: Vec<GuardedPattern>,
    /// Free locks that were acquired.
    pub acquired: u64,
    /// Expired locks that were taken over.
    pub taken_over: u64,
    /// Attempts that were refused.
    pub refused: u64,
    /// Locks that were released by their holders.
    pub released: u64,
    /// Releases of locks that had been lost.
    pub lost: u64,
    /// DELs that were ignored, as the client did not hold a lock of the key: whether another client did is not asked.
    pub deletions_prevented: u64,
    /// Attempts on a connection that held the lock: several clients share it, or a holder did not release.
    pub attempts_while_holding: u64,
    /// Times that a lock was extended.
    pub renewed: u64,
    /// Locks that could not be extended, because another client had overwritten or deleted them.
    pub lost_while_holding: u64,
    /// Connections that ended while their client held a lock.
    pub holders_disconnected: u64,
    /// Acquired locks that were deleted because the connection ended before their client was answered.
    pub withdrawn: u64,
    /// Attempts during which the connection to the server ended: the lock may have been written.
    pub outcomes_unknown: u64,
    /// Releases after the end of the lease, of locks that the guard had not extended until then.
    pub overruns: u64,
    /// Commands of observed keys that the audit has left out, because it was slower.
    pub unaudited: u64,
    /// How often the guard has prevented a race, by its id.
    pub prevented: BTreeMap<&'static str, u64>,
    /// How often a race was found in the commands of observed keys, by its id; `unexplained`, if it is not a documented one.
    pub found: BTreeMap<&'static str, u64>,
    /// Clients without a server, by the reason: `unreachable`, the name of the TLS alert by which the server refused the guard,
    /// or `ended` if the server ended the connection before its first reply.
    pub server_refusals: BTreeMap<&'static str, u64>,
}

/// Keys that are guarded.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(feature = "cli", derive(serde::Serialize))]
pub struct GuardedPattern {
    /// A pattern, as KEYS takes it.
    pub pattern: String,
    /// What the guard does with their commands: `observe`, `protect` or `bridge`.
    pub mode: &'static str,
}

impl ProxyCounters {
    /// Counts what happened to a lock.
    pub(super) fn note(&self, note: &Note) {
        let counters: &[&AtomicU64] = match note {
            Note::Acquired(_) => &[&self.acquired],
            Note::TookOver(_) => &[&self.taken_over],
            Note::Refused(because) => {
                match because {
                    RefusedBecause::Overtaken => self.prevented(RaceId::DoubleTakeover),
                    RefusedBecause::TooLate => self.prevented(RaceId::Overrun),
                    _ => {}
                }
                &[&self.refused]
            }
            Note::Released => &[&self.released],
            Note::ReleasedLost => &[&self.lost, &self.deletions_prevented],
            Note::DelIgnored => &[&self.deletions_prevented],
            Note::AttemptWhileHolding => &[&self.attempts_while_holding],
            Note::Renewed | Note::Extended(_) => &[&self.renewed],
            Note::Lost => &[&self.lost_while_holding],
            Note::HolderDisconnected => &[&self.holders_disconnected],
            Note::Withdrawn => &[&self.withdrawn],
            Note::OutcomeUnknown => &[&self.outcomes_unknown],
        };
        for counter in counters {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(super) fn connected(&self) {
        self.connections.fetch_add(1, Ordering::Relaxed);
        self.open.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn disconnected(&self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
    }

    /// A client has released a lock after the end of its lease.
    pub(super) fn overran(&self, overrun: Overrun) {
        match overrun {
            Overrun::Covered => self.prevented(RaceId::Overrun),
            Overrun::Happened => drop(self.overruns.fetch_add(1, Ordering::Relaxed)),
        }
    }

    /// The guard has prevented a race.
    pub(super) fn prevented(&self, race: RaceId) {
        debug_assert!(PREVENTABLE.contains(&race), "{race} is not among the metrics");
        self.prevented.add(race.name());
    }

    /// A race was found in the commands of observed keys; `None` if it is not a documented one.
    pub fn found(&self, race: Option<RaceId>) {
        self.found.add(race.map_or(UNEXPLAINED, RaceId::name));
    }

    /// A client has no server.
    pub(super) fn refused_by_server(&self, refusal: &ServerRefusal) {
        self.server_refusals.add(refusal.name());
    }

    /// So many commands of observed keys were not audited.
    pub fn unaudited(&self, commands: u64) {
        self.unaudited.fetch_add(commands, Ordering::Relaxed);
    }

    /// Client connections now.
    pub(super) fn open(&self) -> u64 {
        self.open.load(Ordering::Relaxed)
    }

    /// Their values now, without what depends on the settings.
    pub fn counts(&self) -> ProxyCounts {
        let value = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        ProxyCounts {
            connections: value(&self.connections),
            open_connections: value(&self.open),
            connections_with_old_settings: 0,
            guards: Vec::new(),
            acquired: value(&self.acquired),
            taken_over: value(&self.taken_over),
            refused: value(&self.refused),
            released: value(&self.released),
            lost: value(&self.lost),
            deletions_prevented: value(&self.deletions_prevented),
            attempts_while_holding: value(&self.attempts_while_holding),
            renewed: value(&self.renewed),
            lost_while_holding: value(&self.lost_while_holding),
            holders_disconnected: value(&self.holders_disconnected),
            withdrawn: value(&self.withdrawn),
            outcomes_unknown: value(&self.outcomes_unknown),
            overruns: value(&self.overruns),
            unaudited: value(&self.unaudited),
            prevented: self.prevented.counts(),
            found: self.found.counts(),
            server_refusals: self.server_refusals.counts(),
        }
    }
}

impl ProxyCounts {
    /// Each count of something that happened with its name and what it counts, in their order.
    pub fn rows(&self) -> [(&'static str, &'static str, u64); 15] {
        [
            ("connections", "Client connections", self.connections),
            ("acquired", "Free locks that were acquired", self.acquired),
            ("taken_over", "Expired locks that were taken over", self.taken_over),
            ("refused", "Attempts that were refused", self.refused),
            ("released", "Locks that were released by their holders", self.released),
            ("lost", "Releases of locks that had been lost", self.lost),
            ("deletions_prevented", "DELs of a lock that the client did not hold", self.deletions_prevented),
            ("attempts_while_holding", "Attempts on a connection that held the lock", self.attempts_while_holding),
            ("renewed", "Extensions of held locks", self.renewed),
            ("lost_while_holding", "Held locks that could not be extended", self.lost_while_holding),
            (
                "holders_disconnected",
                "Connections that ended while their client held a lock",
                self.holders_disconnected,
            ),
            ("withdrawn", "Locks deleted because their client left before it was answered", self.withdrawn),
            ("outcomes_unknown", "Attempts during which the server's connection ended", self.outcomes_unknown),
            ("overruns", "Releases after the end of the lease", self.overruns),
            ("unaudited", "Commands of observed keys that the audit left out", self.unaudited),
        ]
    }
}
