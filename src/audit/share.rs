//! The locks that one thread judges, with what it has found of them.

use std::collections::BTreeMap;
use std::time::Duration;

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::client_names::ClientNames;
use super::episode::Episode;
use super::event::LockEvent;
use super::finding::{Certainty, Finding};
use super::findings::FindingList;
use super::grammar::Grammar;
use super::live::{HoldEvent, LiveLock};
use super::lock::AuditedLock;
use super::locks::{LockId, without_java_header};
use crate::monitor::{Line, Source};
use crate::wire::UnixTime;

/// A lock that is silent for this long is forgotten, even if it is held.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(600);
/// A lock that is free and silent for this long is forgotten.
const IDLE_AFTER: Duration = Duration::from_secs(5);

/// The locks that one thread judges.
#[derive(Debug)]
pub(super) struct LockShare {
    locks: HashMap<LockId, AuditedLock, FxBuildHasher>,
    /// The names of clients whose commands came as they were listed.
    pub(super) names: ClientNames,
    pub(super) grammar: Grammar,
    pub(super) findings: FindingList,
    /// Every acquisition, if they are kept.
    pub(super) episodes: Option<Vec<Episode>>,
    /// Which holds began and ended since that was last asked, if it is kept.
    pub(super) hold_events: Option<Vec<HoldEvent>>,
}

impl LockShare {
    /// No locks.
    pub(super) fn new() -> Self {
        Self {
            locks: HashMap::default(),
            names: ClientNames::default(),
            grammar: Grammar::new(),
            findings: FindingList::default(),
            episodes: None,
            hold_events: None,
        }
    }

    /// No locks; keeps of them what this share keeps.
    pub(super) fn another(&self) -> Self {
        let mut other = Self::new();
        other.names.clients_by = self.names.clients_by;
        other.episodes = self.episodes.as_ref().map(|_| Vec::new());
        other.hold_events = self.hold_events.as_ref().map(|_| Vec::new());
        other
    }

    /// Whether no lock was added yet.
    pub(super) fn is_empty(&self) -> bool {
        self.locks.is_empty()
    }

    /// Adds a lock.
    pub(super) fn add(&mut self, id: LockId, mut lock: AuditedLock) {
        lock.episodes = self.episodes.as_ref().map(|_| Vec::new());
        lock.hold_events = self.hold_events.as_ref().map(|_| Vec::new());
        self.locks.insert(id, lock);
    }

    /// A lock of this share, which has observed all its events.
    pub(super) fn lock(&mut self, id: LockId) -> &mut AuditedLock {
        let lock = followed(&mut self.locks, id);
        lock.decide_at_last(&mut self.grammar, &mut self.findings, id);
        lock
    }

    /// Takes a lock that joins another one.
    pub(super) fn take(&mut self, id: LockId) -> AuditedLock {
        let mut lock = self.locks.remove(&id).expect(FOLLOWED);
        lock.decide_at_last(&mut self.grammar, &mut self.findings, id);
        lock.conversations.leave_grammar();
        lock
    }

    /// Lets the lock of the line's first key observe it.
    pub(super) fn observe_line(&mut self, id: LockId, number: u64, line: &Line<'_>, asks_time: bool) {
        let (Source::Client(address), Some(key)) = (line.source, line.word(1)) else { return };
        let event = self.names.event(number, line.at, address, line.command(), None);
        self.observe(id, without_java_header(&key.bytes()), LockEvent { asks_time, ..event });
    }

    /// Lets the lock of this key observe an event.
    pub(super) fn observe(&mut self, id: LockId, key: &[u8], event: LockEvent) {
        let lock = followed(&mut self.locks, id);
        self.findings.reads(event.line, id);
        lock.observe(&mut self.grammar, &mut self.findings, key, event);
        collect(&mut self.episodes, &mut self.hold_events, lock);
    }

    /// The same of what a script did, unless it is the attempt of a client to which the lock has been handed over: it finds
    /// that out.
    pub(super) fn observe_script(&mut self, id: LockId, key: &[u8], event: LockEvent) {
        let claims = event.script.is_some_and(|script| script.claims);
        let is_handed_over = claims && followed(&mut self.locks, id).is_handed_over();
        if !is_handed_over || !self.lock(id).has_been_granted(&event) {
            self.observe(id, key, event);
        }
    }

