//! A deed: a step as far as it tells one way to break a rule from another.

use std::fmt;

/// A step, as far as it tells one way to break a rule from another: which protocol took it, what the server ran, what
/// came of it. Not when, nor with which arguments.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Deed {
    /// The protocol of the client that took it; `None`: clock or server.
    pub by: Option<String>,
    /// What it did.
    pub what: What,
}

/// What was done.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum What {
    /// The server ran a command of this name, in an operation that came to this: `GETSET`, `loses the takeover`.
    Command(String, &'static str),
    /// Nothing that the server has seen: it read its clock, received a reply or concluded.
    Nothing,
    /// It died.
    Death,
    /// Its own lock was over on the server while its lease ran, and nobody else had changed it.
    Lapse,
    /// Its lease was over, and it went on.
    Overrun,
    /// Time passed.
    Time,
    /// A replica took over.
    Failover,
}

/// The number that a search gives to a deed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct DeedId(pub(super) u32);

impl fmt::Display for Deed {
    /// `php-getset, which after GETSET loses the takeover`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(by) = &self.by {
            write!(f, "{by}, which ")?;
        }
        match &self.what {
            What::Command(name, outcome) => write!(f, "after {name} {outcome}"),
            What::Nothing => f.write_str("goes on"),
            What::Death => f.write_str("dies"),
            What::Lapse => f.write_str("keeps nobody out any more"),
            What::Overrun => f.write_str("overruns its lease"),
            What::Time => f.write_str("time"),
            What::Failover => f.write_str("a replica"),
        }
    }
}
