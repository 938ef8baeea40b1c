//! The conversation of one client with one key, and all conversations with a lock.

use std::hash::BuildHasher;
use std::ops::{Index, IndexMut};
use std::sync::Arc;

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;

use super::command_name::CommandName;
use super::exchange::LockExchange;
use super::finding::Certainty;
use super::grammar::{Candidates, Grammar, Position, ReachableStages};
use super::keys::Written;
use super::variants::VariantSet;
use crate::wire::{Key, Reply, UnixTime};

/// Maximum number of clients that a lock follows at a time; connections come and go.
const MOST: usize = 256;

/// Number of exchanges from which on the middle of a holder's conversation is left out.
const LONG: usize = 32;
/// Number of its last exchanges that stay.
const KEPT: usize = 4;

/// The conversation of one client with one key.
#[derive(Clone, Debug)]
pub(super) struct Conversation {
    pub(super) client: Arc<str>,
    /// The connection with which it began.
    pub(super) connection: Arc<str>,
    /// The index of the key.
    pub(super) home: usize,
    /// The protocols that the client may speak, by all that it has sent.
    pub(super) variants: VariantSet,
    position: Position,
    /// What was exchanged since the last moment at which every protocol could begin.
    exchanges: Vec<LockExchange>,
    /// The exchange before the last one, whatever it was about.
    pub(super) previous: Option<LockExchange>,
    latest: Option<LockExchange>,
    /// The value that it overwrote.
    pub(super) overwrote: Option<Overwrote>,
    /// When it first asked for what it does not have yet.
    pub(super) asked_at: Option<UnixTime>,
    /// How often it was refused since.
    pub(super) refusals: u64,
    pub(super) last_at: UnixTime,
    /// Whether it holds the lock.
    pub(super) holds: bool,
    /// The protocols by which it may have acquired.
    pub(super) acquired_by: VariantSet,
    /// How often it has acquired.
    pub(super) acquisitions: u64,
    /// Whether it has acquired since the conversation began, and perhaps released.
    pub(super) has_acquired: bool,
    /// Whether it is known to have begun where it seems to begin: its beginning may lie before that of the trace.
    is_whole: bool,
    /// Whether a command of it had no reply, or no certain place among those that were under way with it.
    pub(super) is_doubtful: bool,
    /// The conversation of a hold that was not released when another attempt began on the connection.
    unreleased: Option<Box<Self>>,
    /// Whether it has ever tried to acquire.
    pub(super) has_claimed: bool,
    /// Whether only a token tells its client from another one.
    pub(super) is_by_token: bool,
}

/// A value that a client overwrote.
#[derive(Clone, Debug)]
pub(super) struct Overwrote {
    pub(super) line: u64,
    pub(super) before: Option<Arc<Written>>,
    pub(super) had_ttl: bool,
}

/// How an exchange continues a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Continuation {
    /// It goes on with what was begun.
    Continues,
    /// It begins a new attempt or a new release.
    Begins,
    /// No protocol sends it.
    Unrecognised,
}

/// All conversations with a lock.
#[derive(Debug, Default)]
pub(super) struct Conversations {
    all: Vec<Conversation>,
    /// Their indexes, by the hash of their client and key.
    indexes: HashTable<usize>,
}

impl Conversation {
    pub(super) fn new(client: Arc<str>, home: usize, grammar: &Grammar, first: &LockExchange, is_whole: bool) -> Self {
        let position = grammar.start();
        Self {
            client,
            connection: first.connection.clone(),
            home,
            variants: position.candidates.all(),
            position,
            exchanges: Vec::new(),
            previous: None,
            latest: None,
            overwrote: None,
            asked_at: None,
            refusals: 0,
            last_at: first.at,
            holds: false,
            acquired_by: VariantSet::default(),
            acquisitions: 0,
            has_acquired: false,
            is_whole,
            is_doubtful: false,
            unreleased: None,
            has_claimed: false,
            is_by_token: false,
        }
    }

    /// How sure a verdict is that rests on where it began.
    pub(super) fn certainty(&self) -> Certainty {
        match (self.is_doubtful, self.is_whole) {
            (true, _) => Certainty::Possible,
            (false, false) => Certainty::Likely,
            (false, true) => Certainty::Certain,
        }
    }

