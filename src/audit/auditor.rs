//! Reads a trace line by line: finds the lock that each command concerns, and lets it observe the event.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap as StdHashMap};
use std::num::NonZeroUsize;
use std::time::Duration;

use hashbrown::{HashMap, HashSet};
use rustc_hash::FxBuildHasher;

use super::client_names::ClientNames;
use super::clients_by::ClientsBy;
use super::command_role::CommandRole;
use super::earlier_scripts::{current, without_comments};
use super::episode::Episode;
use super::event::LockEvent;
use super::exchange::LockExchange;
use super::finding::Finding;
use super::findings::FindingList;
use super::grammar::Grammar;
use super::live::{HoldEvent, LiveLock};
use super::lock::AuditedLock;
use super::locks::{FollowedKeys, Joining, LockId, LockName, without_java_header};
use super::recent_looks::RecentLooks;
use super::running_script::{RunningScript, is_conditional};
use super::script_args::script_keys;
use super::scripts::{Script, scripts, sha1};
use super::share::LockShare;
use super::shares::LockShares;
use super::summary::{Audit, SteppedBack, Summaries};
use super::waiting_commands::{KnownLocks, RunningOrder, WaitingCommand, WaitingCommands};
use crate::monitor::{KeyPlaces, Line, Source, Word};
use crate::wire::{Command, CommandWord, Key, Reply, UnixTime};

/// Reads a trace, line by line.
#[derive(Debug)]
pub struct Auditor {
    /// Tells which commands begin a lock of several keys.
    grammar: Grammar,
    scripts: &'static StdHashMap<Vec<u8>, Script>,
    keys: FollowedKeys,
    locks: LockShares,
    /// The names of those clients whose commands are not sent on as they are listed.
    names: ClientNames,
    /// The addresses of the clients that ask the server for the time, while something is kept of them.
    clocked: HashSet<Vec<u8>, FxBuildHasher>,
    /// Which client has read which key lately.
    recent_looks: RecentLooks,
    running: Option<RunningScript>,
    /// What is known of the reply to the command that is read, if the source has replies.
    answer: Option<KnownAnswer>,
    /// The commands whose order is not decided yet, if the source has replies.
    waiting: WaitingCommands,
    /// The key that the transaction of a connection is about.
    watching: HashMap<Box<[u8]>, WatchedKey, FxBuildHasher>,
    summaries: Summaries,
    lines: u64,
    commands: u64,
    first_at: Option<UnixTime>,
    last_at: UnixTime,
    /// The number of commands, and the time, at which it was last searched for what can be forgotten.
    swept_at: (u64, UnixTime),
    stepped_back: Option<SteppedBack>,
}

/// What is known of the reply to a command.
#[derive(Debug)]
struct KnownAnswer {
    reply: Option<Reply>,
    until: UnixTime,
    is_doubtful: bool,
}

/// A key that a connection watches.
#[derive(Debug)]
struct WatchedKey {
    name: LockName,
    /// Whether EXEC or DISCARD has ended that.
    has_ended: bool,
}

/// Number of commands between two searches for what can be forgotten, at least: each waits for all threads.
const SWEEP_EVERY: u64 = 1 << 16;
/// Time between two such searches, at least: too little of it, and no lock has been silent for long enough.
const SWEEP_AFTER: Duration = Duration::from_secs(5);
/// Number of commands after which there is such a search whatever the time is: clocks are set back.
const SWEEP_AT_LAST: u64 = 1 << 20;

impl Default for Auditor {
    fn default() -> Self {
        Self::new()
    }
}

impl Auditor {
    /// An auditor that has read nothing.
    pub fn new() -> Self {
        Self {
            grammar: Grammar::new(),
            scripts: scripts(),
            keys: FollowedKeys::default(),
            locks: LockShares::here(),
            names: ClientNames::default(),
            clocked: HashSet::default(),
            recent_looks: RecentLooks::new(),
            running: None,
            answer: None,
            waiting: WaitingCommands::default(),
            watching: HashMap::default(),
            summaries: Summaries::default(),
            lines: 0,
            commands: 0,
            first_at: None,
            last_at: UnixTime::from_nanos(0),
            swept_at: (0, UnixTime::from_nanos(0)),
            stepped_back: None,
        }
    }

