//! The conversation of one client with one key.

use std::sync::Arc;

use super::finding::Certainty;
use super::grammar::{Course, Grammar, Standing};
use super::hold::Written;
use super::kinds::Kinds;
use super::said::Said;
use crate::wire::{Key, Reply, UnixTime};

/// The conversation of one client with one key.
#[derive(Clone, Debug)]
pub(super) struct Talk {
    pub(super) client: Arc<str>,
    /// The key that it names.
    pub(super) home: u8,
    /// Who it may be, by all that it has said.
    pub(super) kinds: Kinds,
    course: Course,
    /// What was said since the last moment at which all was open.
    pub(super) said: Vec<Said>,
    /// What it said before what it said last, whatever that was about.
    pub(super) previous: Option<Said>,
    latest: Option<Said>,
    /// The value that it has written over.
    pub(super) overwrote: Option<Overwrote>,
    /// When it first asked for what it does not have yet.
    pub(super) asked_at: Option<UnixTime>,
    pub(super) last_at: UnixTime,
    /// Whether it holds, by this conversation.
    pub(super) holds: bool,
    /// Who it may have been by what it said when it won.
    pub(super) spoken: Kinds,
    /// How often it has won.
    pub(super) won: u64,
    /// Whether it has won in this conversation, and perhaps given back.
    pub(super) has_won: bool,
    /// Whether it is known to have begun where it seems to begin: something may have been said before the trace began.
    pub(super) is_whole: bool,
}

/// A value that a client has written over.
#[derive(Clone, Debug)]
pub(super) struct Overwrote {
    pub(super) line: u64,
    pub(super) before: Option<Arc<Written>>,
    pub(super) had_ttl: bool,
}

/// How a conversation went on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Went {
    /// As it had begun.
    On,
    /// What was said last begins a new try, or a new release.
    Anew,
    /// What was said is nobody's.
    Astray,
}

impl Talk {
    pub(super) fn new(client: Arc<str>, home: u8, grammar: &Grammar, at: UnixTime, is_whole: bool) -> Self {
        let course = grammar.start();
        Self {
            client,
            home,
            kinds: course.standing.everybody(),
            course,
            said: Vec::new(),
            previous: None,
            latest: None,
            overwrote: None,
            asked_at: None,
            last_at: at,
            holds: false,
            spoken: Kinds::default(),
            won: 0,
            has_won: false,
            is_whole,
        }
    }

    /// It has won as one of those who it may be now.
    pub(super) fn note_spoken(&mut self) {
        self.spoken = self.spoken.narrowed_to(self.kinds);
    }

    /// It holds no longer.
    pub(super) fn leave(&mut self) {
        self.holds = false;
    }

    /// How sure a verdict is that rests on where it began.
    pub(super) fn certainty(&self) -> Certainty {
        if self.is_whole { Certainty::Certain } else { Certainty::Likely }
    }

    /// What it was answered so far was guessed: who it may be is open again, and nothing is sure before it begins anew.
    pub(super) fn was_guessed(&mut self, grammar: &Grammar) {
        self.kinds = grammar.start().standing.everybody();
        self.is_whole = false;
    }

    /// How far it has come.
    pub(super) fn standing(&self) -> Standing {
        self.course.standing.among(self.kinds)
    }

    /// Goes on with this command.
    pub(super) fn hear(&mut self, grammar: &mut Grammar, key: &Key, said: Said) -> Went {
        self.last_at = said.at;
        self.previous = self.latest.replace(said.clone());
        if self.is_between() && !self.said.is_empty() {
            self.begin(grammar, Vec::new());
        }
        let was_empty = self.said.is_empty();
        self.said.push(said);
        let next = grammar.follow(&self.course, key, &self.said);
        let goes_on = !next.standing.among(self.kinds).is_nobody();
        if goes_on && !self.could_be_new(grammar, key, &next) {
            self.course = next;
            self.narrow();
            if self.is_all_anew() {
                self.begin_at_latest_try(grammar, key);
                return Went::Anew;
            }
            return if was_empty { Went::Anew } else { Went::On };
        }
        self.begin_with_last(grammar, key)
    }

