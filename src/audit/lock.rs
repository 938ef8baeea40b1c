//! One lock: it observes the events that concern it, and keeps what its keys hold, which clients use it and which hold it.

use std::sync::Arc;
use std::time::Duration;

use super::command_name::CommandName;
use super::conversation::{Continuation, Conversation, Conversations, Overwrote};
use super::episode::Episode;
use super::event::LockEvent;
use super::exchange::LockExchange;
use super::finding::{Certainty, Effect, Evidence, Verdict};
use super::findings::{FindingList, FindingPlace};
use super::grammar::Grammar;
use super::hold::Hold;
use super::holds::{DeletedHold, Holds};
use super::judge::{self, EndlessWait, Lifetimes};
use super::keys::{KeySet, Keys, Written};
use super::live::{HoldChange, HoldEvent, LiveHolder, LiveLock};
use super::stamp;
use super::undecided_expiry::UndecidedExpiry;
use super::variants::{Variant, VariantSet};
use crate::race_id::RaceId;
use crate::sim::{Stored, Value};
use crate::wire::{Command, Key, Printable, Reply, UnixTime};

/// A client that appears for the first time within this time may be in the middle of something.
const EARLY: Duration = Duration::from_secs(60);
/// A client that has not asked for this long has given up; the next time is another wait.
const GIVEN_UP: Duration = Duration::from_secs(60);
/// A client that is silent for this long at the end of the trace sends nothing more.
const ENDED: Duration = Duration::from_secs(1);

/// One lock.
#[derive(Debug)]
pub(super) struct AuditedLock {
    pub(super) keys: Keys,
    pub(super) database: u32,
    pub(super) conversations: Conversations,
    holds: Holds,
    pub(super) last_at: UnixTime,
    /// When the trace began.
    began_at: UnixTime,
    /// The token of the client to which it was handed over last.
    granted: Option<Vec<u8>>,
    /// A command that ran when a key expired, and what came after it, until that decides whether the key was still there.
    pub(super) undecided: Option<UndecidedExpiry>,
    /// What has ended and was not collected yet, if it is kept.
    pub(super) episodes: Option<Vec<Episode>>,
    /// Which holds began and ended and were not collected yet, if that is kept.
    pub(super) hold_events: Option<Vec<HoldEvent>>,
}

/// What one event shows of one key.
struct Observation<'a> {
    key: usize,
    /// The index of its conversation.
    by: usize,
    client: Arc<str>,
    exchange: &'a LockExchange,
    change: KeyChange,
}

/// What a command changed. What did not change is shared.
struct KeyChange {
    before: Option<Arc<Stored>>,
    after: Option<Arc<Stored>>,
    /// Who had written the value before.
    written: Option<Arc<Written>>,
}

impl AuditedLock {
    /// A lock with one key.
    pub(super) fn new(key: Key, database: u32, is_known: bool, at: UnixTime, began_at: UnixTime) -> Self {
        Self {
            keys: Keys::new(key, is_known),
            database,
            conversations: Conversations::default(),
            holds: Holds::default(),
            last_at: at,
            began_at,
            granted: None,
            undecided: None,
            episodes: None,
            hold_events: None,
        }
    }

    /// Whether its keys hold nothing and no client holds it.
    pub(super) fn is_idle(&self, at: UnixTime) -> bool {
        self.holds.iter().all(|hold| hold.is_expired) && !(0..self.keys.count()).any(|key| self.keys.exists(key, at))
    }

    /// Joins a key to the one named `to`: as a part of that lock, or as a lock by itself; with all that is known of it.
    pub(super) fn join(&mut self, to: &[u8], key: Key, is_part: bool, other: Option<Self>, is_known: bool) {
        let Some(other) = other else {
            let home = is_part.then(|| self.keys.home_of(to));
            return self.keys.add(key, home, is_known);
        };
        let first = self.keys.count();
        let Self { keys, conversations, holds, last_at, episodes, .. } = other;
        self.keys.absorb(keys);
        self.conversations.absorb(conversations, first);
        self.holds.absorb(holds, first);
        self.last_at = self.last_at.max(last_at);
        if let (Some(own), Some(more)) = (&mut self.episodes, episodes) {
            own.extend(more);
        }
    }

    /// Observes an event that concerns this key, and whose reply is known or follows from what the keys hold.
    pub(super) fn observe_decided(
        &mut self,
        grammar: &mut Grammar,
        findings: &mut FindingList,
        key: &[u8],
        event: LockEvent,
    ) {
        let at = event.at;
        self.last_at = at;
        let key = self.keys.home_of(key);
        self.expire(findings, at, Some(event.line));
        if event.is_administrative {
            return self.observe_from_outside(findings, key, event);
        }
        if self.keys.correct_before(key, &event) {
            self.forget(grammar, key, key);
        }
        self.learn_from_reply(key, &event);
        let others = (0..self.keys.count()).filter(|other| *other != key);
        let others: Vec<_> = others.map(|other| (other, self.keys.look(other, at))).collect();
        let written = self.keys[key].written.clone();
        let before = self.keys.look(key, at);
        let reply = self.keys.run(&event);
        let after = self.keys.look(key, at);
        let exchange = LockExchange::new(event, reply);
        let by = self.conversation_of(grammar, key, &exchange);
        let client = self.conversations[by].client.clone();
        let change = KeyChange { before, after, written };
        let seen = Observation { key, by, client: client.clone(), exchange: &exchange, change };
        self.note_write(&seen);
        let continuation = self.converse(grammar, findings, &seen);
        self.conversations[by].is_doubtful |= exchange.is_doubtful;
        self.note_overwriting(&seen);
        self.consider(findings, &seen, continuation);
        if self.conversations[by].has_acquired {
            let conversation = &mut self.conversations[by];
            self.keys[key].winners.note(conversation.variants);
            conversation.acquired_by = conversation.acquired_by.narrowed_to(conversation.variants);
        }
        self.learn(grammar, &seen);
        for (key, before) in others {
            let after = self.keys.look(key, at);
            if after != before {
                let change = KeyChange { before, after, written: self.keys[key].written.clone() };
                let seen = Observation { key, by, client: client.clone(), exchange: &exchange, change };
                self.note_write(&seen);
                self.consider_change(findings, &seen);
                self.learn(grammar, &seen);
            }
        }
        if exchange.is_doubtful {
            (0..self.keys.count()).for_each(|key| self.keys[key].is_known = false);
        }
    }

