//! The keys of one lock, on a simulated server that runs the trace's commands and so finds their replies.
//!
//! Most locks have one key. A bridge holds two, and each of them is also the key of another lock; where owner and stamp are
//! in two keys, both are one lock.

use std::ops::{Index, IndexMut};
use std::sync::Arc;
use std::time::Duration;

use super::command_name::CommandName;
use super::compare_and_delete;
use super::event::LockEvent;
use super::exchange::{found_by, value_in};
use super::explanation::Explanation;
use super::finding::Certainty;
use super::script_args::script_keys;
use super::scripts::Script;
use super::statistics::LockStatistics;
use super::waiting_commands::RunningOrder;
use crate::sim::{Flavour, Seen, Server, Session, Stored, Value};
use crate::wire::{Command, Key, Reply, UnixTime};

/// The keys of one lock, by their index.
#[derive(Debug)]
pub(super) struct Keys {
    all: Vec<KeyState>,
    server: Server,
}

/// One key of a lock.
#[derive(Debug)]
pub(super) struct KeyState {
    pub(super) key: Key,
    /// The index of the key under which its holders are counted: its own, unless the key is only a part of a lock.
    pub(super) home: usize,
    /// Whether the value of the key is known: from the first command on that leaves no doubt.
    pub(super) is_known: bool,
    pub(super) written: Option<Arc<Written>>,
    /// The value when the key was last looked at.
    seen: Option<Arc<Stored>>,
    /// The protocols that its holder may use.
    pub(super) winners: Explanation,
    pub(super) statistics: LockStatistics,
    /// The line of the value that a client was found to wait for in vain.
    pub(super) starved_by: Option<u64>,
}

/// Who wrote the value of a key.
#[derive(Clone, Debug)]
pub(super) struct Written {
    pub(super) client: Arc<str>,
    pub(super) line: u64,
    pub(super) at: UnixTime,
    pub(super) value: Vec<u8>,
    /// Whether its writer lost the takeover, so that the value belongs to no holder.
    pub(super) by_loser: bool,
}

/// Some keys of a lock, by their indexes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct KeySet(u64);

/// All commands reach the server in the order of the trace: one connection is enough.
const SESSION: Session = Session(1);
/// MONITOR lists a command with the time at which it is listed, since Redis 7.0 after it ran. By the time at which the command began,
/// which is taken to be less than this earlier, the server sets expiries and finds keys expired, both in whole milliseconds: so an
/// expiry may be a millisecond earlier than by the listed times, and so may a command.
const MONITOR_DELAY: Duration = Duration::from_millis(1);
/// The owner in a lock of which only that it is held is known.
const UNKNOWN_OWNER: &str = "stranger";

impl KeyState {
    fn new(key: Key, home: usize, is_known: bool) -> Self {
        Self {
            key,
            home,
            is_known,
            written: None,
            seen: None,
            winners: Explanation::default(),
            statistics: LockStatistics::default(),
            starved_by: None,
        }
    }
}

impl Keys {
    /// Maximum number of keys of one lock.
    pub(super) const MOST: usize = 64;

    /// One key.
    pub(super) fn new(key: Key, is_known: bool) -> Self {
        Self { all: vec![KeyState::new(key, 0, is_known)], server: Server::new(Flavour::Redis84) }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &KeyState> {
        self.all.iter()
    }

    pub(super) fn count(&self) -> usize {
        self.all.len()
    }

    /// The index of a key.
    pub(super) fn index_of(&self, key: &[u8]) -> Option<usize> {
        self.all.iter().position(|state| state.key.as_bytes() == key)
    }

    /// The index of the key under which holders of this key are counted.
    pub(super) fn home_of(&self, key: &[u8]) -> usize {
        match self.all.as_slice() {
            [_] => 0,
            _ => self.index_of(key).map_or(0, |index| self.all[index].home),
        }
    }

    /// All keys with this home.
    pub(super) fn at_home(&self, home: usize) -> KeySet {
        self.set(|_, state| state.home == home)
    }

    /// The keys that a command names.
    pub(super) fn named_by(&self, command: &Command) -> KeySet {
        self.set(|_, state| command.args().iter().any(|word| word == state.key.as_bytes()))
    }

    fn set(&self, is_in: impl Fn(usize, &KeyState) -> bool) -> KeySet {
        let keys = self.all.iter().enumerate().filter(|(index, state)| is_in(*index, state));
        keys.fold(KeySet::default(), |set, (index, _)| set.with(index))
    }

    /// How sure a verdict is that rests on what these keys hold.
    pub(super) fn certainty(&self, keys: KeySet) -> Certainty {
        let is_known = self.all.iter().enumerate().all(|(index, state)| state.is_known || !keys.has(index));
        if is_known { Certainty::Certain } else { Certainty::Likely }
    }

    /// Adds a key: a lock by itself, or a part of the one with this home.
    pub(super) fn add(&mut self, key: Key, home: Option<usize>, is_known: bool) {
        let home = home.unwrap_or(self.all.len());
        self.all.push(KeyState::new(key, home, is_known));
    }

    /// Adds the keys of another lock behind these.
    pub(super) fn absorb(&mut self, other: Self) {
        let first = self.all.len();
        self.server.absorb(other.server);
        self.all.extend(other.all.into_iter().map(|state| KeyState { home: first + state.home, ..state }));
    }

    /// Whether a key exists.
    pub(super) fn exists(&self, index: usize, at: UnixTime) -> bool {
        self.server.holds(&self.all[index].key, at)
    }

    /// What a key holds.
    pub(super) fn stored(&self, index: usize, at: UnixTime) -> Option<Seen<'_>> {
        self.server.see(&self.all[index].key, at)
    }

