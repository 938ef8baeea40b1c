//! Reading a trace, line by line.

mod calls;
mod joins;
mod name;
#[cfg(test)]
mod tests;
mod told;

use std::sync::Arc;
use std::time::Duration;

use hashbrown::{HashMap, HashSet};
use rustc_hash::FxBuildHasher;

use self::name::{Name, NameRef};
use self::told::{Running, Told, Watched, is_conditional};
use super::episode::Episode;
use super::findings::Findings;
use super::grammar::Grammar;
use super::lock::{Ear, Lock, Sent};
use super::recent::Recent;
use super::scripts::{Script, scripts};
use super::summary::{Audit, SteppedBack, Summaries};
use super::verb::Verb;
use crate::monitor::{Line, Source};
use crate::wire::{Command, Key, Reply, UnixTime};

/// Reads a trace, line by line.
#[derive(Debug)]
pub struct Auditor {
    grammar: Grammar,
    scripts: &'static std::collections::HashMap<Vec<u8>, Script>,
    locks: HashMap<Name, Lock, FxBuildHasher>,
    /// Keys of a lock that has another name, and that.
    homes: HashMap<Name, Name, FxBuildHasher>,
    /// The name of each client that somebody remembers.
    names: HashMap<Vec<u8>, Arc<str>, FxBuildHasher>,
    /// Those among them who ask the server for the time.
    clocked: HashSet<Vec<u8>, FxBuildHasher>,
    /// What was looked at lately.
    recent: Recent,
    /// The script that is running.
    running: Option<Running>,
    /// Which key the transactions of a connection are about.
    watching: HashMap<Box<[u8]>, Watched, FxBuildHasher>,
    findings: Findings,
    /// Every acquisition, if they are to be kept.
    episodes: Option<Vec<Episode>>,
    summaries: Summaries,
    lines: u64,
    commands: u64,
    first_at: Option<UnixTime>,
    last_at: UnixTime,
    swept_at: u64,
    stepped_back: Option<SteppedBack>,
}

/// How often it is looked whether something can be forgotten, in lines.
const SWEEP_EVERY: u64 = 1 << 16;

impl Default for Auditor {
    fn default() -> Self {
        Self::new()
    }
}

impl Auditor {
    /// An auditor who has read nothing.
    pub fn new() -> Self {
        let grammar = Grammar::new();
        Self {
            scripts: scripts(),
            grammar,
            locks: HashMap::default(),
            homes: HashMap::default(),
            names: HashMap::default(),
            clocked: HashSet::default(),
            recent: Recent::new(),
            running: None,
            watching: HashMap::default(),
            findings: Findings::default(),
            episodes: None,
            summaries: Summaries::default(),
            lines: 0,
            commands: 0,
            first_at: None,
            last_at: UnixTime::from_nanos(0),
            swept_at: 0,
            stepped_back: None,
        }
    }

    /// The same, keeping every acquisition: memory then grows with their number.
    #[must_use]
    pub fn keeping_episodes(self) -> Self {
        Self { episodes: Some(Vec::new()), ..self }
    }

    /// Reads one line of this number.
    pub fn read(&mut self, number: u64, line: &Line<'_>) {
        self.lines = number;
        self.commands += 1;
        self.first_at.get_or_insert(line.at);
        self.note_step_back(number, line.at);
        self.last_at = line.at;
        let Some(name) = line.word(0) else { return };
        match line.source {
            Source::Script => self.call(number, line, Verb::of(name.quoted())),
            Source::Client(address) => {
                self.conclude();
                self.command(number, line, address, Verb::of(name.quoted()));
            }
        }
        if self.commands - self.swept_at >= SWEEP_EVERY {
            self.sweep();
        }
    }

    /// A server whose clock is set back goes on with an earlier time.
    fn note_step_back(&mut self, number: u64, at: UnixTime) {
        if self.commands > 1 && at < self.last_at {
            let by = self.last_at.saturating_since(at);
            let step = self.stepped_back.get_or_insert(SteppedBack { line: number, by, times: 0 });
            step.times += 1;
        }
    }