    /// A script that is not understood may have done anything to this key. It may have released what holds a value that it
    /// names, if it says that it has done something and its text, where that is known, deletes; and other holds may be over.
    pub(super) fn was_touched_unseen(&mut self, key: &[u8], script: &LockEvent) {
        let Some(key) = self.forget_content(key) else { return };
        self.keys[key].statistics.unrecognised += 1;
        let home = self.keys[key].home;
        let has_acted = matches!(script.known_reply, Some(Reply::Int(1..))) && may_delete(&script.command);
        let names = |value: &[u8]| script.command.args().iter().any(|word| word == value);
        let is_its_own = |hold: &Hold| has_acted && hold.home == home && names(&hold.value);
        if let Some(index) = self.holds.iter().position(is_its_own) {
            let hold = self.holds.remove(index);
            if let Some(by) = self.conversations.find(&hold.client, home) {
                self.conversations[by].holds = false;
            }
            self.keep(&hold, None);
        }
        for hold in self.holds.iter_mut().filter(|hold| hold.home == home) {
            hold.certainty = Certainty::Possible;
        }
    }

    /// Whether it is known that this key holds nothing.
    pub(super) fn is_known_empty(&self, key: &[u8], at: UnixTime) -> bool {
        self.keys.index_of(key).is_some_and(|key| self.keys[key].is_known && !self.keys.exists(key, at))
    }

    /// Whether what was found of this key may have another explanation.
    pub(super) fn is_in_doubt(&self, key: &Key) -> bool {
        let index = self.keys.index_of(key.as_bytes());
        index.is_some_and(|index| self.keys[index].statistics.is_in_doubt())
    }

    /// A command whose effect is not followed may have changed this key. It counts where the lock does, which may be another key.
    pub(super) fn was_altered(&mut self, key: &[u8]) {
        if let Some(key) = self.forget_content(key) {
            let home = self.keys[key].home;
            self.keys[home].statistics.unfollowed += 1;
        }
    }

    /// Forgets what this key holds; `None` if it is no key of this lock.
    fn forget_content(&mut self, key: &[u8]) -> Option<usize> {
        let key = self.keys.index_of(key)?;
        self.keys[key].is_known = false;
        self.keys[key].written = None;
        Some(key)
    }

    /// The text that one of its keys holds, and when that expires.
    pub(super) fn text_in(&self, key: &[u8], at: UnixTime) -> Option<(Vec<u8>, Option<UnixTime>)> {
        let stored = self.keys.stored(self.keys.index_of(key)?, at)?;
        match stored.value {
            Value::Text(text) => Some((text.clone(), stored.expires_at)),
            _ => None,
        }
    }

    /// A reply says what the key holds. If that contradicts what was known, the key has vanished or was written without a
    /// command, or two commands ran in the other order than they were listed.
    fn learn_from_reply(&mut self, key: usize, event: &LockEvent) {
        if event.known_reply.is_none() || event.is_look {
            return;
        }
        let was_known = self.keys[key].is_known;
        let expires_at = self.keys.stored(key, event.at).and_then(|stored| stored.expires_at);
        let contradicts = self.keys.correct_by_reply(key, event);
        if contradicts && !self.keys.exists(key, event.at) && expires_at.is_some_and(|end| end <= event.until) {
            // It has expired while the command was under way.
            self.keys[key].written = None;
            return;
        }
        self.keys[key].is_known = !(contradicts && was_known);
        if contradicts {
            self.keys[key].written = None;
        }
    }

    /// A command has deleted all its keys; after a swap of databases, they may hold anything.
    pub(super) fn lose_all(&mut self, findings: &mut FindingList, event: &LockEvent, is_swap: bool) {
        for key in 0..self.keys.count() {
            let command = Command::new("DEL").arg(&self.keys[key].key);
            self.observe_from_outside(findings, key, LockEvent { command: command.into(), ..event.clone() });
            self.keys[key].is_known = !is_swap;
        }
    }

    /// A command that no protocol sends has deleted or overwritten a key.
    fn observe_from_outside(&mut self, findings: &mut FindingList, key: usize, event: LockEvent) {
        let at = event.at;
        let before = self.keys.look(key, at);
        let written = self.keys[key].written.take();
        let reply = self.keys.run(&event);
        let after = self.keys.look(key, at);
        let exchange = LockExchange::new(event, reply);
        if let Some(value) = text_of(after.as_deref()) {
            let (client, line) = (exchange.client.clone(), exchange.line);
            let value = value.to_vec();
            self.keys[key].written = Some(Arc::new(Written { client, line, at, value, by_loser: false }));
        }
        self.keys[key].is_known = true;
        let holder = written.filter(|_| before.is_some()).and_then(|written| self.holds.of(&written.client, key));
        let Some(holder) = holder.filter(|holder| self.holds[*holder].is_live(at)) else { return };
        let hold = &self.holds[holder];
        if *hold.client == *exchange.client {
            self.end(holder, at);
        } else if let Some(place) = hold.violated {
            findings.shown_by(place, exchange.line);
        } else if !is_shared(hold.variants) {
            let verdict = judge::deleted_from_outside(hold, &exchange.client, at, [exchange.line], hold.certainty);
            self.holds[holder].violated = Some(self.report(findings, key, verdict));
        }
    }

    /// The lock is handed over to the client whose latest attempt names this token. Returns that attempt, if it is known.
    pub(super) fn hand_over(&mut self, token: &[u8]) -> Option<LockEvent> {
        let mut tried = self.conversations.iter().flat_map(Conversation::latest);
        let attempt = tried.find(|exchange| exchange.begins_attempt() && exchange.owner() == token)?;
        self.granted = Some(token.to_vec());
        Some(attempt.event().clone())
    }

    /// Whether the lock was ever handed over to a waiter.
    pub(super) fn is_handed_over(&self) -> bool {
        self.granted.is_some()
    }

    /// Whether the lock was handed over to the client of this attempt, which still holds it.
    pub(super) fn has_been_granted(&self, attempt: &LockEvent) -> bool {
        let Some(token) = &self.granted else { return false };
        attempt.command.args().iter().any(|word| word == token)
            && self.holds.iter().any(|hold| hold.token == *token && hold.is_live(attempt.at))
    }

    /// A script has deleted this key. If it still stood here, its holder had not acquired it: it belonged to another client
    /// since before the trace began.
    pub(super) fn was_deleted(
        &mut self,
        grammar: &Grammar,
        findings: &mut FindingList,
        key: &[u8],
        script: &LockEvent,
    ) {
        if let Some(deleted) = self.keys.correct_deleted(key, script.at) {
            self.check_vanished(findings, deleted, script);
            self.forget(grammar, self.keys[deleted].home, deleted);
        }
    }

    /// A client releases what it was taken to be refused: it had acquired, so the lock of the known holder was gone.
    fn check_vanished(&mut self, findings: &mut FindingList, key: usize, release: &LockEvent) {
        let home = self.keys[key].home;
        let names = |exchange: &&LockExchange| {
            exchange.begins_attempt()
                && stamp::looks_like_token(exchange.owner())
                && release.command.args().iter().any(|word| word == exchange.owner())
        };
        let mut tried = self.conversations.iter().filter(|it| it.home == home).flat_map(Conversation::latest);
        let Some(attempt) = tried.find(names).filter(|_| self.keys[home].is_known).cloned() else { return };
        let is_holder = |hold: &&Hold| hold.keys.has(key) && hold.line < attempt.line && hold.is_live(attempt.at);
        let Some(holder) = self.holds.iter().find(is_holder).filter(|hold| hold.violated.is_none()) else { return };
        self.report(findings, home, judge::vanished(holder, &attempt, release.line));
        let statistics = &mut self.keys[home].statistics;
        statistics.acquisitions += 1;
        statistics.releases += 1;
        statistics.refusals = statistics.refusals.saturating_sub(1);
    }