    /// The same, keeping every acquisition: memory then grows with their number.
    #[must_use]
    pub fn keeping_episodes(mut self) -> Self {
        self.locks.call_all(|share| share.episodes = Some(Vec::new()));
        self
    }

    /// The same, keeping which holds begin and end until [`take_hold_events`](Self::take_hold_events) asks for it.
    #[must_use]
    pub fn keeping_hold_events(mut self) -> Self {
        self.locks.call_all(|share| share.hold_events = Some(Vec::new()));
        self
    }

    /// The same, judging locks in so many other threads while this one reads on, if it has not read of any yet. To ask for
    /// what is found before the end is to wait for all of them.
    #[must_use]
    pub fn in_threads(self, count: NonZeroUsize) -> Self {
        Self { locks: self.locks.in_threads(count), ..self }
    }

    /// Which holds began and ended since this was last asked, by the time.
    pub fn take_hold_events(&mut self) -> Vec<HoldEvent> {
        let events = self.locks.call_all(|share| share.hold_events.as_mut().map(std::mem::take).unwrap_or_default());
        let mut events = events.concat();
        events.sort_by_key(|event| event.at);
        events
    }

    /// The locks that clients hold or wait for at this moment of the server's clock, by their keys. Call it now and then:
    /// it looks at every lock that is followed.
    pub fn live(&mut self, at: UnixTime) -> Vec<LiveLock> {
        let mut live = self.locks.call_all(move |share| share.live(at)).concat();
        live.sort_by(|one, other| (one.database, &one.key).cmp(&(other.database, &other.key)));
        live
    }

    /// The moment of the last command.
    pub fn last_at(&self) -> UnixTime {
        self.last_at
    }

    /// The same, telling clients apart by this.
    #[must_use]
    pub fn with_clients_by(mut self, clients_by: ClientsBy) -> Self {
        self.names.clients_by = clients_by;
        self.locks.call_all(move |share| share.names.clients_by = clients_by);
        self
    }

    /// Reads the line with this number.
    pub fn read(&mut self, number: u64, line: &Line<'_>) {
        self.lines = number;
        self.commands += 1;
        self.first_at.get_or_insert(line.at);
        self.note_step_back(number, line.at);
        self.last_at = line.at;
        let Some(name) = line.word(0) else { return };
        let role = CommandRole::of(name.quoted());
        match line.source {
            Source::Script => self.call(number, line, role),
            Source::Client(address) => {
                self.conclude_script();
                self.command(number, line, address, role);
            }
        }
        let (commands, at) = self.swept_at;
        let since = self.commands - commands;
        if since >= SWEEP_EVERY && (line.at.saturating_since(at) >= SWEEP_AFTER || since >= SWEEP_AT_LAST) {
            self.sweep();
        }
    }

    /// Reads a command with its reply and the moment of that, or without if it is missing; it has this number. Commands come
    /// in the order of their requests. The server may have run those that were under way together in any order: the replies
    /// decide, and where they do not, what rests on the order is at most *possible*.
    pub fn read_answered(&mut self, number: u64, line: &Line<'_>, reply: Option<(Reply, UnixTime)>) {
        self.waiting.push(WaitingCommand::new(number, line, reply));
        self.read_waiting(Some(line.at));
    }

    /// Reads a command with its reply, where commands come in the order in which the server ran them; it has this number.
    pub fn read_in_order(&mut self, number: u64, line: &Line<'_>, reply: Option<Reply>) {
        self.waiting.push(WaitingCommand::new(number, line, reply.map(|reply| (reply, line.at))));
        self.read_waiting(None);
    }

    /// What was found since the last call, or turned out to be another race; the first call begins that and returns nothing.
    /// A finding may still get more lines.
    pub fn new_findings(&mut self) -> Vec<Finding> {
        let mut findings = self.locks.call_all(LockShare::new_findings).concat();
        self.summaries.cap(&mut findings);
        findings
    }

