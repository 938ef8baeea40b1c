//! Commands, replies and values, short enough for a lane.

use std::fmt;

use crate::wire::{Command, Key, Printable, Reply};

/// A command: the watched key left out where there is but one, long words cut in the middle.
pub(super) struct Abridged<'a> {
    pub(super) command: &'a Command,
    pub(super) keys: &'a [Key],
}

impl fmt::Display for Abridged<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let only_key = if let [key] = self.keys { Some(key.as_bytes()) } else { None };
        for (index, bytes) in self.command.words().iter().enumerate() {
            if index > 0 && only_key == Some(bytes) {
                continue;
            }
            let gap = if index > 0 { " " } else { "" };
            write!(f, "{gap}{}", word(&Printable(bytes).to_string()))?;
        }
        Ok(())
    }
}

/// A reply.
pub(super) fn reply(reply: &Reply) -> String {
    match reply {
        Reply::Bulk(bytes) => word(&Printable(bytes).to_string()),
        Reply::Nil => "nil".to_owned(),
        Reply::Error(text) => text.split(' ').map(word).collect::<Vec<_>>().join(" "),
        Reply::Int(_) | Reply::Status(_) | Reply::Array(_) => reply.to_string(),
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