    /// Of the keys with this home only one is known from now on. No client is known to hold them, and the replies about them
    /// were guessed.
    fn forget(&mut self, grammar: &Grammar, home: usize, known: usize) {
        let forgotten = self.keys.at_home(home);
        for key in (0..self.keys.count()).filter(|key| forgotten.has(*key)) {
            (self.keys[key].is_known, self.keys[key].written) = (key == known, None);
        }
        self.holds.retain(|hold| !hold.keys.meets(forgotten));
        for (_, conversation) in self.conversations.at_home(home) {
            conversation.holds = false;
            conversation.was_guessed(grammar);
        }
    }

    /// The conversation that this belongs to: by a holder's token, or else by the client.
    fn conversation_of(&mut self, grammar: &Grammar, home: usize, exchange: &LockExchange) -> usize {
        // An attempt may name the value of another client, which it wants to replace.
        let claims = !exchange.compares_and_deletes() && exchange.script.is_some_and(|script| script.claims);
        let compares =
            !claims && (exchange.is_script() || exchange.is_any(&[CommandName::Delifeq, CommandName::Delex]));
        let is_named = |word: &Vec<u8>| word.len() >= 8 && exchange.command.args().iter().any(|own| own == word);
        let has_token = |hold: &&Hold| hold.home == home && (is_named(&hold.value) || is_named(&hold.token));
        let by_token = self.holds.iter().filter(|_| compares).find(has_token).map(|hold| &hold.client);
        let client = by_token.unwrap_or(&exchange.client).clone();
        if let Some(index) = self.conversations.find(&client, home) {
            let is_pooled = client != exchange.client && self.conversations[index].connection != exchange.connection;
            let statistics = &mut self.keys[home].statistics;
            statistics.pooled += u64::from(is_pooled);
            statistics.multiplexed += u64::from(self.conversations[index].is_by_token);
            return index;
        }
        let conversation = self.begun_with(grammar, client, home, exchange);
        let holds = &self.holds;
        let is_holder = |it: &Conversation| holds.has(&it.client, it.home);
        self.conversations.add(conversation, is_holder)
    }

    /// A conversation of this client that begins with this exchange.
    pub(super) fn begun_with(
        &self,
        grammar: &Grammar,
        client: Arc<str>,
        home: usize,
        exchange: &LockExchange,
    ) -> Conversation {
        let is_whole = exchange.claims() || exchange.at.saturating_since(self.began_at) >= EARLY;
        Conversation::new(client, home, grammar, exchange, is_whole)
    }

    /// Goes on with the conversation; what was left open in it may be decided by that.
    fn converse(&mut self, grammar: &mut Grammar, findings: &mut FindingList, seen: &Observation<'_>) -> Continuation {
        let conversation = &mut self.conversations[seen.by];
        let (was_releasing, was_undecided) = (conversation.is_releasing(), conversation.is_undecided());
        let could_have_released = conversation.could_have_released();
        let was_holding = conversation.holds;
        let continuation = conversation.observe(grammar, &self.keys[seen.key].key, seen.exchange.clone());
        let variants = conversation.variants;
        if let Some((released, last)) = could_have_released.filter(|_| continuation == Continuation::Begins)
            && variants.meets(&released)
        {
            self.release(findings, seen.key, seen.by, &last);
        }
        if continuation == Continuation::Begins
            && seen.exchange.begins_attempt()
            && !self.conversations[seen.by].has_acquired
        {
            self.note_sharing(seen, was_holding);
        }
        if continuation != Continuation::Continues {
            if was_releasing {
                self.not_deleted(findings, seen.key, seen.by);
            }
            self.keys[seen.key].statistics.undecided += u64::from(was_undecided);
        }
        continuation
    }

    /// An attempt begins on a connection whose client holds the lock: several clients share it, and only tokens tell them
    /// apart.
    fn note_sharing(&mut self, seen: &Observation<'_>, was_holding: bool) {
        let hold = self.holds.of(&seen.client, seen.key).map(|index| &self.holds[index]);
        let hold = hold.filter(|hold| was_holding && hold.is_live(seen.exchange.at));
        let is_other = hold.is_some_and(|hold| hold.token != seen.exchange.owner());
        if is_other {
            let names_owners = stamp::looks_like_token(seen.exchange.owner());
            let statistics = &mut self.keys[seen.key].statistics;
            statistics.multiplexed += 1;
            statistics.guessed += u64::from(!names_owners);
        }
    }

    fn note_write(&mut self, seen: &Observation<'_>) {
        let Observation { exchange, change, .. } = seen;
        let is_rewritten =
            exchange.is(CommandName::Getset) || exchange.is(CommandName::Set) && exchange.reply != Reply::Nil;
        let (old, new) = (text_of(change.before.as_deref()), text_of(change.after.as_deref()));
        let written = &mut self.keys[seen.key].written;
        match new {
            None => *written = None,
            Some(value) if old != new || is_rewritten => {
                let (client, line, at) = (seen.client.clone(), exchange.line, exchange.at);
                *written = Some(Arc::new(Written { client, line, at, value: value.to_vec(), by_loser: false }));
            }
            Some(_) => {}
        }
    }

    fn note_overwriting(&mut self, seen: &Observation<'_>) {
        let exchange = seen.exchange;
        let overwrites = exchange.is_any(&[CommandName::Set, CommandName::Setex, CommandName::Psetex]);
        if overwrites && exchange.reply != Reply::Nil || exchange.is(CommandName::Getset) {
            self.conversations[seen.by].overwrote = Some(Overwrote {
                line: exchange.line,
                before: seen.change.written.clone(),
                had_ttl: seen.change.before.as_ref().is_some_and(|stored| stored.expires_at.is_some()),
            });
        }
    }

    /// Notes that the key is known from now on, if it is. An empty key is no proof by itself, because no line shows what it
    /// held before the trace began. But a client that releases what it was seen to acquire has held it.
    fn learn(&mut self, grammar: &Grammar, seen: &Observation<'_>) {
        let Observation { key, exchange, change, .. } = seen;
        let is_released = self.conversations[seen.by].has_acquired && change.before.is_some() && change.after.is_none();
        if self.keys[*key].is_known || !is_released && !self.is_beyond_doubt(*key, exchange) {
            return;
        }
        self.keys[*key].is_known = true;
        for (index, conversation) in self.conversations.at_home(self.keys[*key].home) {
            if index != seen.by || !is_released {
                conversation.was_guessed(grammar);
            }
        }
    }

