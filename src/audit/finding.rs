//! What an audit has found: a race that happened, where, and the lines that show it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::race_id::RaceId;
use crate::wire::{Key, Reply, UnixTime};

/// A race that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The key.
    pub key: Key,
    /// Its database.
    pub database: u32,
    /// What happened there.
    pub verdict: Verdict,
    /// How many findings of this race before this one are left out: on this key, or on any if there are too many keys.
    pub more: u64,
}

/// What happened, and how sure that is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The race; `None` if two clients hold at once and no documented race explains it.
    pub race: Option<RaceId>,
    /// When it happened, by the server's clock.
    pub at: UnixTime,
    /// The clients that took part.
    pub clients: Vec<Arc<str>>,
    /// The numbers of the lines that show it, ascending.
    pub lines: Vec<u64>,
    /// How sure it is.
    pub certainty: Certainty,
    /// What the trace shows of it.
    pub evidence: Evidence,
}

/// What a trace shows of a race.
#[expect(missing_docs, reason = "the text of each variant names its fields")]
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Evidence {
    /// `newcomer` acquired at `newcomer_line` while `holder` held since `holder_line`, with `value` in the key.
    DoubleHold { holder: Arc<str>, holder_line: u64, newcomer: Arc<str>, newcomer_line: u64, value: Vec<u8> },
    /// `client` acquired with a stamp that had expired.
    StampWrittenBack { client: Arc<str>, value: Vec<u8> },
    /// `loser` lost the takeover to `winner` and left `value` in place of `replaced`.
    LoserMovedLease { loser: Arc<str>, winner: Arc<str>, value: Vec<u8>, replaced: Vec<u8> },
    /// `client` believes that it lost, and left `value` in a lock that no client holds.
    Phantom { client: Arc<str>, value: Vec<u8> },
    /// `value` of `loser` outlives the lease of the winner.
    LoserOutlivesWinner { loser: Arc<str>, value: Vec<u8> },
    /// `holder` cannot release, because `loser` left `value` in place of its stamp.
    LoserBlocksRelease { holder: Arc<str>, loser: Arc<str>, value: Vec<u8> },
    /// A loser removed the time to live, and clients that read no stamp wait for ever.
    LoserClearedTtl,
    /// `client` deletes the lock that `holder` holds since `holder_line`.
    Deleted { client: Arc<str>, holder: Arc<str>, holder_line: u64 },
    /// `client`, which does not use the lock, deletes what `holder` holds since `holder_line`: by DEL, RENAME or FLUSHALL.
    DeletedFromOutside { client: Arc<str>, holder: Arc<str>, holder_line: u64 },
    /// `newcomer` acquired at `newcomer_line` while `holder` held since `holder_line`: the key was gone without a command.
    Vanished { holder: Arc<str>, holder_line: u64, newcomer: Arc<str>, newcomer_line: u64 },
    /// `client` deletes another key than the one that it locked.
    OtherKeyDeleted { client: Arc<str> },
    /// `client` reads its own stamp and does not delete it.
    NotDeleted { client: Arc<str>, value: Vec<u8> },
    /// `client` releases at `line`, after its lease; `next` has held the lock since the line beside it.
    Overrun { client: Arc<str>, line: u64, next: Option<(Arc<str>, u64)> },
    /// `client` sets a time to live of decades.
    TtlOfDecades { client: Arc<str> },
    /// `client` shortens the lease that `holder` holds since `holder_line`.
    LeaseShortened { client: Arc<str>, holder: Arc<str>, holder_line: u64 },
    /// `client` extends at `line` what `next` has held since `next_line`.
    ExtendedTooLate { client: Arc<str>, line: u64, next: Arc<str>, next_line: u64 },
    /// A script of `client` set the key and failed before it set the time to live.
    ScriptFailed { client: Arc<str>, reply: Reply },
    /// `client` waits for the lock of `holder`, which never ends; `holder` was silent for this long.
    WaitsForEver { client: Arc<str>, holder: Arc<str>, value: Vec<u8>, silence: Duration },
}