    /// A command of a client.
    fn command(&mut self, number: u64, line: &Line<'_>, address: &[u8], verb: Verb) {
        match verb {
            Verb::Other => {}
            Verb::Looks | Verb::Touches | Verb::Writes | Verb::Claims => self.keyed(number, line, address, verb),
            Verb::Times => drop(self.clocked.insert(address.into())),
            Verb::Joins => self.several(number, line, address),
            Verb::Runs => self.run(number, line, address),
            Verb::Steers => self.steer(number, line, address),
            Verb::Sweeps => self.flush(line),
        }
    }

    fn keyed(&mut self, number: u64, line: &Line<'_>, address: &[u8], verb: Verb) {
        let Some(word) = line.word(1) else { return };
        let key = word.bytes();
        let key = java_key(&key).unwrap_or(&key);
        let known = self.is_lock(line.database, key);
        if !known {
            match verb {
                Verb::Looks => return self.recent.look(address, key, line),
                Verb::Claims => {}
                Verb::Writes if is_conditional(line) => {}
                Verb::Writes if self.recent.has_looked(address, key, line) => {}
                _ => return,
            }
        }
        if verb == Verb::Writes && self.recent.has_looked(address, key, line) {
            self.open(line.database, key, line.at);
            self.look_again(number, line, address, key);
            self.recent.forget(address, key);
        }
        let command = line.command();
        self.tell(line.database, key, address, Told::new(number, line.at, command));
        if verb == Verb::Claims && line.word(0).is_some_and(|name| name.quoted().eq_ignore_ascii_case(b"watch")) {
            let name = Name { database: line.database, key: key.into() };
            self.watching.insert(address.into(), Watched { name, is_over: false });
        }
    }

    /// The look that came before the first command that made this key look like a lock. It has found nothing.
    fn look_again(&mut self, number: u64, line: &Line<'_>, address: &[u8], key: &[u8]) {
        let is_set = line.word(0).is_some_and(|name| name.quoted().eq_ignore_ascii_case(b"set"));
        let (name, nothing) = if is_set && self.recent.was_exists(address, key) {
            ("EXISTS", Reply::Int(0))
        } else {
            ("GET", Reply::Nil)
        };
        let looked = Command::new(name).arg(key);
        let told = Told { answer: Some(nothing), ..Told::new(number, line.at, looked) };
        self.tell(line.database, key, address, told);
    }

    /// Tells a lock of something that concerns it; from now on it is one.
    fn tell(&mut self, database: u32, key: &[u8], address: &[u8], told: Told<'_>) {
        self.open(database, key, told.at);
        let Some(lock) = lock_of(&mut self.locks, &self.homes, NameRef { database, key }) else { return };
        let client = self.names.entry_ref(address).or_insert_with(|| String::from_utf8_lossy(address).into()).clone();
        let Told { command, at, line, within, script, has_written, answer } = told;
        let asks_time = !self.clocked.is_empty() && self.clocked.contains(address);
        let script = script.and_then(|sha1| self.scripts.get(sha1));
        let mut ear = Ear { grammar: &mut self.grammar, findings: &mut self.findings };
        let sent = Sent { client: &client, command, at, line, within, asks_time, script, has_written, answer };
        lock.hear(&mut ear, key, &sent);
        collect(&mut self.episodes, lock);
    }

    fn open(&mut self, database: u32, key: &[u8], at: UnixTime) {
        if !self.is_lock(database, key) {
            let mut lock = Lock::new(Key::new(key), database, at, self.first_at.unwrap_or(at));
            lock.here.is_known = self.summaries.knows(database, key);
            lock.episodes = self.episodes.as_ref().map(|_| Vec::new());
            self.locks.insert(Name { database, key: key.into() }, lock);
        }
    }

