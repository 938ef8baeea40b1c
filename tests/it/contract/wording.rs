//! A scene as text: what was sent, and how it ended.

use std::time::Duration;

use lockshift::driver::{Answer, Attempt, Error};
use lockshift::lock::{Extended, Ownership, Refusal, Released};
use lockshift::wire::Command;

use super::stage::{ALICE, BOB};
use crate::monitor::{Line, Source};
use crate::server::Contents;

/// The commands, as one would type them, with the owners' tokens and the scripts by name.
pub(super) fn wire(lines: &[Line]) -> String {
    let mut sent: Vec<String> = Vec::new();
    let mut refused = false;
    for (index, line) in lines.iter().enumerate() {
        let repeated = lines.get(index + 1).is_some_and(|next| is(line, "EVALSHA") && is(next, "EVAL"));
        match line.source {
            // NOSCRIPT: the same script follows with its text.
            Source::Client(_) if repeated => {}
            Source::Client(_) if is(line, "EVALSHA") || refused => sent.push(by_name(line, "script")),
            Source::Client(_) if is(line, "EVAL") => sent.push(by_name(line, "eval")),
            Source::Client(_) => sent.push(line.to_string()),
            Source::Script => sent.push(format!("> {}", by_its_own_clock(line))),
        }
        refused = repeated;
    }
    let mut text = sent.join("; ");
    for (owner, name) in [(ALICE, "alice"), (BOB, "bob")] {
        text = text.replace(&owner.token.hex(), &format!("<{name}>"));
        text = text.replace(&owner.token.uuid(), &format!("<{name}-uuid>"));
    }
    text
}

/// A script's own call. Scripts ask the server for the time, which is not ours to set: `<now+10s>` is ten seconds from
/// now, and of a number of milliseconds some may have passed: it is rounded up to whole seconds. So is a score that was
/// reckoned from a TTL and a clock of ours. A fence is the server's clock in microseconds.
fn by_its_own_clock(line: &Line) -> Command {
    let word = |word: &Vec<u8>| {
        let Some(number) = str::from_utf8(word).ok().and_then(|text| text.parse::<i64>().ok()) else {
            return word.clone();
        };
        let ahead_ms = number - line.at.as_millis();
        let ahead_us = number - line.at.as_nanos() / 1_000;
        if ahead_us.abs() < 3_600_000_000 {
            b"<now-us>".to_vec()
        } else if is(line, "zadd") && number > 3_900_000_000_000 {
            ((number + 999) / 1_000 * 1_000).to_string().into_bytes()
        } else if ahead_ms.abs() < 3_600_000 {
            format!("<now{:+}s>", (ahead_ms + 500).div_euclid(1_000)).into_bytes()
        } else if (1_000..3_600_000).contains(&number) {
            ((number + 999) / 1_000 * 1_000).to_string().into_bytes()
        } else {
            word.clone()
        }
    };
    Command::from_words(line.words.iter().map(word)).expect("a line has a command")
}

/// How an attempt ended; what it won goes to `won`.
pub(super) fn attempt<G>(ended: Result<Attempt<G>, Error>, won: &mut Option<G>) -> String {
    match ended {
        Ok(Attempt::Won(guard)) => {
            *won = Some(guard);
            "won".to_owned()
        }
        Ok(Attempt::Held(held)) => match held.reason {
            Refusal::Live => "held",
            Refusal::LostTakeover => "lost the takeover",
            Refusal::Vanished => "vanished",
            Refusal::Unreadable => "unreadable",
            Refusal::NoMajority => "no majority",
        }
        .to_owned(),
        Ok(Attempt::TooLate) => "too late".to_owned(),
        Ok(Attempt::Unknown(unknown)) => unknown.to_string(),
        Err(error) => error.to_string(),
    }
}

pub(super) fn released(ended: Result<Answer<Released>, Error>) -> String {
    answer(ended, |released| match released {
        Released::Freed => "freed",
        Released::Lost => "lost",
        Released::LeftAlone => "left alone",
        Released::StillHeld => "still held",
        Released::Intruded => "freed, intruded",
    })
}

pub(super) fn extended(ended: Result<Answer<Extended>, Error>) -> String {
    answer(ended, |extended| match extended {
        Extended::Until(_) => "extended",
        Extended::Intruded(_) => "extended, intruded",
        Extended::Lost => "lost",
        Extended::Unsupported => "unsupported",
    })
}

pub(super) fn ownership(ended: Result<Ownership, Error>) -> String {
    match ended {
        Ok(Ownership::Ours { left }) => format!("ours{}", for_seconds(left)),
        Ok(Ownership::Intruded { left }) => format!("intruded{}", for_seconds(left)),
        Ok(Ownership::Theirs) => "theirs".to_owned(),
        Ok(Ownership::Free) => "free".to_owned(),
        Ok(Ownership::Indistinct { left }) => format!("indistinct{}", for_seconds(left)),
        Err(error) => error.to_string(),
    }
}

fn answer<T>(ended: Result<Answer<T>, Error>, tell: impl FnOnce(T) -> &'static str) -> String {
    match ended {
        Ok(Answer::Known(outcome)) => tell(outcome).to_owned(),
        Ok(Answer::Unknown(unknown)) => unknown.to_string(),
        Err(error) => error.to_string(),
    }
}

/// A TTL that has just been set, whose very milliseconds depend on the machine, or one that was given as a moment.
fn for_seconds(left: Option<Duration>) -> String {
    match left {
        None => String::new(),
        Some(left) if left > Duration::from_secs(86_400) => " for years".to_owned(),
        Some(left) => format!(" for {} s", left.as_millis().div_ceil(1_000)),
    }
}

/// What that did to the keys; empty if they hold something new.
pub(super) fn change(before: &Contents, after: &Contents) -> &'static str {
    if before == after {
        ", nothing changes"
    } else if after.is_empty() {
        ", nothing is left"
    } else {
        ""
    }
}

fn is(line: &Line, name: &str) -> bool {
    line.words[0] == name.as_bytes()
}

/// The command with this name in place of EVALSHA and its hash, or EVAL and its text.
fn by_name(line: &Line, name: &str) -> String {
    let words = [&[name.as_bytes().to_vec()], &line.words[2..]].concat();
    Command::from_words(words).expect("a name is a word").to_string()
}