    /// What a key holds, shared: it is copied only if it has changed since the last look.
    pub(super) fn look(&mut self, index: usize, at: UnixTime) -> Option<Arc<Stored>> {
        let state = &mut self.all[index];
        let now = self.server.see(&state.key, at);
        let is_as_seen = now.zip(state.seen.as_deref()).is_some_and(|(now, seen)| now == *seen);
        if !is_as_seen {
            state.seen = now.map(|now| Arc::new(now.to_stored()));
        }
        state.seen.clone()
    }

    /// Forgets the writers of the values that have expired.
    pub(super) fn expire(&mut self, at: UnixTime) {
        for state in &mut self.all {
            if state.written.is_some() && !self.server.holds(&state.key, at) {
                state.written = None;
            }
        }
    }

    /// Which of these keys expire so close to this moment that a command listed then may have found them, or not.
    pub(super) fn expiring_at(&self, keys: KeySet, at: UnixTime) -> KeySet {
        let earlier = at.saturating_sub(MONITOR_DELAY);
        let is_near = |index: usize| {
            let expires_at = self.stored(index, earlier).and_then(|stored| stored.expires_at);
            expires_at.is_some_and(|end| end.as_millis() <= at.as_millis())
        };
        self.set(|index, _| keys.has(index) && is_near(index))
    }

    /// Lets these keys be expired at this moment, or still exist.
    pub(super) fn decide_expiry(&mut self, keys: KeySet, has_expired: bool, at: UnixTime) {
        let expiring: Vec<Key> =
            self.iter().enumerate().filter(|(index, _)| keys.has(*index)).map(|(_, state)| state.key.clone()).collect();
        for key in expiring {
            if has_expired {
                self.delete(&key, at);
            } else {
                let lasts = Command::new("PEXPIREAT").arg(&key).arg(at.as_millis().to_string());
                self.server.call(SESSION, &lasts, at.saturating_sub(MONITOR_DELAY));
            }
        }
    }

    /// What this returns, and the server after it; the server is then as it was.
    pub(super) fn try_out<T>(&mut self, run: impl FnOnce(&mut Self) -> T) -> (T, Server) {
        let earlier = self.server.clone();
        let result = run(self);
        (result, std::mem::replace(&mut self.server, earlier))
    }

    /// Runs a command and returns its reply.
    pub(super) fn run(&mut self, event: &LockEvent) -> Reply {
        match &event.known_reply {
            Some(known) if has_no_effect(known, event) => known.clone(),
            Some(known) => {
                self.simulate(event);
                known.clone()
            }
            None => self.simulate(event),
        }
    }

    /// Prepares for a command whose reply is known: if the key would answer otherwise, it holds something else. Returns
    /// whether that was so.
    pub(super) fn correct_by_reply(&mut self, index: usize, event: &LockEvent) -> bool {
        let Some(known) = event.known_reply.as_ref().filter(|known| !has_no_effect(known, event)) else { return false };
        if self.gives(event, known) {
            return false;
        }
        let key = self.all[index].key.clone();
        let earlier = self.server.clone();
        let read = match known {
            Reply::Bulk(value) => Some(value.as_slice().into()),
            _ => value_in(known, event).map(Into::into),
        };
        let named = event.command.args().iter().skip(1).filter(|word| super::stamp::looks_like_token(word)).cloned();
        let contents = [None].into_iter().chain(read.into_iter().chain(named).map(Some));
        let stranger = Some(UNKNOWN_OWNER.as_bytes().into());
        for content in contents.chain([stranger]) {
            self.delete(&key, event.at);
            if let Some(value) = content {
                self.server.call(SESSION, &Command::new("SET").arg(&key).arg(value), event.at);
            }
            if self.gives(event, known) {
                return true;
            }
            self.server = earlier.clone();
        }
        false
    }

