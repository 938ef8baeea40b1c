//! What the calls of a script say of the state that it has met: they are listed, and what stood in the keys before the trace
//! began is not.

use super::grammar::Grammar;
use super::lock::{Lock, SESSION, Sent};
use super::said::keys_of_script;
use super::spot::Spot;
use super::spots::Spots;
use crate::sim::{Stored, Value};
use crate::wire::{Command, Key, UnixTime};

/// In whose name a lock is taken to be held of which it is only known that somebody holds it.
const SOMEBODY: &str = "somebody";

impl Lock {
    /// A try is about to run that is listed to have taken the lock, or not to have: if that cannot be by what is known of the
    /// keys, then they stand otherwise.
    pub(super) fn believe(&mut self, grammar: &Grammar, sent: &Sent<'_>) {
        let Some(takes) = sent.has_written.filter(|_| !self.is_certain_of(&sent.command)) else { return };
        match (self.written_by(sent), takes) {
            (None, true) => {
                let stood = self.server.clone();
                for key in keys_of(&sent.command) {
                    self.delete(&Key::new(key.as_slice()), sent.at);
                }
                match self.written_by(sent) {
                    Some(_) => self.forget(grammar, self.here.number),
                    None => self.server = stood,
                }
            }
            (Some(after), false) => {
                let stood = self.server.clone();
                self.occupy(&after, sent.at);
                if self.written_by(sent).is_some() {
                    self.server = stood;
                }
            }
            (None, false) | (Some(_), true) => {}
        }
    }

    /// A script has deleted this key. Whoever was taken to hold it then had not got it: what stood there was somebody's who
    /// had it before the trace began. With it goes what stands beside it, which nobody knows either.
    pub(super) fn was_deleted(&mut self, grammar: &Grammar, key: &[u8], at: UnixTime) {
        let Some(spot) = self.spots().find(|spot| spot.key.as_bytes() == key) else { return };
        if !self.server.holds(&spot.key, at) {
            return;
        }
        let number = spot.number;
        self.turn_to(spot.home);
        let home = self.here.home;
        let keys: Vec<Key> = self.spots().filter(|spot| spot.home == home).map(|spot| spot.key.clone()).collect();
        keys.iter().for_each(|key| self.delete(key, at));
        self.forget(grammar, number);
    }

    /// Whether it is known what stands in all keys that a script names.
    fn is_certain_of(&self, run: &Command) -> bool {
        keys_of(run).iter().all(|key| self.spots().any(|spot| spot.is_known && spot.key.as_bytes() == *key))
    }

    /// What the key would hold after this, if that is not what it holds.
    fn written_by(&mut self, sent: &Sent<'_>) -> Option<Stored> {
        let stood = self.server.clone();
        self.run(sent);
        let after = std::mem::replace(&mut self.server, stood).peek(&self.here.key, sent.at)?;
        let before = self.server.see(&self.here.key, sent.at);
        let is_same = before.is_some_and(|before| *before.value == after.value);
        (!is_same).then_some(after)
    }

    /// Somebody holds it, in the way in which whoever tries would, and for as long.
    fn occupy(&mut self, like: &Stored, at: UnixTime) {
        let key = self.here.key.clone();
        let held = match &like.value {
            Value::Text(_) => Command::new("SET").arg(&key).arg(SOMEBODY),
            Value::Hash(_) => Command::new("HSET").arg(&key).arg(SOMEBODY).arg("1"),
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

    /// Nothing is known of the keys of this lock but of the one at this place. Whoever was taken to hold it does not, and what
    /// they were answered was guessed.
    fn forget(&mut self, grammar: &Grammar, known: u8) {
        let home = self.here.home;
        let mut numbers = Spots::default();
        let of_home = |spot: &&mut Spot| spot.home == home;
        for spot in [&mut self.here].into_iter().chain(&mut self.beside).filter(of_home) {
            (spot.is_known, spot.written) = (spot.number == known, None);
            numbers = numbers.with(spot.number);
        }
        self.holds.retain(|hold| !hold.spots.meet(numbers));
        for talk in self.talks.iter_mut().filter(|talk| talk.home == home) {
            talk.leave();
            talk.was_guessed(grammar);
        }
    }
}

fn keys_of(run: &Command) -> &[Vec<u8>] {
    let count = keys_of_script(run.args()).unwrap_or(0);
    run.args().get(2..).and_then(|words| words.get(..count)).unwrap_or_default()
}
