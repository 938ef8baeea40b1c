//! The votes of several servers in a try that needs a majority of them.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// The vote of each of several servers in one try, in the order of the servers; empty where a lock is on one server.
///
/// ```
/// use lockshift_lock::{Vote, Votes};
///
/// let votes: Votes = [Vote::Granted, Vote::Held, Vote::TooSlow].into_iter().collect();
/// assert_eq!(votes.to_string(), "1 of 3 servers granted it, 2 needed (#1 granted, #2 held, #3 too slow)");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Votes(Vec<Vote>);

/// The vote of one of several servers in one try.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Vote {
    /// The lock was free there, and is ours.
    Granted,
    /// Another client holds it there.
    Held,
    /// The server refused; its own words.
    Refused(String),
    /// There is no connection to the server, or it broke.
    Unreachable,
    /// The server did not answer in time.
    TooSlow,
}

impl Votes {
    /// No server was asked for its vote.
    pub const NONE: Self = Self(Vec::new());

    /// The votes, in the order of the servers.
    pub fn iter(&self) -> core::slice::Iter<'_, Vote> {
        self.0.iter()
    }

    /// How many servers were asked.
    pub fn asked(&self) -> usize {
        self.0.len()
    }

    /// How many granted the lock.
    pub fn granted(&self) -> usize {
        self.iter().filter(|vote| matches!(vote, Vote::Granted)).count()
    }

    /// How many can be used: they granted it, or another client holds it there.
    pub fn usable(&self) -> usize {
        self.iter().filter(|vote| matches!(vote, Vote::Granted | Vote::Held)).count()
    }

    /// How many must grant it: more than half.
    pub fn needed(&self) -> usize {
        self.asked() / 2 + 1
    }
}

impl FromIterator<Vote> for Votes {
    fn from_iter<I: IntoIterator<Item = Vote>>(votes: I) -> Self {
        Self(votes.into_iter().collect())
    }
}

impl<'a> IntoIterator for &'a Votes {
    type Item = &'a Vote;
    type IntoIter = core::slice::Iter<'a, Vote>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Display for Votes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} servers granted it, {} needed (", self.granted(), self.asked(), self.needed())?;
        for (place, vote) in self.iter().enumerate() {
            let comma = if place > 0 { ", " } else { "" };
            write!(f, "{comma}#{} {vote}", place + 1)?;
        }
        f.write_str(")")
    }
}

impl fmt::Display for Vote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Granted => f.write_str("granted"),
            Self::Held => f.write_str("held"),
            Self::Refused(words) => write!(f, "refused: {words}"),
            Self::Unreachable => f.write_str("unreachable"),
            Self::TooSlow => f.write_str("too slow"),
        }
    }
}
