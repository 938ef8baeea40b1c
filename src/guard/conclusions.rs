//! What clients conclude from replies, remembered: it depends on nothing else, and the same questions come again and again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::decision::Decision;
use crate::wire::{Reply, Transcript};

/// Whether a reply to a protocol that was answered so leads to the decision.
type Question = (usize, Transcript, Reply, Option<Decision>);

/// The answers so far; copies share them.
#[derive(Clone, Debug, Default)]
pub(super) struct Conclusions(Arc<Mutex<HashMap<Question, bool>>>);

/// More questions than a rule's protocols ask; values that clients read can make more.
const MOST: usize = 4_096;

impl Conclusions {
    /// The answer to a question, found by `find` the first time.
    pub(super) fn of(
        &self,
        member: usize,
        transcript: &Transcript,
        reply: Reply,
        decided: Option<Decision>,
        find: impl FnOnce(&Transcript, Reply) -> bool,
    ) -> bool {
        let question = (member, transcript.clone(), reply, decided);
        if let Some(known) = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&question) {
            return *known;
        }
        let found = find(transcript, question.2.clone());
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST {
            known.clear();
        }
        known.insert(question, found);
        found
    }
}