    /// Reads the commands before which no request from `now` on can have run.
    fn read_waiting(&mut self, now: Option<UnixTime>) {
        while self.waiting.is_decidable(now) {
            let mut waiting = std::mem::take(&mut self.waiting);
            let next = waiting.take_next(self);
            self.waiting = waiting;
            let Some(mut next) = next else { return };
            let reply = next.reply.take();
            let is_doubtful = next.is_order_unknown || reply.is_none();
            self.answer = Some(KnownAnswer { reply, until: next.until, is_doubtful });
            self.read(next.number, &next.line());
            self.conclude_script();
            self.answer = None;
        }
    }

    /// The event of a command that waits, with its script.
    fn waiting_event(&mut self, waiting: &WaitingCommand) -> LockEvent {
        let event = self.event(waiting.number, waiting.at, &waiting.client, waiting.command.clone());
        let script = self.script_of(&waiting.line());
        LockEvent { script, until: waiting.until, known_reply: waiting.reply.clone(), ..event }
    }

    /// A server whose clock is set back goes on with an earlier time.
    fn note_step_back(&mut self, number: u64, at: UnixTime) {
        if self.commands > 1 && at < self.last_at {
            let by = self.last_at.saturating_since(at);
            let step = self.stepped_back.get_or_insert(SteppedBack { line: number, by, times: 0 });
            step.times += 1;
        }
    }

    fn command(&mut self, number: u64, line: &Line<'_>, address: &[u8], role: CommandRole) {
        match role {
            CommandRole::Other => {}
            CommandRole::Looks | CommandRole::Touches | CommandRole::Writes | CommandRole::Claims => {
                self.keyed(number, line, address, role)
            }
            CommandRole::Times => drop(self.clocked.insert(address.into())),
            CommandRole::Joins => self.several_keys(number, line, address),
            CommandRole::Runs => self.run_script(number, line, address),
            CommandRole::Steers => self.transaction(number, line, address),
            CommandRole::Alters(places) => self.alter(line, places),
            CommandRole::Moves => self.rename(number, line, address),
            CommandRole::Sweeps => self.sweep_database(number, line, address),
        }
    }

    /// The event of this line.
    fn event(&mut self, number: u64, at: UnixTime, address: &[u8], command: Command) -> LockEvent {
        let asks_time = self.asks_time(address);
        let reply = self.answer.as_ref().and_then(|answer| answer.reply.clone());
        let (until, is_doubtful) = self.answer.as_ref().map_or((at, false), |it| (it.until.max(at), it.is_doubtful));
        let event = self.names.event(number, at, address, command, reply);
        LockEvent { asks_time, until, is_doubtful, ..event }
    }

    /// Whether the client of this connection asks the server for the time.
    fn asks_time(&self, address: &[u8]) -> bool {
        !self.clocked.is_empty() && self.clocked.contains(address)
    }

    /// Lets the lock of this key observe an event; from now on the key is a lock.
    fn deliver(&mut self, database: u32, key: &[u8], event: LockEvent) {
        let lock = self.follow(database, key, event.at);
        let key = CommandWord::from(key);
        self.locks.send(lock, move |share| share.observe(lock, &key, event));
    }

    /// Follows this key as a lock, unless it belongs to one.
    fn follow(&mut self, database: u32, key: &[u8], at: UnixTime) -> LockId {
        if let Some(lock) = self.keys.get(database, key) {
            return lock;
        }
        let is_known = self.summaries.knows(database, key);
        let began_at = self.first_at.unwrap_or(at);
        let lock = self.keys.add(database, key);
        let key = CommandWord::from(key);
        self.locks.send(lock, move |share| {
            share.add(lock, AuditedLock::new(Key::new(key.as_slice()), database, is_known, at, began_at));
        });
        lock
    }

