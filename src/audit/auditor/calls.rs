//! Scripts: MONITOR lists EVAL first, and the calls that it makes behind it.

use super::joins::Joined;
use super::name::{Name, NameRef};
use super::told::{Running, Told, is_conditional};
use super::{Auditor, lock_of};
use crate::audit::scripts::sha1;
use crate::audit::verb::Verb;
use crate::monitor::Line;

impl Auditor {
    /// EVAL or EVALSHA: what it does follows in the next lines.
    pub(super) fn run(&mut self, number: u64, line: &Line<'_>, address: &[u8]) {
        let (Some(name), Some(script), Some(count)) = (line.word(0), line.word(1), line.word(2)) else { return };
        let is_text = name.quoted().eq_ignore_ascii_case(b"eval");
        let sha1 = if is_text { sha1(&script.bytes()) } else { script.bytes().to_ascii_lowercase() };
        let has_keys = count.quoted() != b"0";
        let before = self.scripts.get(&sha1).map_or(0, |script| script.before);
        let key = line.word(3 + before).filter(|_| has_keys).map(|key| key.bytes());
        let name = key.map(|key| Name { database: line.database, key: key.into() });
        let known = self.scripts.contains_key(&sha1).then_some(sha1);
        self.running = Some(Running {
            client: String::from_utf8_lossy(address).into(),
            command: line.command(),
            at: line.at,
            line: number,
            name,
            known,
            has_called: false,
        });
    }

    /// A call of the script that runs.
    pub(super) fn call(&mut self, number: u64, line: &Line<'_>, verb: Verb) {
        let Some(mut running) = self.running.take() else { return };
        let begins = !running.has_called;
        running.has_called = true;
        match (&running.known, &running.name) {
            (Some(sha1), Some(name)) if begins => {
                let script = self.scripts.get(sha1);
                let claims = script.is_some_and(|script| script.claims);
                if claims || self.is_lock(name.database, &name.key) {
                    if let Some((before, parts)) = script.map(|script| (script.before, script.parts.clone())) {
                        let keys = running.command.args().get(2..).unwrap_or_default();
                        self.join(name, keys.iter().take(before), Joined::ByItself, running.at);
                        let parts = parts.iter().filter_map(|place| keys.get(*place));
                        self.join(name, parts, Joined::AsPart, running.at);
                    }
                    let told = Told::new(running.line, running.at, running.command.clone());
                    let told = Told { script: Some(sha1), ..told };
                    self.tell(name.database, &name.key, running.client.as_bytes(), told);
                }
            }
            (Some(_), _) => {}
            (None, _) => self.foreign_call(&running, number, line, verb),
        }
        if running.known.is_some() && verb == Verb::Touches {
            self.deleted(line);
        }
        self.running = Some(running);
    }

    /// What a script deletes in the trace is gone, even if it was not there by what is known from before the trace began.
    fn deleted(&mut self, line: &Line<'_>) {
        let is = |name: &[u8]| line.word(0).is_some_and(|word| word.quoted().eq_ignore_ascii_case(name));
        let Some(key) = line.word(1).filter(|_| is(b"del") || is(b"unlink")).map(|key| key.bytes()) else { return };
        let name = NameRef { database: line.database, key: &key };
        if let Some(lock) = lock_of(&mut self.locks, &self.homes, name) {
            lock.was_deleted(&self.grammar, &key, line.at);
        }
    }

    /// A call of a script that is nobody's: as if the client itself had sent it.
    fn foreign_call(&mut self, running: &Running, number: u64, line: &Line<'_>, verb: Verb) {
        let Some(key) = line.word(1).map(|key| key.bytes()) else { return };
        let known = self.is_lock(line.database, &key);
        let begins = verb == Verb::Claims || verb == Verb::Writes && is_conditional(line);
        if matches!(verb, Verb::Looks | Verb::Touches | Verb::Writes | Verb::Claims) && (known || begins) {
            let told = Told { within: Some(running.line), ..Told::new(number, line.at, line.command()) };
            self.tell(line.database, &key, running.client.as_bytes(), told);
        }
    }
}
