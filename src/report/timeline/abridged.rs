//! A command and its reply, short enough for a lane.

use std::fmt;

use crate::explore::Exchange;
use crate::wire::{Key, Printable, Reply};

/// A command and its reply: the watched key left out where there is but one, long words cut in the middle.
pub(super) struct Abridged<'a> {
    pub(super) exchange: &'a Exchange,
    pub(super) keys: &'a [Key],
}

impl fmt::Display for Abridged<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let only_key = if let [key] = self.keys { Some(key.as_bytes()) } else { None };
        let words = self.exchange.command.words();
        for (index, bytes) in words.iter().enumerate() {
            if index > 0 && only_key == Some(bytes) {
                continue;
            }
            let gap = if index > 0 { " " } else { "" };
            write!(f, "{gap}{}", word(&Printable(bytes).to_string()))?;
        }
        match &self.exchange.reply {
            Reply::Bulk(bytes) => write!(f, " → {}", word(&Printable(bytes).to_string())),
            Reply::Nil => f.write_str(" → nil"),
            reply @ (Reply::Int(_) | Reply::Status(_) | Reply::Array(_) | Reply::Error(_)) => {
                write!(f, " → {}", reply.to_string().trim_start_matches("(error) "))
            }
        }
    }
}

/// The longest word that is shown whole: a stamp in nanoseconds.
const LONGEST: usize = 19;

/// A word, its middle left out if it is longer than a lane can bear.
pub(super) fn word(whole: &str) -> String {
    let length = whole.chars().count();
    if length <= LONGEST {
        return if whole.is_empty() { "\"\"".to_owned() } else { whole.to_owned() };
    }
    let head: String = whole.chars().take(6).collect();
    let tail: String = whole.chars().skip(length - 4).collect();
    format!("{head}…{tail}")
}

#[test]
fn long_words_keep_both_ends() {
    assert_eq!(word("1700000010"), "1700000010");
    assert_eq!(word("c11e47ed000000000000000000000100"), "c11e47…0100");
    assert_eq!(word(""), "\"\"");
}