    /// Whether everybody whom it may be has begun another try since this conversation began.
    fn is_all_anew(&self) -> bool {
        let standing = self.standing();
        !standing.is_nobody() && standing.anew == standing.everybody()
    }

    /// Begins anew with the fewest last lines that are a try of all whom it may be.
    fn begin_at_latest_try(&mut self, grammar: &mut Grammar, key: &Key) {
        let said = std::mem::take(&mut self.said);
        for from in (1..said.len()).rev() {
            let mut course = grammar.start();
            for until in from + 1..=said.len() {
                course = grammar.follow(&course, key, &said[from..until]);
            }
            let standing = course.standing.among(self.kinds);
            if standing.everybody() == self.kinds && standing.anew.is_empty() {
                self.begin(grammar, said[from..].to_vec());
                self.course = course;
                return;
            }
        }
        self.said = said;
    }

    /// Begins anew with what was said last: those it was known to be, else anybody.
    fn begin_with_last(&mut self, grammar: &mut Grammar, key: &Key) -> Went {
        let last = self.said.pop().into_iter().collect();
        self.begin(grammar, last);
        let next = grammar.follow(&self.course, key, &self.said);
        if next.standing.is_nobody() {
            self.begin(grammar, Vec::new());
            return Went::Astray;
        }
        if next.standing.among(self.kinds).is_nobody() {
            self.kinds = next.standing.everybody();
        }
        self.course = next;
        self.narrow();
        Went::Anew
    }

    fn begin(&mut self, grammar: &Grammar, said: Vec<Said>) {
        if !self.is_whole {
            self.kinds = grammar.start().standing.everybody();
            self.is_whole = true;
        }
        self.course = grammar.start();
        self.said = said;
        self.overwrote = None;
        self.holds = false;
        self.has_won = false;
    }

    /// Whether nobody who it may be is in the middle of anything.
    fn is_between(&self) -> bool {
        let standing = self.standing();
        standing.asking.is_empty() && standing.leaving.is_empty() && standing.won.is_empty()
    }

    /// Whether somebody may have begun a new try, and all who go on would say the same at its beginning.
    fn could_be_new(&self, grammar: &mut Grammar, key: &Key, next: &Course) -> bool {
        let Some(last) = self.said.last().filter(|_| self.said.len() > 1 && !self.holds) else { return false };
        let begins = ["SETNX", "SET", "EXISTS", "EVAL", "EVALSHA"].iter().any(|name| last.is(name));
        if !begins || last.within.is_some() || self.standing().refused.is_empty() {
            return false;
        }
        let fresh = grammar.follow(&grammar.start(), key, std::slice::from_ref(last));
        let (fresh, next) = (fresh.standing.among(self.kinds), next.standing.among(self.kinds));
        next.everybody() & fresh.everybody() == next.everybody()
            && next.asking & fresh.asking == next.asking
            && next.won & fresh.won == next.won
    }

    /// Whether it is in the middle of its release.
    pub(super) fn is_leaving(&self) -> bool {
        let standing = self.standing();
        self.holds && !standing.leaving.is_empty() && standing.won.is_empty()
    }

    fn narrow(&mut self) {
        let left = self.standing().everybody();
        if !left.is_empty() {
            self.kinds = left;
        }
    }

    /// The value that it read last in this conversation, and whether it looked at all.
    pub(super) fn looked(&self) -> Option<&Said> {
        self.said.iter().rev().find(|said| said.is("GET"))
    }

    /// What it has written last in this conversation.
    pub(super) fn wrote(&self) -> Option<&Said> {
        self.said.iter().rev().find(|said| said.writes().is_some() && !is_no(&said.reply))
    }
}

/// Whether a reply says that nothing was written.
fn is_no(reply: &Reply) -> bool {
    matches!(reply, Reply::Int(0) | Reply::Error(_))
}