    /// Whether after this command it is known what the key holds, whatever was there before.
    fn is_beyond_doubt(&self, key: usize, exchange: &LockExchange) -> bool {
        let is_sure =
            exchange.is_any(&[CommandName::Getset, CommandName::Setex, CommandName::Psetex, CommandName::Del])
                || exchange.is(CommandName::Set)
                    && !exchange.command.args().iter().any(|word| word.eq_ignore_ascii_case(b"NX"));
        is_sure && (self.keys.count() == 1 || self.keys.named_by(&exchange.command).has(key))
    }

    /// Draws the consequences of an observation.
    fn consider(&mut self, findings: &mut FindingList, seen: &Observation<'_>, continuation: Continuation) {
        let Observation { key, by, exchange, .. } = *seen;
        let is_recognised = continuation != Continuation::Unrecognised;
        let stages = self.conversations[by].stages();
        if is_recognised && !self.conversations[by].has_acquired && stages.has_acquired() && !stages.is_open() {
            // Only holders go on like this.
            let candidates = self.conversations[by].candidates();
            let held = candidates.holding.or(candidates.releasing).or(candidates.released);
            self.acquire(findings, seen, held);
        }
        self.consider_change(findings, seen);
        self.check_late_release(findings, seen);
        self.script_failed(findings, seen);
        let statistics = &mut self.keys[key].statistics;
        let conversation = &mut self.conversations[by];
        // A holder that only looks wants to know whether it still holds.
        let is_held = || self.holds.of(&seen.client, key).is_some_and(|hold| self.holds[hold].is_live(exchange.at));
        let asks = || exchange.claims() || exchange.is(CommandName::Getset) || !is_held();
        if continuation == Continuation::Begins && !conversation.holds && asks() {
            let is_same_wait = |asked_at: &UnixTime| exchange.at.saturating_since(*asked_at) < GIVEN_UP;
            let asked_at = conversation.asked_at.filter(is_same_wait);
            statistics.unserved += u64::from(conversation.asked_at.is_some() && asked_at.is_none());
            conversation.refusals = if asked_at.is_some() { conversation.refusals } else { 0 };
            conversation.asked_at = Some(asked_at.unwrap_or(exchange.at));
        }
        if !is_recognised {
            // SETEX of a cache is no attempt; of a key that clients acquire, it is one like SET.
            let overwrites = exchange.is_any(&[CommandName::Setex, CommandName::Psetex]) && statistics.acquisitions > 0;
            let is_lock_like =
                exchange.claims() && !exchange.acquires_nothing() || exchange.is(CommandName::Getset) || overwrites;
            statistics.unrecognised += u64::from(is_lock_like);
            return;
        }
        if conversation.holds {
            if stages.has_released() && !stages.releasing {
                self.release(findings, key, by, exchange);
            }
        } else if !stages.holding && stages.is_open() {
            let leaves_queue = exchange.script.is_some_and(|script| !script.claims);
            // What a guard sends next decides.
            let goes_on = stages.acquiring && !stages.refused && exchange.script_of_guard().is_some();
            let claims = exchange.claims() && !leaves_queue && !goes_on || exchange.is(CommandName::Getset);
            statistics.refusals += u64::from(claims);
            conversation.refusals += u64::from(claims);
            if leaves_queue {
                self.conversations[by].asked_at = None;
            }
            // A client that still asks after GETSET is a loser that puts the old value back.
            if exchange.is(CommandName::Getset) {
                self.lose(findings, seen);
            }
            if claims {
                self.wait(findings, seen);
            }
        }
    }

    /// Draws the consequences of what a command changed.
    fn consider_change(&mut self, findings: &mut FindingList, seen: &Observation<'_>) {
        if seen.change.before.is_some() && seen.change.after.is_none() {
            self.delete(findings, seen);
        } else if let Some(after) = &seen.change.after {
            self.change_lifetime(findings, seen, after);
        }
    }

    /// The client has acquired.
    fn acquire(&mut self, findings: &mut FindingList, seen: &Observation<'_>, variants: VariantSet) {
        let Observation { key, by, exchange, .. } = *seen;
        let conversation = &self.conversations[by];
        let wrote = conversation.last_write().unwrap_or(exchange);
        let (since, line) = (wrote.at, wrote.line);
        let written = self.keys[key].written.as_ref().filter(|written| written.client == conversation.client);
        let value = written.map(|written| written.value.clone()).or(wrote.writes().map(<[u8]>::to_vec));
        let value = value.unwrap_or_default();
        let keys = self.keys.named_by(&wrote.command).with(key);
        let asked_at = conversation.asked_at.unwrap_or(since);
        let certainty = self.keys.certainty(keys).min(conversation.certainty());
        let ends_at = self.ends_at(key, variants, &value, exchange.at);
        let mut hold = Hold {
            client: conversation.client.clone(),
            variants,
            home: key,
            keys,
            token: wrote.owner().to_vec(),
            since,
            until: wrote.until,
            line,
            written_at: since,
            ends_at,
            acquired_until: ends_at,
            is_extended: false,
            value,
            certainty,
            overwritten: None,
            ttl_cleared: None,
            violated: None,
            followed_by: None,
            is_expired: false,
            asked_at,
            refusals: conversation.refusals,
        };
        if let Some(earlier) = self.holds.of(&hold.client, key)
            && !self.set_aside(by, earlier, &hold, exchange.by_token)
        {
            let earlier = self.holds.remove(earlier);
            self.keep(&earlier, None);
            if !earlier.is_live(since) {
                self.holds.remember_unreleased(earlier);
            }
        }
        let violated = if is_shared(variants) { None } else { self.double_hold(findings, by, &hold) };
        hold.violated = violated.or_else(|| self.stamp_written_back(findings, by, &hold));
        self.note_event(&hold, exchange.at, HoldChange::Acquired { waited: since.saturating_since(asked_at) });
        self.holds.add(hold);
        let statistics = &mut self.keys[key].statistics;
        statistics.acquisitions += 1;
        statistics.certain += u64::from(certainty == Certainty::Certain);
        statistics.waited.add(since.saturating_since(asked_at));
        let conversation = &mut self.conversations[by];
        conversation.holds = true;
        conversation.acquisitions += 1;
        conversation.has_acquired = true;
        conversation.asked_at = None;
        conversation.refusals = 0;
    }

    /// Lets an unreleased hold go on under its token if the same connection has acquired by another token: several clients
    /// may share the connection. Returns whether it does; not if its client has learned that the lock is lost.
    fn set_aside(&mut self, by: usize, earlier: usize, newcomer: &Hold, by_token: bool) -> bool {
        let hold = &mut self.holds[earlier];
        if !by_token
            || hold.token == newcomer.token
            || !stamp::looks_like_token(&hold.token)
            || !stamp::looks_like_token(&newcomer.token)
            || self.conversations[by].was_lost()
        {
            return false;
        }
        let name: Arc<str> = format!("{}#{}", hold.client, Printable(&hold.token[..8])).into();
        let Some(conversation) = self.conversations[by].take_unreleased(name.clone()) else { return false };
        hold.client = name;
        let holds = &self.holds;
        let is_holder = |it: &Conversation| holds.has(&it.client, it.home);
        self.conversations.add(conversation, is_holder);
        true
    }

