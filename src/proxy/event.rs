//! What a proxy sees happen to locks, as it happens.

use std::sync::Arc;

use crate::guard::Note;
use crate::wire::{Command, Key, Reply};

/// Something that happened to a lock. Events of one key arrive in the order in which the server ran the commands.
#[derive(Clone, Debug)]
pub struct ProxyEvent {
    /// The client's address; behind a Unix socket, the number of its connection.
    pub client: Arc<str>,
    /// The database that the client has selected.
    pub database: u32,
    /// What happened.
    pub what: Occurrence,
}

/// What happened to a lock.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Occurrence {
    /// The client sent this command and the server answered it so; `None`: with more than the proxy keeps.
    Exchange(Command, Option<Reply>),
    /// The guard has decided, or has seen the client do something.
    Note(Key, Note),
}

/// Receives every event. It is called on the connection's own task, so it must not block for long.
pub type EventSink = Arc<dyn Fn(ProxyEvent) + Send + Sync>;
