//! Who talks with a lock: which conversation a command belongs to, and which are forgotten.

use std::sync::Arc;
use std::time::Duration;

use super::grammar::Grammar;
use super::hold::Hold;
use super::lock::{Lock, Sent};
use super::said::Said;
use super::talk::Talk;

/// For so long after the trace began, whoever is heard for the first time may be in the middle of something.
const EARLY: Duration = Duration::from_secs(60);
/// With so many clients a lock talks at a time; connections come and go.
const MOST_TALKS: usize = 256;

impl Lock {
    /// The talk of this client with the key that is being talked of.
    pub(super) fn talk_with(&self, client: &Arc<str>) -> Option<&Talk> {
        self.places.get(&(client.as_ptr().addr(), self.here.home)).map(|place| &self.talks[*place])
    }

    /// The conversation that this belongs to: by a holder's token, else by the connection.
    pub(super) fn talk_of(&mut self, grammar: &Grammar, said: &Said, sent: &Sent<'_>) -> usize {
        // Whoever tries to acquire may name another's value, that it wants to take the place of.
        let claims = sent.script.is_some_and(|script| script.claims);
        let compares = !claims && ["EVAL", "EVALSHA", "DELIFEQ", "DELEX"].iter().any(|name| said.is(name));
        let home = self.here.home;
        let is_named = |word: &Vec<u8>| word.len() >= 8 && said.command.args().contains(word);
        let has_token = |hold: &&Hold| hold.home == home && (is_named(&hold.value) || is_named(&hold.token));
        let by_token = self.holds.iter().filter(|_| compares).find(has_token).map(|hold| hold.client.clone());
        let client = by_token.as_ref().unwrap_or(sent.client);
        if let Some(place) = self.places.get(&(client.as_ptr().addr(), home)) {
            return *place;
        }
        if self.talks.len() >= MOST_TALKS {
            self.forget_a_talk();
        }
        self.places.insert((client.as_ptr().addr(), home), self.talks.len());
        let is_whole = said.claims() || said.at.saturating_since(self.began_at) >= EARLY;
        self.talks.push(Talk::new(client.clone(), home, grammar, said.at, is_whole));
        self.talks.len() - 1
    }

    /// Forgets the conversation of whoever has been silent for longest and holds nothing.
    fn forget_a_talk(&mut self) {
        let holds = |talk: &Talk| self.holds.iter().any(|hold| hold.client == talk.client && hold.home == talk.home);
        let silent = self.talks.iter().enumerate().filter(|(_, talk)| !holds(talk));
        if let Some((place, _)) = silent.min_by_key(|(_, talk)| talk.last_at) {
            let silent = self.talks.swap_remove(place);
            self.places.remove(&(silent.client.as_ptr().addr(), silent.home));
            if let Some(moved) = self.talks.get(place) {
                self.places.insert((moved.client.as_ptr().addr(), moved.home), place);
            }
        }
    }
}
