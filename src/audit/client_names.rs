//! The names of clients: each is made once, and shared by everything that is kept of its client.

use std::sync::Arc;

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::clients_by::ClientsBy;
use super::event::LockEvent;
use crate::wire::{Command, Printable, Reply, UnixTime};

/// The names that one thread uses.
#[derive(Clone, Debug, Default)]
pub(super) struct ClientNames {
    pub(super) clients_by: ClientsBy,
    /// By the address of a connection, or the part of it that tells the client.
    all: HashMap<Vec<u8>, Arc<str>, FxBuildHasher>,
}

impl ClientNames {
    /// A command of the client of this connection. Of its reply nothing more is known than this.
    pub(super) fn event(
        &mut self,
        number: u64,
        at: UnixTime,
        address: &[u8],
        command: Command,
        reply: Option<Reply>,
    ) -> LockEvent {
        let connection = self.name(address);
        let client = self.clients_by.client(address);
        let client = if client.len() == address.len() { connection.clone() } else { self.name(client) };
        let by_token = self.clients_by == ClientsBy::Token;
        let (command, known_reply) = without_get(command, reply);
        LockEvent { connection, by_token, known_reply, ..LockEvent::new(client, command, at, number) }
    }

    fn name(&mut self, bytes: &[u8]) -> Arc<str> {
        self.all.entry_ref(bytes).or_insert_with(|| Printable(bytes).to_string().into()).clone()
    }

    /// Whether something is kept of a client with this address.
    pub(super) fn has(&self, address: &[u8]) -> bool {
        self.all.contains_key(address)
    }

    /// Forgets the names of clients of which nothing is kept.
    pub(super) fn forget_unused(&mut self) {
        self.all.retain(|_, name| Arc::strong_count(name) > 1);
    }
}

/// `SET key value NX GET` as the same attempt without GET, which replies otherwise: nil is its success.
fn without_get(command: Command, reply: Option<Reply>) -> (Command, Option<Reply>) {
    let is = |word: &[u8], name: &[u8]| word.eq_ignore_ascii_case(name);
    let has = |name: &[u8]| command.args().iter().skip(2).any(|word| is(word, name));
    if !command.is("SET") || !has(b"NX") || !has(b"GET") {
        return (command, reply);
    }
    let reply = reply.map(|reply| match reply {
        Reply::Nil => Reply::ok(),
        Reply::Bulk(_) => Reply::Nil,
        other => other,
    });
    let (head, options) = command.words().split_at(3);
    let words = head.iter().chain(options.iter().filter(|word| !is(word, b"GET"))).cloned();
    (Command::from_words(words).expect("the command has a name"), reply)
}