    /// Its replies so far were guessed: its protocol is open again, and nothing is sure before it begins anew.
    pub(super) fn was_guessed(&mut self, grammar: &Grammar) {
        self.variants = grammar.start().candidates.all();
        self.is_whole = false;
    }

    /// The conversation of the hold that was not released when another attempt began on the connection, as one of its own.
    pub(super) fn take_unreleased(&mut self, client: Arc<str>) -> Option<Self> {
        let unreleased = *self.unreleased.take()?;
        Some(Self { client, acquisitions: 0, asked_at: None, refusals: 0, is_by_token: true, ..unreleased })
    }

    /// Whether the hold that was not released ended with an extension that was refused: its client knows that it is lost.
    pub(super) fn was_lost(&self) -> bool {
        let last = self.unreleased.as_ref().and_then(|unreleased| unreleased.last());
        last.is_some_and(|last| last.is_script() && !last.begins_attempt() && last.reply == Reply::Int(0))
    }

    fn leave_grammar(&mut self) {
        self.position.leave_grammar();
        self.unreleased.iter_mut().for_each(|unreleased| unreleased.leave_grammar());
    }

    /// How far it has come, by the protocols that it may speak.
    pub(super) fn candidates(&self) -> Candidates {
        self.position.candidates.among(self.variants)
    }

    /// The stages that it may have reached, by the protocols that it may speak.
    pub(super) fn stages(&self) -> ReachableStages {
        self.position.candidates.stages(&self.variants)
    }

    /// Goes on with this exchange. If it begins another attempt of a holder, the conversation before it is kept.
    pub(super) fn observe(&mut self, grammar: &mut Grammar, key: &Key, exchange: LockExchange) -> Continuation {
        let before = (self.holds && exchange.claims()).then(|| Self { unreleased: None, ..self.clone() });
        let continuation = self.go_on(grammar, key, exchange);
        if let Some(before) = before.filter(|_| continuation == Continuation::Begins) {
            self.unreleased = Some(Box::new(before));
        }
        continuation
    }

    fn go_on(&mut self, grammar: &mut Grammar, key: &Key, exchange: LockExchange) -> Continuation {
        self.last_at = exchange.at;
        self.has_claimed |= exchange.begins_attempt() || exchange.is(CommandName::Getset);
        self.previous = self.latest.replace(exchange.clone());
        if self.is_between() && !self.exchanges.is_empty() {
            self.begin(grammar, self.exchanges.len());
        }
        let was_empty = self.exchanges.is_empty();
        if self.holds && self.exchanges.len() >= LONG && !self.is_of_last_script(&exchange) {
            self.leave_out_middle(grammar, key);
        }
        self.exchanges.push(exchange);
        let next = grammar.follow(&self.position, key, &self.exchanges);
        let goes_on = next.candidates.meet(&self.variants);
        if goes_on && !self.could_be_new(grammar, key, &next) {
            self.position = next;
            self.narrow();
            if self.all_began_anew() {
                self.begin_at_latest_attempt(grammar, key);
                return Continuation::Begins;
            }
            return if was_empty { Continuation::Begins } else { Continuation::Continues };
        }
        self.begin_with_last(grammar, key)
    }

    /// Whether this was done by the same script as its last exchange.
    fn is_of_last_script(&self, exchange: &LockExchange) -> bool {
        exchange.within.is_some() && self.last().is_some_and(|last| last.within == exchange.within)
    }

    /// Leaves out what a holder has sent between its attempt and now: it may extend its lock for weeks.
    fn leave_out_middle(&mut self, grammar: &mut Grammar, key: &Key) {
        let next = grammar.leave_out_middle(&self.position, self.variants, key, &mut self.exchanges, KEPT);
        self.position = next.unwrap_or_else(|| self.position.clone());
    }

    /// Whether by every protocol that it may speak it has begun another attempt since the conversation began.
    fn all_began_anew(&self) -> bool {
        self.position.candidates.anew.meets(&self.variants) && {
            let candidates = self.candidates();
            candidates.anew == candidates.all()
        }
    }