    /// When a lock with this value ends: when the first of its stamp, in whichever of its keys that is, and the time to live
    /// of the key ends. The margin of a stamp may outlast the key, and then another client acquires: as in the explorer, the
    /// lease has ended by then. A stamp that names the acquisition does not say how long the lock lasts, so it counts only
    /// where nothing else does.
    fn ends_at(&self, key: usize, variants: VariantSet, value: &[u8], at: UnixTime) -> Option<UnixTime> {
        let parts =
            || (0..self.keys.count()).filter(|part| *part != key && self.keys[*part].home == self.keys[key].home);
        let moment_in = |part: usize| match &self.keys.stored(part, at)?.value {
            Value::Text(text) => stamp::moment(text),
            _ => None,
        };
        let stamp = || stamp::moment(value).or_else(|| parts().find_map(moment_in));
        let stamped = if variants.iter().any(Variant::is_timed) { stamp() } else { None };
        let beyond = variants.iter().map(Variant::beyond_lease).min().unwrap_or_default();
        let expires_at = self.keys.stored(key, at).and_then(|stored| stored.expires_at);
        let expires_at = expires_at.map(|expires_at| expires_at.saturating_sub(beyond));
        let ends_at = stamped.into_iter().chain(expires_at).min();
        ends_at.or_else(|| stamp().filter(|_| variants.iter().any(Variant::names_beginning)))
    }

    /// Reports all holders that still held when `hold` was acquired; it is not among the holds yet. Returns a finding.
    fn double_hold(&mut self, findings: &mut FindingList, by: usize, hold: &Hold) -> Option<FindingPlace> {
        let mut found = None;
        for index in self.holds.beside(hold) {
            let other = &self.holds[index];
            let conversation = &self.conversations[by];
            let place = match other.violated {
                Some(place) => {
                    findings.involves(place, &hold.client, hold.line);
                    place
                }
                None if other.line < hold.line => self.report_double_hold(findings, conversation, hold, other),
                // This acquisition was recognised later than the other one, and was earlier.
                None => {
                    let of_other = self.conversations.get(&other.client, hold.home).unwrap_or(conversation);
                    self.report_double_hold(findings, of_other, other, hold)
                }
            };
            self.holds[index].violated = Some(place);
            found = Some(place);
        }
        found
    }

    fn report_double_hold(
        &self,
        findings: &mut FindingList,
        conversation: &Conversation,
        newcomer: &Hold,
        holder: &Hold,
    ) -> FindingPlace {
        let verdict = judge::double_hold(newcomer, conversation, holder);
        let before = conversation.overwrote.as_ref().and_then(|overwrote| overwrote.before.as_ref());
        let is_open = |place: &FindingPlace| findings.get(*place).is_some();
        match holder.overwritten.filter(|_| before.is_some_and(|before| before.by_loser)).filter(is_open) {
            Some(place) => {
                findings.led_to(place, verdict);
                place
            }
            None => self.report(findings, newcomer.home, verdict),
        }
    }

    fn stamp_written_back(&self, findings: &mut FindingList, by: usize, hold: &Hold) -> Option<FindingPlace> {
        let verdict = judge::stamp_written_back(hold, &self.conversations[by])?;
        let is_same = |place: &FindingPlace| findings.get(*place).is_some_and(|found| found.race == verdict.race);
        let known = self.holds.iter().filter_map(|other| other.violated).find(is_same);
        Some(match known {
            Some(place) => {
                findings.shown_by(place, hold.line);
                place
            }
            None => self.report(findings, hold.home, verdict),
        })
    }

    /// The holder has sent its release, whatever came of it.
    fn release(&mut self, findings: &mut FindingList, key: usize, by: usize, release: &LockExchange) {
        if let Some(index) = self.holds.of(&self.conversations[by].client, key) {
            self.check_released(findings, key, &self.holds[index], release);
            self.end(index, release.at);
        } else if self.conversations[by].holds {
            self.check_deleted(findings, key, by, release);
        }
        self.conversations[by].holds = false;
    }

    /// The client releases what another connection has deleted, so that was not its own release.
    fn check_deleted(&mut self, findings: &mut FindingList, key: usize, by: usize, release: &LockExchange) {
        let client = &self.conversations[by].client;
        let Some(deleted) = self.holds.take_deleted_by_outsider(client, key) else { return };
        let DeletedHold { hold, by, at, line, .. } = deleted;
        let lines = [line, release.line];
        self.report(findings, key, judge::deleted_from_outside(&hold, &by, at, lines, Certainty::Possible));
        let statistics = &mut self.keys[key].statistics;
        statistics.pooled = statistics.pooled.saturating_sub(1);
        statistics.guessed = statistics.guessed.saturating_sub(1);
    }

    /// A DEL that found no lock, on connections that do not tell their clients: the late release of one that has expired.
    fn check_late_release(&mut self, findings: &mut FindingList, seen: &Observation<'_>) {
        let Observation { key, exchange, .. } = *seen;
        if !exchange.is(CommandName::Del) || seen.change.before.is_some() || self.holds.of(&seen.client, key).is_some()
        {
            return;
        }
        let is_late = |hold: &Hold| hold.home == key && hold.has_overrun(exchange.at) && hold.violated.is_none();
        let is_pooled = self.keys[key].statistics.guessed > 0;
        let is_taken_over = |hold: &Hold| is_pooled && is_late(hold) && hold.followed_by.is_some();
        let is_of_connection = |hold: &Hold| is_late(hold) && hold.client == seen.client;
        let hold = match self.holds.take_unreleased(is_of_connection) {
            Some(hold) => {
                let statistics = &mut self.keys[key].statistics;
                statistics.multiplexed += 1;
                statistics.guessed += 1;
                hold
            }
            None => match self.holds.iter().position(is_taken_over) {
                Some(index) => {
                    let hold = self.holds[index].clone();
                    self.end(index, exchange.at);
                    hold
                }
                None => return,
            },
        };
        self.check_overrun(findings, key, &hold, exchange);
    }

