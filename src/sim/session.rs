//! One connection as the server sees it.

use std::collections::BTreeSet;

use crate::wire::{CommandWord, Key};

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
    /// The replies and messages so far.
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
    /// The name that CLIENT SETNAME gave.
    pub(super) name: Vec<u8>,
    /// Commands between MULTI and EXEC.
    pub(super) transaction: Option<Transaction>,
    /// WATCHed keys, each with its database.
    pub(super) watched: BTreeSet<(usize, Key)>,
    /// Whether a watched key was touched since.
    pub(super) touched: bool,
    /// What it listens to.
    pub(super) subscriptions: Subscriptions,
    /// Messages published and not yet taken.
    pub(super) inbox: Vec<Message>,
}

/// Commands between MULTI and EXEC.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Transaction {
    pub(super) queue: Vec<Vec<CommandWord>>,
    /// Whether a command was not accepted, so that EXEC will refuse them all.
    pub(super) spoilt: bool,
}

/// What a connection listens to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Subscriptions {
    pub(super) channels: BTreeSet<Vec<u8>>,
    pub(super) patterns: BTreeSet<Vec<u8>>,
    pub(super) shards: BTreeSet<Vec<u8>>,
}

impl Subscriptions {
    pub(super) fn is_empty(&self) -> bool {
        self.channels.is_empty() && self.patterns.is_empty() && self.shards.is_empty()
    }
}

impl Connection {
    /// Leaves the transaction, if there is one, and forgets what was watched.
    pub(super) fn end_transaction(&mut self) -> Option<Transaction> {
        self.watched.clear();
        self.touched = false;
        self.transaction.take()
    }
}
