//! Predicts how a protocol judges a content at a moment, by running it on a simulated server that holds the same.

use std::time::Duration;

use lockshift::lock::{Acquired, Locker, Owner, Token};
use lockshift::matrix::LAPS;
use lockshift::sim::{Flavour, Server, Session};
use lockshift::wire::{Command, MonoTime, Procedure, Reading, Transcript, UnixTime};

use crate::clock::Between;
use crate::content::Contents;
use crate::wire::At;

/// The owner of attempts whose owner does not matter.
const STRANGER: Owner = Owner::new(Token::new([0xee; 16]), 2, 2);

/// More commands than any protocol sends in one attempt.
const MOST_QUESTIONS: usize = 64;

/// When an attempt first wins on this content, to the millisecond; `None` if not within the hour.
pub(crate) fn ends(locker: &dyn Locker, contents: &Contents, after: UnixTime) -> Option<UnixTime> {
    let wins = |millis: i64| {
        let now = UnixTime::from_millis(millis).expect("within the century");
        let mut at = At { server: Server::new(Flavour::Redis70), now };
        contents.put(&mut at);
        matches!(try_acquire(&mut at, locker, &STRANGER), Some(Acquired::Won(_)))
    };
    let (mut refused, mut won) = (after.as_millis(), after.as_millis() + 3_600_000);
    if !wins(won) {
        return None;
    }
    while won - refused > 1 {
        let middle = refused.midpoint(won);
        if wins(middle) { won = middle } else { refused = middle }
    }
    UnixTime::from_millis(won)
}

/// The outcome of a newcomer's attempts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Wins,
    /// It does not win, and the key holds something else now.
    Clobbers,
    IsRefused,
}

impl Outcome {
    pub(crate) fn of(wins: bool, changes: bool) -> Self {
        match (wins, changes) {
            (true, _) => Self::Wins,
            (false, true) => Self::Clobbers,
            (false, false) => Self::IsRefused,
        }
    }
}

/// The outcome when our protocol meets this content now.
pub(crate) fn comes(locker: &dyn Locker, contents: &Contents, now: UnixTime) -> Outcome {
    let mut at = At { server: Server::new(Flavour::Redis70), now };
    contents.put(&mut at);
    comes_to(at, locker)
}

/// The outcome when our protocol comes to this server.
pub(crate) fn comes_to(mut at: At, locker: &dyn Locker) -> Outcome {
    let key = String::from_utf8_lossy(locker.key().as_bytes()).into_owned();
    let before = Contents::of(&mut at, &key).in_key(&key);
    let wins = (0..LAPS).any(|_| matches!(try_acquire(&mut at, locker, &STRANGER), Some(Acquired::Won(_))));
    Outcome::of(wins, Contents::of(&mut at, &key).in_key(&key) != before)
}

/// Whether our protocol, winning at a moment between these, writes just this, to end when this ends.
pub(crate) fn writes(locker: &dyn Locker, contents: &Contents, key: &str, when: Between) -> bool {
    let owner = owner_in(contents);
    moments(locker, contents, when).any(|now| {
        let mut at = At { server: Server::new(Flavour::Redis70), now };
        try_acquire(&mut at, locker, &owner);
        let ours = Contents::of(&mut at, key);
        let ours_ends_later = |key: &Vec<u8>| match (contents.0[key].ends_ms, ours.0[key].ends_ms) {
            (None, None) => true,
            // A TTL that is set in whole seconds from when the server hears of it.
            (Some(theirs), Some(ours)) => {
                let heard = now.as_millis()..=when.to.as_millis();
                heard.contains(&(theirs - (ours - now.as_millis())))
            }
            (None, Some(_)) | (Some(_), None) => false,
        };
        ours.written() == contents.written() && ours.0.keys().all(ours_ends_later)
    })
}

/// One attempt on a simulated server.
fn try_acquire(at: &mut At, locker: &dyn Locker, owner: &Owner) -> Option<Acquired> {
    let clocks = Reading { wall: at.now, mono: MonoTime::since_origin(Duration::ZERO) };
    let mut questions = 0..MOST_QUESTIONS;
    let answer = |command: &Command| questions.next().map(|_| at.server.call(Session(owner.pid), command, at.now));
    (|redis: &mut Transcript| locker.acquire(owner, redis)).run_at(clocks, answer).ok()
}

/// The owner that wrote this value, if it names one: a token in hexadecimal or a UUID, followed by a thread number.
fn owner_in(contents: &Contents) -> Owner {
    let texts = contents.0.values().flat_map(|content| content.texts());
    texts.filter_map(owner_of).next().unwrap_or(STRANGER)
}

fn owner_of(text: &str) -> Option<Owner> {
    let token = text.split(['.', ':']).next()?.replace('-', "");
    if token.len() != 32 {
        return None;
    }
    let bytes = (0..32).step_by(2).map(|at| u8::from_str_radix(&token[at..at + 2], 16).ok());
    let bytes: Vec<u8> = bytes.collect::<Option<_>>()?;
    let thread = text.split(':').nth(1).and_then(|thread| thread.parse().ok()).unwrap_or(STRANGER.thread);
    Some(Owner::new(Token::new(bytes.try_into().ok()?), STRANGER.pid, thread))
}

/// The moments at which it may have been written: every millisecond, or those that a stamp of finer grain tells.
fn moments(locker: &dyn Locker, contents: &Contents, when: Between) -> Box<dyn Iterator<Item = UnixTime>> {
    let texts = contents.0.values().flat_map(|content| content.texts());
    let fraction = texts.filter(|text| text.contains('.')).find_map(|text| text.parse::<f64>().ok());
    if let Some(stamp) = fraction {
        let began = stamp - locker.lease().length().as_secs_f64();
        #[expect(clippy::cast_possible_truncation, reason = "nanoseconds of this century fit")]
        let nanos = (began * 1e9) as i64;
        return Box::new(
            (-2000..2000)
                .map(move |off| UnixTime::from_nanos(nanos + off))
                .filter(move |moment| (when.from.as_nanos()..=when.to.as_nanos()).contains(&moment.as_nanos())),
        );
    }
    let millis = when.from.as_millis()..=when.to.as_millis();
    Box::new(millis.filter_map(UnixTime::from_millis))
}
