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
            written: Some(Vec::new()),
            deleted: Vec::new(),
        });
    }

    /// A call of the script that runs.
    pub(super) fn call(&mut self, number: u64, line: &Line<'_>, verb: Verb) {
        let Some(mut running) = self.running.take() else { return };
        match running.known {
            Some(_) => running.note(line),
            None => self.foreign_call(&running, number, line, verb),
        }
        running.has_called = true;
        self.running = Some(running);
    }

    /// The script that ran has come to its end, and all its calls were listed.
    pub(super) fn conclude(&mut self) {
        let Some(running) = self.running.take().filter(|running| running.has_called) else { return };
        let (Some(sha1), Some(name)) = (&running.known, &running.name) else { return };
        let Some(script) = self.scripts.get(sha1) else { return };
        if script.claims || self.is_lock(name.database, &name.key) {
            let (before, parts) = (script.before, &script.parts);
            let keys = running.command.args().get(2..).unwrap_or_default();
            self.join(name, keys.iter().take(before), Joined::ByItself, running.at);
            let parts = parts.iter().filter_map(|place| keys.get(*place));
            self.join(name, parts, Joined::AsPart, running.at);
            let told = Told::new(running.line, running.at, running.command.clone());
            let has_written = if script.excludes { running.has_written(&name.key) } else { None };
            let told = Told { script: Some(sha1), has_written, ..told };
            self.tell(name.database, &name.key, running.client.as_bytes(), told);
        }
        for key in &running.deleted {
            let name = NameRef { database: name.database, key };
            if let Some(lock) = lock_of(&mut self.locks, &self.homes, name) {
                lock.was_deleted(&self.grammar, key, running.at);
            }
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