    /// Whether a release had the effect that its holder expects.
    fn check_released(&self, findings: &mut FindingList, key: usize, hold: &Hold, release: &LockExchange) {
        let state = &self.keys[key];
        let written = state.written.as_ref().filter(|_| self.keys.exists(key, release.at));
        let is_other_key =
            release.is(CommandName::Del) && release.command.args().first().is_none_or(|it| it != state.key.as_bytes());
        let is_own = written.is_some_and(|written| written.client == hold.client);
        let other_key = if is_own && is_other_key { judge::other_key_deleted(hold, release) } else { None };
        match (written, hold.overwritten) {
            (Some(written), Some(place)) if written.by_loser => {
                let evidence = Evidence::LoserBlocksRelease {
                    holder: hold.client.clone(),
                    loser: written.client.clone(),
                    value: written.value.clone(),
                };
                let effect = Effect {
                    race: RaceId::LoserBlocksRelease,
                    line: Some(release.line),
                    client: written.client.clone(),
                    certainty: hold.certainty.min(self.certainty_of(&written.client, key)),
                    evidence,
                };
                findings.becomes(place, effect);
            }
            _ => match other_key {
                Some(verdict) => drop(self.report(findings, key, verdict)),
                None => self.check_overrun(findings, key, hold, release),
            },
        }
    }

    fn check_overrun(&self, findings: &mut FindingList, key: usize, hold: &Hold, release: &LockExchange) {
        if !hold.has_overrun(release.at) || is_shared(hold.variants) {
            return;
        }
        match hold.violated {
            Some(place) => findings.shown_by(place, release.line),
            None => {
                self.report(findings, key, judge::overrun(hold, release));
            }
        }
    }

    /// The client has read its own value to release, and has not deleted it.
    fn not_deleted(&self, findings: &mut FindingList, key: usize, by: usize) {
        let conversation = &self.conversations[by];
        let hold = self.holds.of(&conversation.client, key).map(|index| &self.holds[index]);
        if let Some(verdict) = hold.and_then(|hold| judge::not_deleted(hold, conversation)) {
            self.report(findings, key, verdict);
        }
    }

    /// A command has deleted the key.
    fn delete(&mut self, findings: &mut FindingList, seen: &Observation<'_>) {
        let Observation { key, by, exchange, .. } = *seen;
        let Some(written) = &seen.change.written else { return };
        let client = self.conversations[by].client.clone();
        let own = self.holds.of(&client, key);
        let is_own = if written.by_loser {
            own.is_some_and(|own| self.holds[own].overwritten.is_some())
        } else {
            written.client == client
        };
        let holder = if written.by_loser {
            self.holds.of_another(&client, key, exchange.at)
        } else {
            self.holds.of(&written.client, key)
        };
        let is_live = |holder: &usize| self.holds[*holder].is_live(exchange.until) && Some(*holder) != own;
        let late = holder.filter(|holder| !self.holds[*holder].is_live(exchange.at));
        let holder = holder.filter(is_live).filter(|_| !is_own);
        let is_takeover = {
            let conversation = &self.conversations[by];
            !conversation.holds && conversation.stages().acquiring
        };
        match holder {
            Some(holder) if is_takeover || own.is_some() => {
                self.delete_held(findings, seen, own, holder, is_takeover);
            }
            // A pool of connections: the holder releases over another one.
            Some(holder) => {
                let hold = self.holds[holder].clone();
                self.end(holder, exchange.at);
                self.note_pooled(seen, hold);
            }
            None => {}
        }
        if !is_own
            && !is_takeover
            && own.is_none()
            && let Some(late) = late
        {
            let hold = self.holds[late].clone();
            self.check_overrun(findings, key, &hold, exchange);
            self.end(late, exchange.at);
            self.note_pooled(seen, hold);
        }
        if let Some(own) = self.holds.of(&client, key).filter(|_| !is_takeover) {
            // A client that is doing something else by now has not released this.
            if holder.is_none() && self.conversations[by].holds {
                self.check_overrun(findings, key, &self.holds[own], exchange);
            }
            // A script that no known protocol has may well be this client's release.
            let tried_again = self.conversations[by].previous.as_ref().is_some_and(|previous| {
                // Otherwise it is its own lock that it deletes, if not as its protocol would.
                previous.begins_attempt() && previous.line != self.holds[own].line
            });
            let is_multiplexed = is_own && tried_again && !self.conversations[by].holds && exchange.within.is_none();
            self.keys[key].statistics.multiplexed += u64::from(is_multiplexed);
            self.keys[key].statistics.guessed += u64::from(is_multiplexed);
            self.end(own, exchange.at);
            self.conversations[by].holds = false;
        }
    }

    /// A client has released over another connection than it acquired, or so it seems.
    fn note_pooled(&mut self, seen: &Observation<'_>, hold: Hold) {
        let Observation { key, by, exchange, .. } = *seen;
        let statistics = &mut self.keys[key].statistics;
        statistics.pooled += 1;
        statistics.guessed += 1;
        let by_outsider = !self.conversations[by].has_claimed;
        let (by, at, line) = (seen.client.clone(), exchange.at, exchange.line);
        self.holds.remember_deleted(DeletedHold { hold, by, at, line, by_outsider });
    }

    /// A client deletes what another client holds.
    fn delete_held(
        &mut self,
        findings: &mut FindingList,
        seen: &Observation<'_>,
        own: Option<usize>,
        holder: usize,
        is_takeover: bool,
    ) {
        let own = own.map(|own| &self.holds[own]);
        if let Some(place) = own.and_then(|own| own.violated).or(self.holds[holder].violated) {
            findings.shown_by(place, seen.exchange.line);
            self.holds[holder].violated = Some(place);
        } else if own.is_none_or(|own| !is_shared(own.variants)) {
            let client = &self.conversations[seen.by];
            let verdict = judge::deleted(client, own, &self.holds[holder], seen.exchange, is_takeover);
            self.holds[holder].violated = Some(self.report(findings, seen.key, verdict));
        }
    }

    /// The client has lost a takeover with its GETSET, and has overwritten the winner's value all the same.
    fn lose(&mut self, findings: &mut FindingList, seen: &Observation<'_>) {
        let Observation { key, by, exchange, .. } = *seen;
        let loser = &self.conversations[by];
        let Some(overwrote) = loser.overwrote.clone().filter(|overwrote| overwrote.line == exchange.line) else {
            return;
        };
        let winner = self.holds.of_another(&loser.client, key, exchange.at);
        if let Some(written) = &mut self.keys[key].written {
            Arc::make_mut(written).by_loser = true;
        }
        let certainty = self.certainty(key);
        let Some(winner) = winner else {
            let verdict = judge::phantom(loser, exchange, certainty);
            self.report(findings, key, verdict);
            return;
        };
        let hold = &self.holds[winner];
        if self.conversations.get(&hold.client, key).is_some_and(Conversation::is_releasing) {
            return;
        }
        let before = overwrote.before.as_deref();
        let is_same = before.is_some_and(|before| exchange.writes() == Some(&before.value));
        let overwritten = (!is_same && hold.overwritten.is_none()).then(|| {
            let verdict = judge::loser_moved_lease(hold, loser, exchange, before, certainty);
            self.report(findings, key, verdict)
        });
        let hold = &mut self.holds[winner];
        hold.overwritten = hold.overwritten.or(overwritten);
        if overwrote.had_ttl {
            hold.ttl_cleared = Some(exchange.line);
        }
    }

