//! A scene in words: what was said on the wire, and how it ended.

use std::collections::BTreeMap;

use lockshift::lock::{Acquired, Extended, Released, Standing, Why};
use lockshift::wire::Command;

use super::stage::{ALICE, BOB};
use crate::monitor::{Line, Source};

/// The commands, as one would type them, with the owners' tokens and the scripts by name.
pub(super) fn wire(lines: &[Line]) -> String {
    let mut said: Vec<String> = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let refused = lines.get(index + 1).is_some_and(|next| is(line, "EVALSHA") && is(next, "EVAL"));
        match line.source {
            // NOSCRIPT: the same script follows with its text.
            Source::Client(_) if refused => {}
            Source::Client(_) => said.push(by_name(line).to_string()),
            Source::Script => said.push(format!("> {line}")),
        }
    }
    let mut text = said.join("; ");
    for (owner, name) in [(ALICE, "alice"), (BOB, "bob")] {
        text = text.replace(&owner.token.hex(), &format!("<{name}>"));
        text = text.replace(&owner.token.uuid(), &format!("<{name}-uuid>"));
    }
    text
}

/// How an operation ended, or the code of Redis' refusal.
pub(super) fn ending<T>(ended: Result<T, String>, tell: impl FnOnce(T) -> String) -> String {
    ended.map_or_else(|refusal| format!("error {refusal}"), tell)
}

pub(super) fn acquired(outcome: Acquired) -> String {
    match outcome {
        Acquired::Won(hold) => hold.fence.map_or("won".to_owned(), |fence| format!("won with fence {fence}")),
        Acquired::Held(held) => match held.why {
            Why::Live => "held",
            Why::LostTakeover => "lost the takeover",
            Why::Vanished => "vanished",
            Why::Unreadable => "unreadable",
        }
        .to_owned(),
    }
}

pub(super) fn released(outcome: Released) -> String {
    match outcome {
        Released::Freed => "freed",
        Released::Lost => "lost",
        Released::LeftAlone => "left alone",
    }
    .to_owned()
}

pub(super) fn extended(outcome: Extended) -> String {
    match outcome {
        Extended::Until(_) => "extended",
        Extended::Lost => "lost",
        Extended::NotSpoken => "not spoken",
    }
    .to_owned()
}

pub(super) fn standing(outcome: Standing) -> String {
    match outcome {
        Standing::Ours { left } => format!("ours{}", rough(left)),
        Standing::Theirs => "theirs".to_owned(),
        Standing::Free => "free".to_owned(),
        Standing::Indistinct { left } => format!("indistinct{}", rough(left)),
    }
}

/// What that did to the keys: nothing is said where something new stands in them.
pub(super) fn change(before: &BTreeMap<Vec<u8>, Vec<u8>>, after: &BTreeMap<Vec<u8>, Vec<u8>>) -> &'static str {
    if before == after {
        ", nothing changes"
    } else if after.is_empty() {
        ", nothing is left"
    } else {
        ""
    }
}

/// A TTL of the whole lease, whose very milliseconds depend on the machine.
fn rough(left: Option<std::time::Duration>) -> String {
    left.map_or(String::new(), |left| format!(" for {} s", left.as_millis().div_ceil(1_000)))
}

fn is(line: &Line, name: &str) -> bool {
    line.words[0] == name.as_bytes()
}

/// The command, with `script` for EVALSHA and its hash or EVAL and its text.
fn by_name(line: &Line) -> Command {
    let words = if is(line, "EVALSHA") || is(line, "EVAL") {
        [&[b"script".to_vec()], &line.words[2..]].concat()
    } else {
        line.words.clone()
    };
    Command::from_words(words).expect("a line has a command")
}