    fn steer(&mut self, number: u64, line: &Line<'_>, address: &[u8]) {
        let Some(watched) = self.watching.get_mut(address) else { return };
        let (name, was_over) = (watched.name.clone(), watched.is_over);
        let command = line.command();
        // EXEC and DISCARD end what WATCH has begun, and some say UNWATCH after that.
        watched.is_over = !command.is("MULTI");
        let unwatches = command.is("UNWATCH");
        if unwatches || was_over {
            self.watching.remove(address);
        }
        if unwatches || !was_over {
            self.tell(name.database, &name.key, address, Told::new(number, line.at, command));
        }
    }

    /// All keys of a database are gone, or of all of them.
    fn flush(&mut self, line: &Line<'_>) {
        let all = line.word(0).is_some_and(|name| name.quoted().eq_ignore_ascii_case(b"flushall"));
        let summaries = &mut self.summaries;
        self.locks.retain(|name, lock| {
            let stays = !all && name.database != line.database;
            if !stays {
                summaries.add(lock);
            }
            stays
        });
        self.homes.retain(|_, home| self.locks.contains_key(home));
    }

    /// Forgets what is no lock any more.
    fn sweep(&mut self) {
        const FORGOTTEN_AFTER: Duration = Duration::from_secs(600);
        self.swept_at = self.commands;
        let (at, summaries, episodes) = (self.last_at, &mut self.summaries, &mut self.episodes);
        let mut ear = Ear { grammar: &mut self.grammar, findings: &mut self.findings };
        self.locks.retain(|_, lock| {
            let age = at.saturating_since(lock.last_at);
            let goes = age > Duration::from_secs(5) && lock.is_idle(at) || age > FORGOTTEN_AFTER;
            if goes {
                lock.settle(&mut ear, at);
                collect(episodes, lock);
                summaries.add(lock);
            }
            !goes
        });
        self.names.retain(|_, name| Arc::strong_count(name) > 1);
        self.clocked.retain(|address| self.names.contains_key(address));
        self.homes.retain(|_, home| self.locks.contains_key(home));
        let is_lock = |name: &Name| self.locks.contains_key(name) || self.homes.contains_key(name);
        self.watching.retain(|_, watched| is_lock(&watched.name));
    }

    /// The trace is over.
    pub fn finish(mut self) -> Audit {
        self.conclude();
        let at = self.last_at;
        let mut ear = Ear { grammar: &mut self.grammar, findings: &mut self.findings };
        for lock in self.locks.values_mut() {
            lock.settle(&mut ear, at);
            collect(&mut self.episodes, lock);
            self.summaries.add(lock);
        }
        let length = self.first_at.map_or(Duration::ZERO, |first_at| at.saturating_since(first_at));
        let mut episodes = self.episodes.unwrap_or_default();
        episodes.sort_by_key(|episode| episode.asked_at);
        let findings = self.findings.finish();
        let audit = self.summaries.finish(&self.grammar, findings, self.lines, self.commands, length);
        Audit { episodes, first_at: self.first_at, stepped_back: self.stepped_back, ..audit }
    }
}

/// The lock that has a key of this name.
fn lock_of<'a>(
    locks: &'a mut HashMap<Name, Lock, FxBuildHasher>,
    homes: &HashMap<Name, Name, FxBuildHasher>,
    name: NameRef<'_>,
) -> Option<&'a mut Lock> {
    match homes.get(&name) {
        Some(home) => locks.get_mut(home),
        None => locks.get_mut(&name),
    }
}

/// Takes what a lock has kept.
fn collect(episodes: &mut Option<Vec<Episode>>, lock: &mut Lock) {
    if let (Some(all), Some(of_lock)) = (episodes, &mut lock.episodes) {
        all.append(of_lock);
    }
}

/// The key in a key as Java serialisation writes a string.
fn java_key(key: &[u8]) -> Option<&[u8]> {
    key.strip_prefix(b"\xac\xed\0\x05\x74").and_then(|rest| rest.get(2..))
}
