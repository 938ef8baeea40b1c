//! Who has acquired a lock, and in which protocol: the busiest clients.

use std::collections::BTreeMap;

use super::grammar::Grammar;
use super::kinds::Kinds;
use super::talk::Talk;

/// So many clients of a lock are told.
const TOLD: usize = 16;

/// A client that has acquired a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Speaker {
    /// Its address.
    pub client: String,
    /// The protocols that it may have spoken, by all that it has said.
    pub dialects: Vec<String>,
    /// How often it has acquired, as far as it is remembered.
    pub acquisitions: u64,
}

/// Clients that have acquired a lock.
#[derive(Clone, Debug, Default)]
pub(super) struct Speakers(BTreeMap<String, (Kinds, u64)>);

impl Speakers {
    /// A conversation is over.
    pub(super) fn note(&mut self, talk: &Talk) {
        if talk.won == 0 {
            return;
        }
        let (kinds, won) = self.0.entry(talk.client.to_string()).or_default();
        *kinds = kinds.narrowed_to(talk.spoken);
        *won += talk.won;
        if self.0.len() > 2 * TOLD {
            let busiest = self.busiest();
            self.0.retain(|client, _| busiest.contains(client));
        }
    }

    fn busiest(&self) -> Vec<String> {
        let mut clients: Vec<(&String, u64)> = self.0.iter().map(|(client, (_, won))| (client, *won)).collect();
        clients.sort_by_key(|(_, won)| std::cmp::Reverse(*won));
        clients.into_iter().take(TOLD).map(|(client, _)| client.clone()).collect()
    }

    /// The busiest, and which of the protocols that are `spoken` there each of them speaks.
    pub(super) fn told(&self, grammar: &Grammar, spoken: Kinds) -> Vec<Speaker> {
        let speaker = |client: String| {
            let (kinds, acquisitions) = self.0[&client];
            Speaker { client, dialects: names(grammar, spoken.narrowed_to(kinds)), acquisitions }
        };
        self.busiest().into_iter().map(speaker).collect()
    }
}

/// The names of these protocols, each once.
pub(super) fn names(grammar: &Grammar, kinds: Kinds) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for place in kinds.places() {
        let name = grammar.kinds()[place].name();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}