    /// Whether the simulated server would give the known reply to this command. What an unknown script does is not known.
    pub(super) fn would_answer(&mut self, event: &LockEvent) -> bool {
        let Some(known) = &event.known_reply else { return true };
        has_no_effect(known, event) || is_unknown_script(event) || self.gives(event, known)
    }

    /// What two commands do in both orders.
    pub(super) fn order(&mut self, first: &LockEvent, second: &LockEvent) -> RunningOrder {
        if [first, second].into_iter().any(|event| event.known_reply.is_none() || is_unknown_script(event)) {
            return RunningOrder::Unknown;
        }
        let (as_given, after) = self.one_after_the_other(first, second);
        let (reversed, after_reversed) = self.one_after_the_other(second, first);
        let is_known = self.all.iter().all(|state| state.is_known);
        match (as_given, reversed) {
            (true, true) if after == after_reversed => RunningOrder::Irrelevant,
            (true, true) => RunningOrder::Unknown,
            (_, _) if !is_known => RunningOrder::Unknown,
            (false, true) => RunningOrder::Reversed,
            (_, false) => RunningOrder::AsGiven,
        }
    }

    /// Whether two commands would get their replies one after the other, and the server after that.
    fn one_after_the_other(&mut self, first: &LockEvent, second: &LockEvent) -> (bool, Server) {
        let earlier = self.server.clone();
        let is_possible = [first, second].into_iter().all(|event| {
            let is_given = self.would_answer(event);
            self.run(event);
            is_given
        });
        (is_possible, std::mem::replace(&mut self.server, earlier))
    }

    /// Whether the simulated server would give this reply.
    fn gives(&mut self, event: &LockEvent, known: &Reply) -> bool {
        let earlier = self.server.clone();
        let reply = self.simulate(event);
        self.server = earlier;
        match (&reply, known) {
            // Times to live, and lists, differ in their details.
            (Reply::Int(simulated), Reply::Int(known)) => simulated == known || *simulated > 1 && *known > 1,
            (Reply::Array(simulated), Reply::Array(known)) => {
                event.script_of_guard().is_none() || found_by(event, simulated) == found_by(event, known)
            }
            (Reply::Error(_), Reply::Error(_)) => reply.error_code() == known.error_code(),
            (reply, known) => reply == known,
        }
    }

    /// Runs a command on the simulated server and returns its reply.
    fn simulate(&mut self, event: &LockEvent) -> Reply {
        let command = &event.command;
        if command.is_any(&[CommandName::Multi, CommandName::Exec, CommandName::Watch, CommandName::Unwatch]) {
            return Reply::ok();
        }
        let refusal = event.script.and_then(|script| script.refusal.as_ref());
        let run = |refusal| compare_and_delete::run(&mut self.server, SESSION, command, refusal, event.at);
        if let Some(reply) = refusal.and_then(run) {
            return reply;
        }
        if command.is(CommandName::Delifeq) {
            self.server.become_a(Flavour::Valkey9);
        }
        let timed = event.script.and_then(|script| in_its_time(event, script));
        let command: &Command = timed.as_ref().unwrap_or(command);
        let reply = self.server.call(SESSION, command, event.at);
        let Some(script) = event.script.filter(|_| reply.error_code() == Some("NOSCRIPT")) else { return reply };
        let mut words = command.words().to_vec();
        words[0] = b"EVAL".into();
        words[1] = script.text.as_slice().into();
        let command = Command::from_words(words).expect("the words of a command");
        self.server.call(SESSION, &command, event.at)
    }

    /// Prepares for an attempt whose listed calls acquired the lock, or did not: if that contradicts what the keys are
    /// taken to hold, they hold something else. Returns whether only the key at `home` is known from now on.
    pub(super) fn correct_before(&mut self, home: usize, event: &LockEvent) -> bool {
        let Some(acquires) = event.has_written.filter(|_| !self.are_known(&event.command)) else { return false };
        match (self.would_write(home, event), acquires) {
            (None, true) => {
                let earlier = self.server.clone();
                for key in script_keys(&event.command) {
                    self.delete(&Key::new(key.as_slice()), event.at);
                }
                if self.would_write(home, event).is_some() {
                    return true;
                }
                self.server = earlier;
            }
            (Some(after), false) => {
                let earlier = self.server.clone();
                self.occupy(home, &after, event.at);
                if self.would_write(home, event).is_some() {
                    self.server = earlier;
                }
            }
            (None, false) | (Some(_), true) => {}
        }
        false
    }