    /// Begins anew with the fewest last exchanges that are an attempt in all protocols that it may speak.
    fn begin_at_latest_attempt(&mut self, grammar: &mut Grammar, key: &Key) {
        for from in (1..self.exchanges.len()).rev() {
            let mut position = grammar.start();
            for until in from + 1..=self.exchanges.len() {
                position = grammar.follow(&position, key, &self.exchanges[from..until]);
            }
            let candidates = position.candidates.among(self.variants);
            if candidates.all() == self.variants && candidates.anew.is_empty() {
                self.begin(grammar, from);
                self.position = position;
                return;
            }
        }
    }

    /// Begins anew with the last exchange: in a protocol that it may speak, or else in any.
    fn begin_with_last(&mut self, grammar: &mut Grammar, key: &Key) -> Continuation {
        self.begin(grammar, self.exchanges.len() - 1);
        let next = grammar.follow(&self.position, key, &self.exchanges);
        if next.candidates.is_empty() {
            self.begin(grammar, self.exchanges.len());
            return Continuation::Unrecognised;
        }
        if !next.candidates.meet(&self.variants) {
            self.variants = next.candidates.all();
        }
        self.position = next;
        self.narrow();
        Continuation::Begins
    }

    /// Begins anew with the exchanges from this index on.
    fn begin(&mut self, grammar: &Grammar, from: usize) {
        if !self.is_whole {
            self.variants = grammar.start().candidates.all();
            self.is_whole = true;
        }
        self.position = grammar.start();
        self.exchanges.drain(..from);
        self.overwrote = None;
        self.holds = false;
        self.has_acquired = false;
        self.is_doubtful = false;
    }

    /// Whether no protocol that it may speak is in the middle of anything.
    fn is_between(&self) -> bool {
        let candidates = &self.position.candidates;
        ![&candidates.acquiring, &candidates.releasing, &candidates.holding]
            .into_iter()
            .any(|set| set.meets(&self.variants))
    }

    /// Whether a new attempt may have begun, and all protocols that go on would send the same at its beginning.
    fn could_be_new(&self, grammar: &mut Grammar, key: &Key, next: &Position) -> bool {
        let Some(last) = self.exchanges.last().filter(|_| self.exchanges.len() > 1 && !self.holds) else {
            return false;
        };
        let begins = last.is_script() || last.is_any(&[CommandName::Setnx, CommandName::Set, CommandName::Exists]);
        if !begins || last.within.is_some() || !self.position.candidates.refused.meets(&self.variants) {
            return false;
        }
        let fresh = grammar.follow(&grammar.start(), key, std::slice::from_ref(last));
        let (fresh, next) = (fresh.candidates.among(self.variants), next.candidates.among(self.variants));
        next.all() & fresh.all() == next.all()
            && next.acquiring & fresh.acquiring == next.acquiring
            && next.holding & fresh.holding == next.holding
    }

    /// Whether it is in the middle of its release.
    pub(super) fn is_releasing(&self) -> bool {
        let candidates = &self.position.candidates;
        self.holds && candidates.releasing.meets(&self.variants) && !candidates.holding.meets(&self.variants)
    }

    /// Whether by some protocols that it may speak it has acquired, and it is not known whether it speaks one of them.
    pub(super) fn is_undecided(&self) -> bool {
        !self.holds && self.position.candidates.holding.meets(&self.variants)
    }

    /// The protocols of a holder by which its last exchange was its release, and that exchange.
    pub(super) fn could_have_released(&self) -> Option<(VariantSet, LockExchange)> {
        let released = &self.position.candidates.released;
        let could_have = self.holds && released.meets(&self.variants);
        Some((*released & self.variants, self.exchanges.last().filter(|_| could_have)?.clone()))
    }

    fn narrow(&mut self) {
        let candidates = self.position.candidates.all() & self.variants;
        if !candidates.is_empty() {
            self.variants = candidates;
        }
    }

    /// Its last two exchanges, whatever they were about.
    pub(super) fn latest(&self) -> impl Iterator<Item = &LockExchange> {
        [self.latest.as_ref(), self.previous.as_ref()].into_iter().flatten()
    }

    /// The last exchange of this conversation.
    pub(super) fn last(&self) -> Option<&LockExchange> {
        self.exchanges.last()
    }

    /// Whether it contains this command.
    pub(super) fn has(&self, name: CommandName) -> bool {
        self.exchanges.iter().any(|exchange| exchange.is(name))
    }