    /// A command about one key.
    fn keyed(&mut self, number: u64, line: &Line<'_>, address: &[u8], role: CommandRole) {
        if role == CommandRole::Touches && line.word(2).is_some() && is_deletion(line) {
            return self.delete_several(number, line, address);
        }
        let Some(word) = line.word(1) else { return };
        let key = word.bytes();
        let key = without_java_header(&key);
        let has_looked = match role {
            CommandRole::Writes => self.recent_looks.has_looked(address, key, line),
            CommandRole::Claims => self.recent_looks.has_looked_first(address, key, line),
            _ => false,
        };
        let begins = match role {
            CommandRole::Claims => true,
            CommandRole::Writes => has_looked || is_conditional(line),
            _ => false,
        };
        let followed = self.keys.get(line.database, key);
        if !begins && followed.is_none() {
            match role {
                CommandRole::Looks => self.recent_looks.look(address, key, line),
                CommandRole::Touches if is_deletion(line) => {}
                _ => self.summaries.was_changed(line.database, key),
            }
            return;
        }
        if has_looked {
            self.follow(line.database, key, line.at);
            self.deliver_look(number, line, address, key);
            self.recent_looks.forget(address, key);
        }
        if role == CommandRole::Looks {
            // This look is delivered, so no earlier one is the last.
            self.recent_looks.forget(address, key);
        }
        if line.word(0).is_some_and(|name| name.quoted().eq_ignore_ascii_case(b"watch")) {
            let name = LockName::new(line.database, key);
            self.watching.insert(address.into(), WatchedKey { name, has_ended: false });
        }
        if self.answer.is_none() {
            let lock = followed.unwrap_or_else(|| self.follow(line.database, key, line.at));
            let asks_time = self.asks_time(address);
            self.locks.observe(lock, number, line, asks_time);
        } else {
            let event = self.event(number, line.at, address, line.command());
            self.deliver(line.database, key, event);
        }
    }

    /// DEL or UNLINK of several keys. Where they are not those of one lock, each is deleted by itself: how many of them were
    /// there does not say which.
    fn delete_several(&mut self, number: u64, line: &Line<'_>, address: &[u8]) {
        let words: Vec<Vec<u8>> = line.words().skip(1).map(|word| word.bytes().into_owned()).collect();
        let keys: Vec<&[u8]> = words.iter().map(|key| without_java_header(key)).collect();
        let locks: Vec<Option<LockId>> = keys.iter().map(|key| self.keys.get(line.database, key)).collect();
        if locks.iter().all(Option::is_none) {
            return;
        }
        let event = self.event(number, line.at, address, line.command());
        if let [Some(first), ..] = *locks
            && locks.iter().all(|lock| *lock == Some(first))
        {
            return self.deliver(line.database, keys[0], event);
        }
        let count = i64::try_from(keys.len()).unwrap_or(i64::MAX);
        let known_reply = match &event.known_reply {
            Some(Reply::Int(0)) => Some(Reply::Int(0)),
            Some(Reply::Int(deleted)) if *deleted == count => Some(Reply::Int(1)),
            Some(Reply::Error(error)) => Some(Reply::Error(error.clone())),
            _ => None,
        };
        for (key, _) in keys.iter().zip(&locks).filter(|(_, lock)| lock.is_some()) {
            let command = Command::new("DEL").arg(*key).into();
            let event = LockEvent { command, known_reply: known_reply.clone(), ..event.clone() };
            self.deliver(line.database, key, event);
        }
    }

    /// Delivers the look that came before the first command by which this key looks like a lock. It found nothing.
    fn deliver_look(&mut self, number: u64, line: &Line<'_>, address: &[u8], key: &[u8]) {
        let is_set = line.word(0).is_some_and(|name| name.quoted().eq_ignore_ascii_case(b"set"));
        let is_exists = is_set && self.recent_looks.was_exists(address, key);
        let (name, nothing) = if is_exists { ("EXISTS", Reply::Int(0)) } else { ("GET", Reply::Nil) };
        let event = self.event(number, line.at, address, Command::new(name).arg(key));
        self.deliver(line.database, key, LockEvent { known_reply: Some(nothing), is_look: true, ..event });
    }

    /// MSETNX: perhaps an attempt of a protocol that uses several keys for one lock.
    fn several_keys(&mut self, number: u64, line: &Line<'_>, address: &[u8]) {
        let event = self.event(number, line.at, address, line.command());
        let keys: Vec<CommandWord> = event.command.args().iter().step_by(2).cloned().collect();
        let Some((first, others)) = keys.split_first() else { return };
        let won = LockExchange::new(event.clone(), Reply::Int(1));
        if self.grammar.begins(&Key::new(first.as_slice()), &won) {
            self.join(line.database, first, others, true, line.at);
            self.deliver(line.database, first, event);
        } else {
            for key in &keys {
                if self.keys.contains(line.database, key) {
                    self.deliver(line.database, key, event.clone());
                } else {
                    self.summaries.was_changed(line.database, key);
                }
            }
        }
    }

