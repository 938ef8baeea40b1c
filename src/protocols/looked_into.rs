//! Which of the two keys of a migration a protocol's clients look into.

/// The key or keys that the clients of a protocol look into, where old clients lock one key and bridges hold another beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LookedInto {
    /// The key of old clients.
    Old,
    /// The key beside it.
    New,
    /// Both, as a bridge.
    Both,
    /// That which their caller names: a new lock can be on either.
    Named,
}