    /// A release has written the token of a waiter into the key of its lock: the waiter acquires as if it had tried just then.
    pub(super) fn hand_over(&mut self, id: LockId, key: &[u8], token: &[u8], release: &LockEvent) {
        let Some(attempt) = self.lock(id).hand_over(token) else { return };
        let LockEvent { at, until, line, is_doubtful, .. } = *release;
        let attempt = LockEvent { at, until, line, is_doubtful, known_reply: None, has_written: Some(true), ..attempt };
        self.observe(id, key, attempt);
    }

    /// A script has deleted this key.
    pub(super) fn was_deleted(&mut self, id: LockId, key: &[u8], script: &LockEvent) {
        let lock = followed(&mut self.locks, id);
        lock.decide_at_last(&mut self.grammar, &mut self.findings, id);
        self.findings.reads(script.line, id);
        lock.was_deleted(&self.grammar, &mut self.findings, key, script);
    }

    /// A command has deleted all keys of a lock; after a swap of databases, they may hold anything.
    pub(super) fn lose_all(&mut self, id: LockId, event: &LockEvent, is_swap: bool) {
        let lock = followed(&mut self.locks, id);
        lock.decide_at_last(&mut self.grammar, &mut self.findings, id);
        self.findings.reads(event.line, id);
        lock.lose_all(&mut self.findings, event, is_swap);
        collect(&mut self.episodes, &mut self.hold_events, lock);
    }

    /// What was found since the last call, or turned out to be another race, as sure as it is by now.
    pub(super) fn new_findings(&mut self) -> Vec<Finding> {
        let capped = |(id, mut finding): (LockId, Finding)| {
            if self.locks.get(&id).is_some_and(|lock| lock.is_in_doubt(&finding.key)) {
                finding.verdict.certainty = Certainty::Possible;
            }
            finding
        };
        self.findings.take_new().into_iter().map(capped).collect()
    }

    /// The locks that clients hold or wait for at this moment.
    pub(super) fn live(&self, at: UnixTime) -> Vec<LiveLock> {
        self.locks.values().flat_map(|lock| lock.live(at)).collect()
    }

    /// Forgets the locks that are silent after this line, and returns them.
    pub(super) fn forget_silent(&mut self, line: u64, at: UnixTime) -> BTreeMap<LockId, AuditedLock> {
        self.forget(line, at, |lock| {
            let age = at.saturating_since(lock.last_at);
            age > FORGOTTEN_AFTER || age > IDLE_AFTER && lock.is_idle(at)
        })
    }

    /// Forgets all locks, and returns them: the trace has ended with this line.
    pub(super) fn forget_all(&mut self, line: u64, at: UnixTime) -> BTreeMap<LockId, AuditedLock> {
        self.forget(line, at, |_| true)
    }

    fn forget(
        &mut self,
        line: u64,
        at: UnixTime,
        is_forgotten: impl Fn(&AuditedLock) -> bool,
    ) -> BTreeMap<LockId, AuditedLock> {
        let mut forgotten: BTreeMap<_, _> = self.locks.extract_if(|_, lock| is_forgotten(lock)).collect();
        for (id, lock) in &mut forgotten {
            lock.decide_at_last(&mut self.grammar, &mut self.findings, *id);
            self.findings.reads(line, *id);
            lock.settle(&mut self.findings, at);
            collect(&mut self.episodes, &mut self.hold_events, lock);
        }
        forgotten
    }
}

const FOLLOWED: &str = "a lock is followed until it is taken or forgotten";

fn followed(locks: &mut HashMap<LockId, AuditedLock, FxBuildHasher>, id: LockId) -> &mut AuditedLock {
    locks.get_mut(&id).expect(FOLLOWED)
}

/// Takes what a lock has kept.
fn collect(episodes: &mut Option<Vec<Episode>>, hold_events: &mut Option<Vec<HoldEvent>>, lock: &mut AuditedLock) {
    if let (Some(all), Some(of_lock)) = (episodes, &mut lock.episodes) {
        all.append(of_lock);
    }
    if let (Some(all), Some(of_lock)) = (hold_events, &mut lock.hold_events) {
        all.append(of_lock);
    }
}