    /// Joins keys to the lock of `to`: as parts of it, or as locks by themselves.
    fn join<'a>(
        &mut self,
        database: u32,
        to: &[u8],
        keys: impl IntoIterator<Item = &'a CommandWord>,
        is_part: bool,
        at: UnixTime,
    ) {
        let lock = self.follow(database, to, at);
        for key in keys {
            let Some(joining) = self.keys.join(database, key, lock) else { continue };
            let other = match joining {
                Joining::Key => None,
                Joining::Lock(other) => Some(self.locks.call(other, move |share| share.take(other))),
            };
            let is_known = self.summaries.knows(database, key);
            let (to, key) = (CommandWord::from(to), Key::new(key.as_slice()));
            self.locks.send(lock, move |share| share.lock(lock).join(&to, key, is_part, other, is_known));
        }
    }

    /// EVAL or EVALSHA: what it does follows in the next lines.
    fn run_script(&mut self, number: u64, line: &Line<'_>, address: &[u8]) {
        let Some(count) = line.word(2) else { return };
        let script = self.script_of(line);
        let before = script.map_or(0, |script| script.before);
        let key = line.word(3 + before).filter(|_| count.quoted() != b"0").map(|key| key.bytes().into_owned());
        let event = self.event(number, line.at, address, line.command());
        self.running = Some(RunningScript::new(LockEvent { script, ..event }, line.database, key));
    }

    /// The script that EVAL or EVALSHA runs, if a known protocol has it.
    fn script_of(&self, line: &Line<'_>) -> Option<&'static Script> {
        let (name, script) = (line.word(0)?, line.word(1)?);
        let is = |command: &[u8]| name.quoted().eq_ignore_ascii_case(command);
        if is(b"eval") {
            let text = script.bytes();
            let known = |text: &[u8]| self.scripts.get(current(&sha1(text)));
            known(&text).or_else(|| known(&without_comments(&text)))
        } else if is(b"evalsha") {
            self.scripts.get(current(&script.bytes().to_ascii_lowercase()))
        } else {
            None
        }
    }

    /// A call of the script that runs.
    fn call(&mut self, number: u64, line: &Line<'_>, role: CommandRole) {
        let Some(mut running) = self.running.take() else { return };
        match running.event.script {
            Some(_) => running.note(line),
            None => self.unknown_call(&running, number, line, role),
        }
        running.has_called = true;
        self.running = Some(running);
    }

    /// A call of a script that no known protocol has: as if the client itself had sent it.
    fn unknown_call(&mut self, running: &RunningScript, number: u64, line: &Line<'_>, role: CommandRole) {
        if let CommandRole::Alters(places) = role {
            return self.alter(line, places);
        }
        let Some(key) = line.word(1).map(|key| key.bytes()) else { return };
        let begins = role == CommandRole::Claims || role == CommandRole::Writes && is_conditional(line);
        let concerns_key =
            matches!(role, CommandRole::Looks | CommandRole::Touches | CommandRole::Writes | CommandRole::Claims);
        if concerns_key && (begins || is_deletion(line) || self.keys.contains(line.database, &key)) {
            let caller = &running.event;
            let (connection, asks_time, by_token) = (caller.connection.clone(), caller.asks_time, caller.by_token);
            // The server's clock stands still while a script runs, and MONITOR lists when each call was made.
            let event = LockEvent::new(caller.client.clone(), line.command(), caller.at, number);
            let event = LockEvent { connection, within: Some(caller.line), asks_time, by_token, ..event };
            if is_deletion(line) {
                for key in line.words().skip(1).map(Word::bytes) {
                    if self.keys.contains(line.database, &key) {
                        let command = Command::new("DEL").arg(&*key).into();
                        self.deliver(line.database, &key, LockEvent { command, ..event.clone() });
                    }
                }
            } else {
                self.deliver(line.database, &key, event);
            }
        } else if concerns_key && role != CommandRole::Looks {
            self.summaries.was_changed(line.database, &key);
        }
    }

    /// The script that ran has ended, and all its calls were listed.
    fn conclude_script(&mut self) {
        // Nearly always; a script takes longer to move than to look for.
        if self.running.is_none() {
            return;
        }
        let Some(running) = self.running.take().filter(RunningScript::has_run) else { return };
        let (Some(script), Some(key)) = (running.event.script, &running.key) else {
            return self.unknown_script(&running);
        };
        let (database, at) = (running.database, running.event.at);
        if script.claims || self.keys.contains(database, key) {
            let keys = running.event.command.args().get(2..).unwrap_or_default();
            self.join(database, key, keys.iter().take(script.before), false, at);
            self.join(database, key, script.parts.iter().filter_map(|index| keys.get(*index)), true, at);
            let event = LockEvent { has_written: running.has_written(script), ..running.event.clone() };
            let (lock, key) = (self.follow(database, key, at), CommandWord::from(key.as_slice()));
            self.locks.send(lock, move |share| share.observe_script(lock, &key, event));
        }
        for key in &running.deleted {
            if let Some(lock) = self.keys.get(database, key) {
                let (key, script) = (key.clone(), running.event.clone());
                self.locks.send(lock, move |share| share.was_deleted(lock, &key, &script));
            }
        }
        if let (Some(token), Some(lock)) = (running.granted(script), self.keys.get(database, key)) {
            let (key, token, release) = (CommandWord::from(key.as_slice()), token.clone(), running.event.clone());
            self.locks.send(lock, move |share| share.hand_over(lock, &key, &token, &release));
        }
    }

    /// A script that no known protocol has, and whose calls were not listed: it may have done anything to its keys.
    fn unknown_script(&mut self, running: &RunningScript) {
        let keys = script_keys(&running.event.command).iter().filter(|_| !running.has_called);
        for key in keys {
            match self.keys.get(running.database, key) {
                Some(lock) => {
                    let (key, script) = (key.clone(), running.event.clone());
                    self.locks.send(lock, move |share| share.lock(lock).was_touched_unseen(&key, &script));
                }
                None => self.summaries.was_changed(running.database, key),
            }
        }
    }

    /// MULTI, EXEC, DISCARD or UNWATCH: concerns the key that the connection watches.
    fn transaction(&mut self, number: u64, line: &Line<'_>, address: &[u8]) {
        let Some(watched) = self.watching.get_mut(address) else { return };
        let (name, had_ended) = (watched.name.clone(), watched.has_ended);
        let command = line.command();
        // EXEC and DISCARD end what WATCH has begun; some clients send UNWATCH after that.
        watched.has_ended = !command.is("MULTI");
        let unwatches = command.is("UNWATCH");
        if unwatches || had_ended {
            self.watching.remove(address);
        }
        if unwatches || !had_ended {
            let event = self.event(number, line.at, address, command);
            self.deliver(name.database, &name.key, event);
        }
    }

    /// RENAME or RENAMENX: the key is deleted, and what it held is written to the other one, if that is a lock.
    fn rename(&mut self, number: u64, line: &Line<'_>, address: &[u8]) {
        let (Some(from), Some(to)) = (line.word(1).map(Word::bytes), line.word(2).map(Word::bytes)) else { return };
        let only_if_missing = line.word(0).is_some_and(|name| name.quoted().len() == "RENAMENX".len());
        let (at, source) = (line.at, CommandWord::from(&*from));
        let is_missing = self
            .keys
            .get(line.database, &from)
            .is_some_and(|lock| self.locks.call(lock, move |share| share.lock(lock).is_known_empty(&source, at)));
        let moved = self.text_in(line.database, &from, line.at);
        let is_blocked = only_if_missing && self.text_in(line.database, &to, line.at).is_some();
        let reply = self.answer.as_ref().and_then(|answer| answer.reply.clone());
        let has_failed = matches!(reply, Some(Reply::Error(_) | Reply::Int(0)));
        if is_missing || is_blocked || has_failed || from == to {
            return;
        }
        let is_done = reply.is_some() || !only_if_missing || self.keys.contains(line.database, &to);
        if !is_done || moved.is_none() {
            // Whether the other key was there, or what is moved, is not known.
            [&from, &to].into_iter().for_each(|key| self.was_altered(line.database, key));
            return;
        }
        self.summaries.was_changed(line.database, &to);
        self.administer(number, line, address, &from, Command::new("DEL").arg(&*from));
        if let Some((value, expires_at)) = moved {
            let write = Command::new("SET").arg(&*to).arg(value);
            let write = match expires_at {
                Some(at) => write.arg("PXAT").arg(at.as_millis().to_string()),
                None => write,
            };
            self.administer(number, line, address, &to, write);
        }
    }

    /// A command whose effect is not followed: it may have changed each key at these places.
    fn alter(&mut self, line: &Line<'_>, places: &[KeyPlaces]) {
        let moved_to = moved_to(line);
        let reply = self.answer.as_ref().and_then(|answer| answer.reply.as_ref());
        let has_failed = matches!(reply, Some(Reply::Error(_))) || moved_to.is_some() && reply == Some(&Reply::Int(0));
        if has_failed {
            return;
        }
        let is_copied_elsewhere = moved_to.is_some_and(|to| to.is_copy);
        // COPY to another database changes nothing in its own.
        let own = if is_copied_elsewhere { &[] } else { places };
        for word in own.iter().flat_map(|it| it.places(line)).filter_map(|place| line.word(place)) {
            self.was_altered(line.database, &word.bytes());
        }
        if let Some(MovedTo { key, database, .. }) = moved_to {
            self.was_altered(database, &key.bytes());
        }
    }

    /// A command whose effect is not followed may have changed this key.
    fn was_altered(&mut self, database: u32, key: &[u8]) {
        let key = without_java_header(key);
        match self.keys.get(database, key) {
            Some(lock) => {
                let key = CommandWord::from(key);
                self.locks.send(lock, move |share| share.lock(lock).was_altered(&key));
            }
            None => self.summaries.was_changed(database, key),
        }
    }

    /// The text that a key of a lock holds, and when that expires.
    fn text_in(&mut self, database: u32, key: &[u8], at: UnixTime) -> Option<(Vec<u8>, Option<UnixTime>)> {
        let (lock, key) = (self.keys.get(database, key)?, CommandWord::from(key));
        self.locks.call(lock, move |share| share.lock(lock).text_in(&key, at))
    }

    /// FLUSHALL, FLUSHDB or SWAPDB: the keys of one database are gone, of two, or of all.
    fn sweep_database(&mut self, number: u64, line: &Line<'_>, address: &[u8]) {
        let is = |name: &[u8]| line.word(0).is_some_and(|word| word.quoted().eq_ignore_ascii_case(name));
        let index = |place| std::str::from_utf8(line.word(place)?.quoted()).ok()?.parse::<u32>().ok();
        let swapped = [index(1), index(2)];
        let is_swap = is(b"swapdb");
        let mode = line.word(1);
        let is_mode = |word: Word<'_>| [&b"async"[..], b"sync"].iter().any(|it| word.quoted().eq_ignore_ascii_case(it));
        let is_well_formed = match is_swap {
            true => swapped.iter().all(Option::is_some) && swapped[0] != swapped[1] && line.word(3).is_none(),
            false => mode.is_none_or(is_mode) && line.word(2).is_none(),
        };
        let has_failed = self.answer.as_ref().is_some_and(|it| matches!(it.reply, Some(Reply::Error(_))));
        if !is_well_formed || has_failed {
            return;
        }
        if is_swap {
            self.summaries.all_were_changed();
        }
        let concerns = |database: u32| match is_swap {
            true => swapped.contains(&Some(database)),
            false => is(b"flushall") || database == line.database,
        };
        for lock in self.keys.locks(concerns) {
            let event = self.event(number, line.at, address, line.command());
            let event = LockEvent { is_administrative: true, ..event };
            self.locks.send(lock, move |share| share.lose_all(lock, &event, is_swap));
        }
    }

    /// Lets the lock of this key, if it is one, observe what a command did that no protocol sends.
    fn administer(&mut self, number: u64, line: &Line<'_>, address: &[u8], key: &[u8], command: Command) {
        if self.keys.contains(line.database, key) {
            let event = self.event(number, line.at, address, command);
            self.deliver(line.database, key, LockEvent { is_administrative: true, ..event });
        }
    }

    /// Forgets the locks that are silent.
    fn sweep(&mut self) {
        self.swept_at = (self.commands, self.last_at);
        let (line, at) = (self.lines, self.last_at);
        self.names.forget_unused();
        let clocked = self.clocked.clone();
        let swept = self.locks.call_all(move |share| {
            let silent = share.forget_silent(line, at);
            share.names.forget_unused();
            // Those of which a lock keeps something.
            let clocked = clocked.iter().filter(|address| share.names.has(address)).cloned().collect::<Vec<_>>();
            (silent, clocked)
        });
        let (silent, clocked): (Vec<_>, Vec<_>) = swept.into_iter().unzip();
        self.summarise(silent);
        let clocked: HashSet<Vec<u8>, FxBuildHasher> = clocked.into_iter().flatten().collect();
        self.clocked.retain(|address| self.names.has(address) || clocked.contains(address));
        let keys = &self.keys;
        self.watching.retain(|_, watched| keys.contains(watched.name.database, &watched.name.key));
    }

    /// Keeps what is known of locks that are forgotten.
    fn summarise(&mut self, forgotten: Vec<BTreeMap<LockId, AuditedLock>>) {
        // In one order, however many threads there are.
        let forgotten: BTreeMap<LockId, AuditedLock> = forgotten.into_iter().flatten().collect();
        self.keys.forget(&forgotten.keys().copied().collect());
        forgotten.values().for_each(|lock| self.summaries.add(lock));
    }

    /// The result at the end of the trace.
    pub fn finish(mut self) -> Audit {
        self.read_waiting(None);
        self.conclude_script();
        let (line, at) = (self.lines, self.last_at);
        let forgotten = self.locks.call_all(move |share| share.forget_all(line, at));
        self.summarise(forgotten);
        let findings = self.locks.call_all(|share| std::mem::take(&mut share.findings));
        let episodes = self.locks.call_all(|share| share.episodes.take().unwrap_or_default());
        let mut episodes = episodes.concat();
        let order = |episode: &Episode| (episode.asked_at, episode.since, episode.database);
        episodes.sort_by(|one, other| order(one).cmp(&order(other)).then_with(|| one.key.cmp(&other.key)));
        let length = self.first_at.map_or(Duration::ZERO, |first_at| at.saturating_since(first_at));
        let audit = self.summaries.finish(FindingList::finish(findings), self.lines, self.commands, length);
        Audit { episodes, first_at: self.first_at, stepped_back: self.stepped_back, ..audit }
    }
}