    /// A command has changed when the key expires, or its value.
    fn change_lifetime(&mut self, findings: &mut FindingList, seen: &Observation<'_>, after: &Stored) {
        let Observation { key, by, .. } = *seen;
        let changed = seen.change.before.as_ref().and_then(|before| before.expires_at) != after.expires_at;
        let expires_at = after.expires_at.filter(|_| changed);
        if let Some(verdict) = expires_at.and_then(|expires_at| self.lifetimes(seen).ttl_set(expires_at)) {
            self.report(findings, key, verdict);
        }
        let writer = self.keys[key].written.as_ref().map(|written| written.client.clone());
        if writer.as_ref() == Some(&seen.client) {
            self.extend(seen, after);
        } else if let (Some(writer), Some(expires_at), Some(_)) = (writer, expires_at, &seen.change.before) {
            self.shorten(findings, seen, &writer, expires_at);
        }
        let exchange = seen.exchange;
        let compares = exchange.is_script() || exchange.is(CommandName::Set);
        let is_refused = matches!(exchange.reply, Reply::Int(0) | Reply::Nil);
        let is_by_another = |written: &Written| written.client != seen.client;
        let overwrites = exchange.is(CommandName::Set) && seen.change.written.as_deref().is_some_and(is_by_another);
        let conversation = &self.conversations[by];
        if (compares && is_refused || overwrites) && conversation.holds && conversation.stages().holding {
            self.extended_too_late(findings, seen);
        }
    }

    /// A holder has written its own key: perhaps its lease ends later now.
    fn extend(&mut self, seen: &Observation<'_>, after: &Stored) {
        let Observation { key, exchange, .. } = *seen;
        let Value::Text(text) = &after.value else { return };
        let home = self.keys[key].home;
        let is_own = |hold: &Hold| hold.client == seen.client && hold.home == home;
        // What another client has acquired since this hold expired is not extended by its client, which writes as a contender.
        let is_lost = |hold: &Hold| hold.followed_by.is_some() && !hold.is_live(exchange.at);
        let Some(index) = self.holds.iter().position(is_own).filter(|index| !is_lost(&self.holds[*index])) else {
            return;
        };
        let ends_at = self.ends_at(key, self.holds[index].variants, text, exchange.at);
        let hold = &mut self.holds[index];
        if hold.home == key {
            hold.value.clone_from(text);
        }
        hold.set_end(ends_at, exchange.at);
    }

    /// A holder, or one that was, sets the time to live of the key that `writer` has written.
    fn shorten(&mut self, findings: &mut FindingList, seen: &Observation<'_>, writer: &Arc<str>, expires_at: UnixTime) {
        let own = self.holds.of(&seen.client, seen.key);
        let holder = self.holds.of(writer, seen.key).filter(|index| self.holds[*index].is_live(seen.exchange.until));
        let (Some(own), Some(holder)) = (own, holder) else { return };
        if self.holds[holder].ends_at.is_none_or(|ends_at| expires_at < ends_at) {
            let verdict = self.lifetimes(seen).lease_shortened(&self.holds[own], &self.holds[holder]);
            let place = self.report(findings, seen.key, verdict);
            self.holds[holder].violated = Some(place);
            self.holds[own].violated = Some(place);
        }
    }

    fn extended_too_late(&mut self, findings: &mut FindingList, seen: &Observation<'_>) {
        let Some(own) = self.holds.of(&seen.client, seen.key) else { return };
        let hold = &self.holds[own];
        match (hold.violated, &hold.followed_by) {
            (Some(place), _) => findings.shown_by(place, seen.exchange.line),
            (None, Some(next)) => {
                let place = self.report(findings, seen.key, self.lifetimes(seen).extended_too_late(hold, next));
                self.holds[own].violated = Some(place);
            }
            (None, None) => {}
        }
    }

    /// A script has set the key and failed before it gave it a time to live.
    fn script_failed(&self, findings: &mut FindingList, seen: &Observation<'_>) {
        let change = &seen.change;
        let stays = change.before.is_none() && change.after.as_ref().is_some_and(|stored| stored.expires_at.is_none());
        if seen.exchange.is_script() && stays && matches!(seen.exchange.reply, Reply::Error(_)) {
            self.report(findings, seen.key, self.lifetimes(seen).script_failed());
        }
    }

    /// The client was refused: perhaps by one that will never come back.
    fn wait(&mut self, findings: &mut FindingList, seen: &Observation<'_>) {
        let Observation { key, by, exchange, .. } = *seen;
        let Some(written) = self.keys[key].written.clone() else { return };
        let has_ttl = self.keys.stored(key, exchange.at).is_none_or(|stored| stored.expires_at.is_some());
        if has_ttl || self.keys[key].starved_by == Some(written.line) {
            return;
        }
        let last_at = self.conversations.get(&written.client, key).map(|conversation| conversation.last_at);
        let silence = exchange.at.saturating_since(last_at.unwrap_or(UnixTime::from_nanos(0)));
        let is_held = self.holds.of(&written.client, key).is_some();
        let Some(wait) = EndlessWait::of(&self.conversations[by], &written, exchange.at, is_held, silence) else {
            return;
        };
        self.keys[key].starved_by = Some(written.line);
        let race = match wait {
            EndlessWait::ReadsNoStamps if self.ttl_cleared(findings, seen) => return,
            EndlessWait::ReadsNoStamps => RaceId::TokenClientStarves,
            EndlessWait::ForItself => RaceId::LostReplyLocksForEver,
            EndlessWait::ForCrashed => {
                let others = self.conversations.iter().map(|conversation| conversation.variants);
                judge::race_of_crash(self.keys[key].winners.variants(), others)
            }
        };
        if let Some(verdict) = self.lifetimes(seen).waits_for_ever(race, silence) {
            self.report(findings, key, verdict);
        }
    }

    /// Whether a loser has removed the time to live that would have ended the lock; reports that.
    fn ttl_cleared(&self, findings: &mut FindingList, seen: &Observation<'_>) -> bool {
        let cleared = self.holds.iter().find_map(|hold| Some((hold, hold.ttl_cleared?)));
        let Some((hold, line)) = cleared else { return false };
        let lifetimes = self.lifetimes(seen);
        match hold.overwritten {
            Some(place) => {
                let effect = Effect {
                    race: RaceId::LoserClearsTtl,
                    line: Some(seen.exchange.line),
                    client: seen.client.clone(),
                    certainty: lifetimes.certainty,
                    evidence: Evidence::LoserClearedTtl,
                };
                findings.becomes(place, effect);
            }
            None => {
                self.report(findings, seen.key, lifetimes.ttl_cleared(line));
            }
        }
        true
    }

    /// Ends the leases that have expired at this moment.
    fn expire(&mut self, findings: &mut FindingList, at: UnixTime, line: Option<u64>) {
        for index in 0..self.holds.len() {
            let hold = &mut self.holds[index];
            let Some(ends_at) = hold.ends_at.filter(|ends_at| !hold.is_expired && *ends_at < at) else { continue };
            hold.is_expired = true;
            let (home, overwritten) = (hold.home, hold.overwritten);
            if let Some(place) = overwritten {
                self.check_outlived(findings, place, home, ends_at, at, line);
            }
        }
        if let Some(oldest) = self.holds.forget_expired() {
            self.keep(&oldest, None);
        }
        self.keys.expire(at);
    }

