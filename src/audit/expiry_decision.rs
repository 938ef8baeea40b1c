//! A command that ran within a millisecond of the expiry of a key, by a source without replies: the key may have been there or
//! not. What its client does next says which, and what the scripts of others wrote.

use super::command_name::CommandName;
use super::conversation::{Continuation, Conversation};
use super::event::LockEvent;
use super::exchange::LockExchange;
use super::findings::FindingList;
use super::grammar::Grammar;
use super::keys::KeySet;
use super::lock::AuditedLock;
use super::locks::LockId;
use super::undecided_expiry::UndecidedExpiry;
use crate::sim::Server;

/// Whether the keys had expired when the command ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ExpiryDecision {
    Expired,
    Existed,
    /// It makes no difference.
    Irrelevant,
    /// What is known so far fits both.
    Open,
}

/// What the commands look like if the keys had expired, or had not.
struct Outcome {
    /// How many of them no protocol sends there, or did what they could not do there.
    contradictions: u32,
    conversation: Option<Conversation>,
    server: Server,
}

impl AuditedLock {
    /// Observes an event that concerns this key; later, if one before it is not decided.
    pub(super) fn observe(&mut self, grammar: &mut Grammar, findings: &mut FindingList, key: &[u8], event: LockEvent) {
        let is_waiting = self.undecided.is_some();
        let keys = if is_waiting { KeySet::default() } else { self.expiring_at(&event) };
        if !is_waiting && keys == KeySet::default() {
            return self.observe_decided(grammar, findings, key, event);
        }
        self.last_at = event.at;
        let undecided = self.undecided.get_or_insert_with(|| UndecidedExpiry { keys, events: Vec::new() });
        undecided.events.push((key.into(), event));
        let is_overdue = undecided.is_overdue();
        self.decide(grammar, findings, is_overdue);
    }

    /// Observes all that waits, because no more events help to decide.
    pub(super) fn decide_at_last(&mut self, grammar: &mut Grammar, findings: &mut FindingList, id: LockId) {
        if self.undecided.is_some() {
            findings.reads(0, id);
        }
        while self.undecided.is_some() {
            self.decide(grammar, findings, true);
        }
    }

    /// The keys that expire when this command runs, if their expiry decides its reply and that is not known.
    fn expiring_at(&self, event: &LockEvent) -> KeySet {
        let depends = [CommandName::Setnx, CommandName::Set, CommandName::Get, CommandName::Getset];
        let is_open = event.known_reply.is_none() && !event.is_doubtful && !event.is_administrative && !event.is_look;
        if !is_open || event.has_written.is_none() && !event.command.is_any(&depends) {
            return KeySet::default();
        }
        self.keys.expiring_at(self.keys.named_by(&event.command), event.at)
    }

    /// Observes what waits, if it is decided by now or has to be.
    fn decide(&mut self, grammar: &mut Grammar, findings: &mut FindingList, is_last: bool) {
        let Some(undecided) = self.undecided.take() else { return };
        let decision = self.expiry_decision(grammar, &undecided);
        if decision == ExpiryDecision::Open && !is_last {
            self.undecided = Some(undecided);
            return;
        }
        let keys = undecided.keys;
        let mut events = undecided.events.into_iter();
        let Some((key, mut first)) = events.next() else { return };
        match decision {
            ExpiryDecision::Expired => self.keys.decide_expiry(keys, true, first.at),
            ExpiryDecision::Existed => self.keys.decide_expiry(keys, false, first.at),
            ExpiryDecision::Irrelevant => {}
            ExpiryDecision::Open => first.is_doubtful = true,
        }
        findings.reads_line(first.line);
        self.observe_decided(grammar, findings, &key, first);
        for (key, event) in events {
            findings.reads_line(event.line);
            self.observe(grammar, findings, &key, event);
        }
    }

    fn expiry_decision(&mut self, grammar: &mut Grammar, undecided: &UndecidedExpiry) -> ExpiryDecision {
        let expired = self.outcome(grammar, undecided, true);
        let existed = self.outcome(grammar, undecided, false);
        let is_look = undecided.events.first().is_some_and(|(_, event)| event.command.is(CommandName::Get));
        let goes_on_alike = undecided.events.len() > 1
            && expired.server == existed.server
            && expired.conversation.map(|it| it.variants) == existed.conversation.map(|it| it.variants);
        match expired.contradictions.cmp(&existed.contradictions) {
            std::cmp::Ordering::Less => ExpiryDecision::Expired,
            std::cmp::Ordering::Greater => ExpiryDecision::Existed,
            std::cmp::Ordering::Equal if is_look && goes_on_alike => ExpiryDecision::Irrelevant,
            std::cmp::Ordering::Equal => ExpiryDecision::Open,
        }
    }

    /// What comes of all that waits if the keys had expired, or had not.
    fn outcome(&mut self, grammar: &mut Grammar, undecided: &UndecidedExpiry, has_expired: bool) -> Outcome {
        let mut contradictions = 0;
        let mut replies = Vec::new();
        let ((), server) = self.keys.try_out(|keys| {
            for (index, (key, event)) in undecided.events.iter().enumerate() {
                if index == 0 {
                    keys.decide_expiry(undecided.keys, has_expired, event.at);
                }
                let home = keys.home_of(key);
                if let Some(has_written) = event.has_written {
                    contradictions += u32::from(keys.would_write(home, event).is_some() != has_written);
                }
                replies.push((home, keys.run(event)));
            }
        });
        let mut conversation: Option<Conversation> = None;
        let mut exchanges =
            undecided.events.iter().zip(replies).map(|((_, event), (home, reply))| (home, event, reply));
        if let Some((home, first, reply)) = exchanges.next() {
            let exchange = LockExchange::new(first.clone(), reply);
            let owner = exchange.owner().to_vec();
            let known = self.conversations.get(&first.client, home).cloned();
            let mut begun = known.unwrap_or_else(|| self.begun_with(grammar, first.client.clone(), home, &exchange));
            begun.observe(grammar, &self.keys[home].key, exchange);
            for (at_home, event, reply) in exchanges.filter(|(at_home, ..)| *at_home == home) {
                let names_owner = || owner.len() >= 8 && event.command.args().iter().any(|word| *word == *owner);
                if event.client != first.client && !(event.compares_and_deletes() && names_owner()) {
                    continue;
                }
                let variants = begun.variants;
                let exchange = LockExchange::new(event.clone(), reply);
                let continuation = begun.observe(grammar, &self.keys[at_home].key, exchange);
                let is_unlike = continuation == Continuation::Unrecognised || !begun.variants.meets(&variants);
                contradictions += u32::from(is_unlike);
            }
            conversation = Some(begun);
        }
        Outcome { contradictions, conversation, server }
    }
}