impl KnownLocks for Auditor {
    fn would_answer(&mut self, command: &WaitingCommand) -> bool {
        let Some(lock) = command.keys.iter().find_map(|key| self.keys.get(command.database, key)) else { return true };
        let event = self.waiting_event(command);
        self.locks.call(lock, move |share| share.lock(lock).keys.would_answer(&event))
    }

    fn order(&mut self, key: &[u8], first: &WaitingCommand, second: &WaitingCommand) -> RunningOrder {
        let Some(lock) = self.keys.get(first.database, key) else { return RunningOrder::Unknown };
        let (one, other) = (self.waiting_event(first), self.waiting_event(second));
        self.locks.call(lock, move |share| share.lock(lock).keys.order(&one, &other))
    }
}

/// Whether this is DEL or UNLINK.
fn is_deletion(line: &Line<'_>) -> bool {
    let is = |name: &[u8]| line.word(0).is_some_and(|word| word.quoted().eq_ignore_ascii_case(name));
    is(b"del") || is(b"unlink")
}

/// The key that MOVE or COPY writes in another database.
#[derive(Clone, Copy)]
struct MovedTo<'a> {
    key: Word<'a>,
    database: u32,
    is_copy: bool,
}

/// The key that a command writes in another database.
fn moved_to<'a>(line: &Line<'a>) -> Option<MovedTo<'a>> {
    let is = |place: usize, name: &[u8]| line.word(place).is_some_and(|word| word.quoted().eq_ignore_ascii_case(name));
    let database = |place: usize| std::str::from_utf8(line.word(place)?.quoted()).ok()?.parse().ok();
    if is(0, b"move") {
        Some(MovedTo { key: line.word(1)?, database: database(2)?, is_copy: false })
    } else if is(0, b"copy") {
        let option = (3..=4).find(|place| is(*place, b"db"))?;
        Some(MovedTo { key: line.word(2)?, database: database(option + 1)?, is_copy: true })
    } else {
        None
    }
}