    /// The lease of an overwritten holder has ended: the loser's value may last longer.
    fn check_outlived(
        &self,
        findings: &mut FindingList,
        place: FindingPlace,
        key: usize,
        ends_at: UnixTime,
        at: UnixTime,
        line: Option<u64>,
    ) {
        let Some(written) = self.keys[key].written.as_ref().filter(|written| written.by_loser) else { return };
        let is_later = stamp::moment(&written.value).is_some_and(|moment| moment > ends_at);
        let is_open = findings.get(place).is_some_and(|found| found.race == Some(RaceId::LoserMovesLease));
        if is_later && is_open && self.keys.exists(key, at) {
            let evidence =
                Evidence::LoserOutlivesWinner { loser: written.client.clone(), value: written.value.clone() };
            let effect = Effect {
                race: RaceId::LoserOutlivesWinner,
                line,
                client: written.client.clone(),
                certainty: self.certainty_of(&written.client, key),
                evidence,
            };
            findings.becomes(place, effect);
        }
    }

    /// A hold ends by its release.
    fn end(&mut self, index: usize, at: UnixTime) {
        let hold = self.holds.remove(index);
        self.note_event(&hold, at, HoldChange::Released { held: at.saturating_since(hold.since) });
        self.keep(&hold, Some(at));
        let statistics = &mut self.keys[hold.home].statistics;
        statistics.releases += 1;
        statistics.overruns += u64::from(hold.has_overrun(at));
        statistics.held.add(at.saturating_since(hold.since));
    }

    fn note_event(&mut self, hold: &Hold, at: UnixTime, what: HoldChange) {
        if let Some(events) = &mut self.hold_events {
            let (key, database) = (self.keys[hold.home].key.clone(), self.database);
            events.push(HoldEvent { key, database, client: hold.client.clone(), at, what });
        }
    }

    /// Its keys that a client holds or waits for at this moment.
    pub(super) fn live(&self, at: UnixTime) -> impl Iterator<Item = LiveLock> {
        let homes = self.keys.iter().enumerate();
        homes.filter_map(move |(home, state)| {
            let is_live = |hold: &&Hold| hold.home == home && hold.ends_at.is_none_or(|ends_at| ends_at > at);
            let holder = |hold: &Hold| LiveHolder {
                client: hold.client.clone(),
                since: hold.since,
                ends_at: hold.ends_at,
                certainty: hold.certainty,
            };
            let waits = |it: &&Conversation| it.home == home && !it.holds && at.saturating_since(it.last_at) < GIVEN_UP;
            let waiters = self.conversations.iter().filter(waits);
            let holders: Vec<_> = self.holds.iter().filter(is_live).map(holder).collect();
            let waiters: Vec<_> = waiters.filter_map(|it| Some((it.client.clone(), it.asked_at?))).collect();
            let is_quiet = holders.is_empty() && waiters.is_empty();
            (!is_quiet).then(|| LiveLock { key: state.key.clone(), database: self.database, holders, waiters })
        })
    }

    /// Keeps what a hold was, if that is wanted.
    fn keep(&mut self, hold: &Hold, until: Option<UnixTime>) {
        self.keys[hold.home].statistics.lapsed += u64::from(until.is_none() && hold.is_expired);
        if until.is_none() {
            let at = self.last_at;
            self.note_event(hold, at, HoldChange::Ended { held: at.saturating_since(hold.since) });
        }
        if let Some(episodes) = &mut self.episodes {
            episodes.push(hold.episode(self.keys[hold.home].key.clone(), self.database, until));
        }
    }

    /// The trace ends, or goes on without this lock: what did not come until now does not come.
    pub(super) fn settle(&mut self, findings: &mut FindingList, at: UnixTime) {
        self.expire(findings, at, None);
        for by in 0..self.conversations.count() {
            let conversation = &self.conversations[by];
            let key = conversation.home;
            let is_silent = at.saturating_since(conversation.last_at) > ENDED;
            let stages = conversation.stages();
            let still_asks = !stages.holding && stages.is_open();
            let is_unserved = still_asks && !conversation.holds && conversation.asked_at.is_some();
            let statistics = &mut self.keys[key].statistics;
            statistics.undecided += u64::from(conversation.is_undecided());
            statistics.unserved += u64::from(is_unserved);
            let last = conversation.last().cloned();
            if is_silent && conversation.is_releasing() {
                self.not_deleted(findings, key, by);
            }
            let hold = self.holds.of(&self.conversations[by].client, key);
            if let (true, true, Some(last), Some(index)) = (stages.has_released(), is_silent, last, hold) {
                let certainty = &mut self.holds[index].certainty;
                *certainty = (*certainty).min(Certainty::Likely);
                self.release(findings, key, by, &last);
            }
        }
        for hold in std::mem::take(&mut *self.holds) {
            self.keep(&hold, None);
        }
    }

    /// How sure a verdict about this key is.
    fn certainty(&self, key: usize) -> Certainty {
        self.keys.certainty(KeySet::default().with(key))
    }

    /// How sure a verdict is that rests on what this client does there.
    fn certainty_of(&self, client: &Arc<str>, key: usize) -> Certainty {
        let of_client = self.conversations.get(client, self.keys[key].home).map(Conversation::certainty);
        of_client.map_or(Certainty::Possible, |of_client| of_client.min(self.certainty(key)))
    }

    fn lifetimes<'a>(&'a self, seen: &'a Observation<'_>) -> Lifetimes<'a> {
        Lifetimes {
            written: self.keys[seen.key].written.as_deref(),
            exchange: seen.exchange,
            client: &seen.client,
            certainty: self.certainty(seen.key),
        }
    }

    fn report(&self, findings: &mut FindingList, key: usize, verdict: Verdict) -> FindingPlace {
        findings.push(&self.keys[key].key, self.database, verdict)
    }
}

/// Whether a script may delete a key, by its text if that was sent.
fn may_delete(script: &Command) -> bool {
    let Some(text) = script.args().first().filter(|_| script.is("EVAL")) else { return true };
    let text = text.to_ascii_lowercase();
    [&b"del"[..], b"unlink"].iter().any(|name| text.windows(name.len()).any(|part| part == *name))
}

/// The text that a key holds; empty if it holds something else.
fn text_of(stored: Option<&Stored>) -> Option<&[u8]> {
    match &stored?.value {
        Value::Text(text) => Some(text),
        _ => Some(&[]),
    }
}

/// Whether these are read/write locks or semaphores, whose holders are not judged.
fn is_shared(variants: VariantSet) -> bool {
    variants.iter().all(Variant::is_shared)
}
