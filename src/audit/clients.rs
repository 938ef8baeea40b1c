//! The clients that acquired a lock, and the protocols that they may speak: all of them, or of very many the busiest.

use std::collections::BTreeMap;

use super::conversation::Conversation;
use super::variants::{Variant, VariantSet};

/// Maximum number of clients of a lock that are kept: as many as are followed at a time.
const MOST: usize = 256;

/// A client that has acquired a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientSummary {
    /// Its address.
    pub client: String,
    /// The protocols that it may speak, by all that it has sent.
    pub dialects: Vec<String>,
    /// Number of its acquisitions, as far as they are remembered.
    pub acquisitions: u64,
}

/// Clients that have acquired a lock.
#[derive(Clone, Debug, Default)]
pub(super) struct ClientSummaries(BTreeMap<String, (VariantSet, u64)>);

impl ClientSummaries {
    /// Adds what is known from a conversation that has ended.
    pub(super) fn note(&mut self, conversation: &Conversation) {
        if conversation.acquisitions == 0 {
            return;
        }
        let (variants, won) = self.0.entry(conversation.client.to_string()).or_default();
        *variants = variants.narrowed_to(conversation.acquired_by);
        *won += conversation.acquisitions;
        if self.0.len() > 2 * MOST {
            let busiest = self.busiest();
            self.0.retain(|client, _| busiest.contains(client));
        }
    }

    fn busiest(&self) -> Vec<String> {
        let mut clients: Vec<(&String, u64)> = self.0.iter().map(|(client, (_, won))| (client, *won)).collect();
        clients.sort_by_key(|(_, won)| std::cmp::Reverse(*won));
        clients.into_iter().take(MOST).map(|(client, _)| client.clone()).collect()
    }

    /// The busiest, and which of the protocols that are `spoken` on the key each of them may speak.
    pub(super) fn finish(&self, spoken: VariantSet) -> Vec<ClientSummary> {
        let speaker = |client: String| {
            let (variants, acquisitions) = self.0[&client];
            ClientSummary { client, dialects: names(spoken.narrowed_to(variants)), acquisitions }
        };
        self.busiest().into_iter().map(speaker).collect()
    }
}

/// The names of these protocols, each once.
pub(super) fn names(variants: VariantSet) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for name in variants.iter().map(Variant::name) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}