    /// Its last GET.
    pub(super) fn last_get(&self) -> Option<&LockExchange> {
        self.exchanges.iter().rev().find(|exchange| exchange.is(CommandName::Get))
    }

    /// Its last exchange that wrote a value.
    pub(super) fn last_write(&self) -> Option<&LockExchange> {
        let is_refused = |reply: &Reply| matches!(reply, Reply::Int(0) | Reply::Error(_));
        self.exchanges.iter().rev().find(|exchange| exchange.writes().is_some() && !is_refused(&exchange.reply))
    }
}

impl Conversations {
    pub(super) fn iter(&self) -> impl Iterator<Item = &Conversation> {
        self.all.iter()
    }

    /// All conversations with the key at this index.
    pub(super) fn at_home(&mut self, home: usize) -> impl Iterator<Item = (usize, &mut Conversation)> {
        self.all.iter_mut().enumerate().filter(move |(_, conversation)| conversation.home == home)
    }

    pub(super) fn count(&self) -> usize {
        self.all.len()
    }

    /// The index of a client's conversation with a key.
    pub(super) fn find(&self, client: &Arc<str>, home: usize) -> Option<usize> {
        let (hash, of) = (hash(client, home), |index: &usize| &self.all[*index]);
        let is_it = |index: &usize| of(index).home == home && Arc::ptr_eq(&of(index).client, client);
        let is_its_name = |index: &usize| of(index).home == home && of(index).client == *client;
        // A name may end with the head of a token, and two clients may have the same head: each has a copy of its own then,
        // which is looked for first.
        self.indexes.find(hash, is_it).or_else(|| self.indexes.find(hash, is_its_name)).copied()
    }

    /// A client's conversation with a key.
    pub(super) fn get(&self, client: &Arc<str>, home: usize) -> Option<&Conversation> {
        self.find(client, home).map(|index| &self.all[index])
    }

    /// Adds a conversation and returns its index. If there are too many, the one is forgotten that has been silent for
    /// longest and that no conversation needs.
    pub(super) fn add(&mut self, conversation: Conversation, is_needed: impl Fn(&Conversation) -> bool) -> usize {
        if self.all.len() >= MOST {
            let silent = self.all.iter().enumerate().filter(|(_, conversation)| !is_needed(conversation));
            if let Some((index, _)) = silent.min_by_key(|(_, conversation)| conversation.last_at) {
                self.remove(index);
            }
        }
        self.push(conversation)
    }

    /// Adds those with another lock, whose keys get indexes larger by this.
    pub(super) fn absorb(&mut self, other: Self, indexes: usize) {
        for conversation in other.all {
            self.push(Conversation { home: conversation.home + indexes, ..conversation });
        }
    }

    /// They go on in another grammar.
    pub(super) fn leave_grammar(&mut self) {
        self.all.iter_mut().for_each(Conversation::leave_grammar);
    }

    fn push(&mut self, conversation: Conversation) -> usize {
        let (index, hash_of) = (self.all.len(), Conversation::hash);
        self.all.push(conversation);
        self.indexes.insert_unique(hash_of(&self.all[index]), index, |index| hash_of(&self.all[*index]));
        index
    }

    /// Removes the one at this index, where the last one is after that.
    fn remove(&mut self, index: usize) {
        let last = self.all.len() - 1;
        for (place, now) in [(index, None), (last, Some(index))] {
            if let Ok(mut entry) = self.indexes.find_entry(self.all[place].hash(), |it| *it == place) {
                match now {
                    Some(now) => *entry.get_mut() = now,
                    None => drop(entry.remove()),
                }
            }
        }
        self.all.swap_remove(index);
    }
}

impl Conversation {
    fn hash(&self) -> u64 {
        hash(&self.client, self.home)
    }
}

fn hash(client: &str, home: usize) -> u64 {
    FxBuildHasher.hash_one((client, home))
}

impl Index<usize> for Conversations {
    type Output = Conversation;

    fn index(&self, index: usize) -> &Conversation {
        &self.all[index]
    }
}

impl IndexMut<usize> for Conversations {
    fn index_mut(&mut self, index: usize) -> &mut Conversation {
        &mut self.all[index]
    }
}