/// How sure an acquisition or a finding is. A trace has no replies, and its beginning cuts conversations.
///
/// No line shows what a key held before the trace began. The first claim of a key is taken to have succeeded, and that
/// acquisition is *likely*; so is the next one, until a command leaves no doubt what the key holds: it was overwritten or
/// deleted, or the client that was seen to acquire the lock releases it. From then on acquisitions are *certain*, except
/// those of a client that first appears at the trace's beginning and in the middle of something. A race is *certain* if all
/// that it rests on is, and otherwise at most *possible*: wherever the trace of a sound fleet is cut, what is certain in it
/// is true.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Certainty {
    /// There are other explanations.
    Possible,
    /// It follows if the key held nothing before the trace began, or if a silent client has ended.
    Likely,
    /// It follows from the trace.
    Certain,
}

impl Certainty {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Possible => "possible",
            Self::Likely => "likely",
            Self::Certain => "certain",
        }
    }
}

impl fmt::Display for Certainty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Maximum number of lines that show a race; beyond that, the first ones and the last.
const MOST_LINES: usize = 16;

/// What a lost takeover turns out to have done.
#[derive(Debug)]
pub(super) struct Effect {
    pub(super) race: RaceId,
    /// The line that shows it, if one does.
    pub(super) line: Option<u64>,
    /// A client that takes part in it.
    pub(super) client: Arc<str>,
    pub(super) certainty: Certainty,
    pub(super) evidence: Evidence,
}

impl Verdict {
    /// It turns out to have had this effect. What led to a double hold stays that.
    pub(super) fn becomes(&mut self, effect: Effect) {
        let Effect { race, line, client, certainty, evidence } = effect;
        line.into_iter().for_each(|line| self.shown_by(line));
        if !matches!(self.evidence, Evidence::DoubleHold { .. }) {
            (self.race, self.evidence) = (Some(race), evidence);
            self.has_client(&client);
            self.rests_on(certainty);
        }
    }

    /// It led to this: the two are one finding, which is what it led to, and no surer than either.
    pub(super) fn led_to(&mut self, consequence: Self) {
        let cause = std::mem::replace(self, consequence);
        cause.clients.iter().for_each(|client| self.has_client(client));
        cause.lines.into_iter().for_each(|line| self.shown_by(line));
        self.rests_on(cause.certainty);
    }

    /// This client takes part in it, too, as this line shows.
    pub(super) fn involves(&mut self, client: &Arc<str>, line: u64) {
        self.has_client(client);
        self.shown_by(line);
    }

    /// It rests on something of this certainty, too. What rests on something that is only likely has other explanations.
    pub(super) fn rests_on(&mut self, certainty: Certainty) {
        if certainty != Certainty::Certain {
            self.certainty = Certainty::Possible;
        }
    }

    fn has_client(&mut self, client: &Arc<str>) {
        if !self.clients.contains(client) {
            self.clients.push(client.clone());
        }
    }

    /// This line shows it, too.
    pub(super) fn shown_by(&mut self, line: u64) {
        if self.lines.len() >= MOST_LINES {
            self.lines.pop();
        }
        if let Err(place) = self.lines.binary_search(&line) {
            self.lines.insert(place, line);
        }
    }
}

#[test]
fn what_a_finding_led_to_is_no_surer_than_it_and_has_the_clients_of_both() {
    let verdict = |race: RaceId, at: i64, clients: [&str; 2], lines: &[u64], certainty| Verdict {
        race: Some(race),
        at: UnixTime::from_nanos(at),
        clients: clients.map(Arc::from).to_vec(),
        lines: lines.to_vec(),
        certainty,
        evidence: Evidence::NotDeleted { client: clients[1].into(), value: Vec::new() },
    };
    let moved = verdict(RaceId::LoserMovesLease, 1, ["winner", "loser"], &[3, 5], Certainty::Certain);
    let double = verdict(RaceId::StaleStampShortensLease, 2, ["winner", "newcomer"], &[3, 9], Certainty::Possible);
    for (mut cause, consequence) in [(moved.clone(), double.clone()), (double, moved)] {
        let Verdict { race, at, evidence, .. } = consequence.clone();
        cause.led_to(consequence);
        assert_eq!((cause.race, cause.at, &cause.evidence), (race, at, &evidence));
        assert_eq!(cause.certainty, Certainty::Possible);
        assert_eq!(cause.lines, [3, 5, 9]);
        cause.clients.sort();
        assert_eq!(cause.clients, ["loser", "newcomer", "winner"].map(Arc::from));
    }
}
