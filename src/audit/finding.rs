//! What an audit has found: a race that happened, where, and the lines that show it.

use std::fmt;
use std::sync::Arc;

use crate::race_id::RaceId;
use crate::wire::{Key, UnixTime};

/// A race that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The race; `None` if two clients hold at once and no documented race explains it.
    pub race: Option<RaceId>,
    /// The key.
    pub key: Key,
    /// Its database.
    pub database: u32,
    /// When it happened, by the server's clock.
    pub at: UnixTime,
    /// The clients that took part.
    pub clients: Vec<Arc<str>>,
    /// The numbers of the lines that show it, ascending.
    pub lines: Vec<u64>,
    /// How sure that is.
    pub certainty: Certainty,
    /// What happened, in a sentence.
    pub says: String,
    /// How many of this race there were before it that are not told: on this key, or, if there are too many keys, on any.
    pub more: u64,
}

/// How sure something is. A trace has no replies, and begins in the middle of things.
///
/// What stood in a key before the trace began is in no line. The first claim of a key is taken to have succeeded, and that
/// acquisition is *likely*; so is the next one, until a command leaves no doubt what stands in the key (it was written over
/// or deleted, or whoever was seen to take it gives it back). From then on acquisitions are *certain*, but for those of a
/// client that is first heard of at the trace's beginning, and in the middle of something. A race is certain if all that it
/// rests on is, and else no more than *possible*: wherever a trace of a sound fleet is cut, what is certain in it is true.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Certainty {
    /// There are other explanations.
    Possible,
    /// It follows if nothing was in the key before the trace began, or if nothing is to be heard of somebody any more.
    Likely,
    /// It follows from the trace.
    Certain,
}

impl Certainty {
    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Possible => "possible",
            Self::Likely => "likely",
            Self::Certain => "certain",
        }
    }
}

/// So many lines show it at most; beyond that, the first ones and the last.
const MOST_LINES: usize = 16;

impl fmt::Display for Certainty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Finding {
    /// Makes another race of it: what followed shows which one it was.
    pub(super) fn becomes(&mut self, race: Option<RaceId>, line: Option<u64>, says: String) {
        self.race = race;
        self.says = says;
        line.into_iter().for_each(|line| self.shown_by(line));
    }

    /// It is shown by this line, too.
    pub(super) fn shown_by(&mut self, line: u64) {
        if self.lines.len() >= MOST_LINES {
            self.lines.pop();
        }
        if let Err(place) = self.lines.binary_search(&line) {
            self.lines.insert(place, line);
        }
    }
}
