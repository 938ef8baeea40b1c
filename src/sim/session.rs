//! One connection as the server sees it.

use std::collections::BTreeSet;

use crate::wire::Key;

/// One connection to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Session(pub u32);

/// A published message, as a subscriber receives it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Message {
    /// By which subscription it came.
    pub via: Via,
    /// Where it was published.
    pub channel: Vec<u8>,
    /// What was said.
    pub payload: Vec<u8>,
}

/// By which kind of subscription a message came.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Via {
    /// SUBSCRIBE: a `message`.
    Channel,
    /// PSUBSCRIBE with this pattern: a `pmessage`.
    Pattern(Vec<u8>),
    /// SSUBSCRIBE: an `smessage`.
    Shard,
}

/// What the server remembers of one connection.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Connection {
    /// The selected database.
    pub(super) db: usize,
    /// WATCHed keys, each with its database.
    pub(super) watched: BTreeSet<(usize, Key)>,
    /// Whether a watched key was touched since.
    pub(super) touched: bool,
    /// Messages published and not yet taken.
    pub(super) inbox: Vec<Message>,
}