    /// Prepares for a listed deletion by a script: deletes the key if the script, run here, has left it, and whatever
    /// belongs to it. Returns the index of the key if that was so.
    pub(super) fn correct_deleted(&mut self, key: &[u8], at: UnixTime) -> Option<usize> {
        let deleted = self.index_of(key).filter(|index| self.exists(*index, at))?;
        let home = self.all[deleted].home;
        let keys: Vec<Key> = self.iter().filter(|state| state.home == home).map(|state| state.key.clone()).collect();
        keys.iter().for_each(|key| self.delete(key, at));
        Some(deleted)
    }

    /// Whether all keys that a script names are known.
    fn are_known(&self, run: &Command) -> bool {
        script_keys(run).iter().all(|key| self.index_of(key).is_some_and(|index| self.all[index].is_known))
    }

    /// What the key would hold after this, if that is not what it holds.
    pub(super) fn would_write(&mut self, index: usize, event: &LockEvent) -> Option<Stored> {
        let earlier = self.server.clone();
        self.run(event);
        let key = &self.all[index].key;
        let after = std::mem::replace(&mut self.server, earlier).peek(key, event.at)?;
        let before = self.server.see(key, event.at);
        let is_same = before.is_some_and(|before| *before.value == after.value);
        (!is_same).then_some(after)
    }

    /// Lets an unknown owner hold the lock as an attempt would, and for as long.
    fn occupy(&mut self, index: usize, like: &Stored, at: UnixTime) {
        let key = self.all[index].key.clone();
        let held = match &like.value {
            Value::Text(_) => Command::new("SET").arg(&key).arg(UNKNOWN_OWNER),
            Value::Hash(_) => Command::new("HSET").arg(&key).arg(UNKNOWN_OWNER).arg("1"),
            Value::Set(_) | Value::Ranking(_) | Value::List(_) => return,
        };
        self.delete(&key, at);
        self.server.call(SESSION, &held, at);
        if let Some(ends_at) = like.expires_at {
            let left_ms = ends_at.saturating_since(at).as_millis().to_string();
            self.server.call(SESSION, &Command::new("PEXPIRE").arg(&key).arg(left_ms), at);
        }
    }

    fn delete(&mut self, key: &Key, at: UnixTime) {
        self.server.call(SESSION, &Command::new("DEL").arg(key), at);
    }
}

/// The command of a guard that may write only at some moments of the server's clock, as one that may write always, or never: it
/// is known what the server did, and the clock of the trace may be another one. `None` where it is not known.
fn in_its_time(event: &LockEvent, script: &Script) -> Option<Command> {
    let moments = script.of_guard?.moments_at()?;
    let has_written = match &event.known_reply {
        Some(reply) => *reply == Reply::Int(1),
        None => event.has_written?,
    };
    let [first, last] = moments.map(|place| 3 + script.before + 1 + place);
    let mut words = event.command.words().to_vec();
    *words.get_mut(first)? = b"0".into();
    *words.get_mut(last)? = if has_written { ALWAYS.into() } else { b"-1".into() };
    Command::from_words(words)
}

/// The last moment of all that a guard names, in microseconds.
const ALWAYS: &[u8] = b"9223372036854775";

/// Whether a command with this reply did nothing: it was refused before it ran.
fn has_no_effect(reply: &Reply, event: &LockEvent) -> bool {
    match reply.error_code() {
        Some(code) => !event.command.is_script() || code == "NOSCRIPT",
        None => false,
    }
}

/// Whether it runs a script that no known protocol has.
fn is_unknown_script(event: &LockEvent) -> bool {
    event.script.is_none() && (event.command.is_script() || event.command.is(CommandName::Fcall))
}

impl Index<usize> for Keys {
    type Output = KeyState;

    fn index(&self, index: usize) -> &KeyState {
        &self.all[index]
    }
}

impl IndexMut<usize> for Keys {
    fn index_mut(&mut self, index: usize) -> &mut KeyState {
        &mut self.all[index]
    }
}

impl KeySet {
    /// These and one more.
    pub(super) fn with(self, index: usize) -> Self {
        Self(self.0 | 1 << (index % Keys::MOST))
    }

    /// The same keys, in a lock where their indexes are larger by this.
    pub(super) fn moved_by(self, indexes: usize) -> Self {
        Self(self.0 << (indexes % Keys::MOST))
    }

    /// Whether this one is among them.
    pub(super) fn has(self, index: usize) -> bool {
        self.meets(Self::default().with(index))
    }

    /// Whether a key is in both.
    pub(super) fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}
