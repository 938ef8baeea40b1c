//! The ledger of one run: how many commands its clients have sent, and about which keys. So it can be counted what a
//! protocol costs, and cleaned up after it, without knowing how it names its keys.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use redis::{Cmd, ConnectionLike, RedisResult, Value};

use crate::wire::Key;

/// What the clients of one run have sent.
pub(super) struct Ledger {
    /// What stands in the name of every key of the run, and in no value.
    mark: Vec<u8>,
    commands: AtomicU64,
    keys: Mutex<BTreeSet<Vec<u8>>>,
}

impl Ledger {
    /// Nothing sent yet by the run whose keys bear this mark.
    pub(super) fn new(mark: &Key) -> Self {
        Self { mark: mark.as_bytes().to_vec(), commands: AtomicU64::new(0), keys: Mutex::default() }
    }

    /// How many commands have been sent.
    pub(super) fn commands(&self) -> u64 {
        self.commands.load(Ordering::Relaxed)
    }

    /// The keys that were named.
    pub(super) fn keys(&self) -> Vec<Key> {
        self.names().iter().cloned().map(Key::new).collect()
    }

    /// Enters a command, as it goes over the wire: an array of strings.
    fn enter(&self, packed: &[u8]) {
        self.commands.fetch_add(1, Ordering::Relaxed);
        let Ok(Value::Array(words)) = redis::parse_redis_value(packed) else { return };
        for word in words {
            match word {
                Value::BulkString(word) if self.is_marked(&word) => drop(self.names().insert(word)),
                _ => {}
            }
        }
    }

    fn is_marked(&self, word: &[u8]) -> bool {
        word.windows(self.mark.len()).any(|part| part == self.mark)
    }

    fn names(&self) -> std::sync::MutexGuard<'_, BTreeSet<Vec<u8>>> {
        // A set is sound whoever panicked.
        self.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection whose commands are entered into a ledger.
pub(super) struct Entered<C> {
    connection: C,
    ledger: Arc<Ledger>,
}

impl<C> Entered<C> {
    /// This connection, with this ledger.
    pub(super) fn new(connection: C, ledger: Arc<Ledger>) -> Self {
        Self { connection, ledger }
    }
}

impl<C: ConnectionLike> ConnectionLike for Entered<C> {
    fn req_packed_command(&mut self, command: &[u8]) -> RedisResult<Value> {
        self.ledger.enter(command);
        self.connection.req_packed_command(command)
    }

    fn req_command(&mut self, command: &Cmd) -> RedisResult<Value> {
        self.ledger.enter(&command.get_packed_command());
        self.connection.req_command(command)
    }

    // Pipelines, which no blocking lock uses.
    fn req_packed_commands(&mut self, commands: &[u8], offset: usize, count: usize) -> RedisResult<Vec<Value>> {
        self.connection.req_packed_commands(commands, offset, count)
    }

    fn get_db(&self) -> i64 {
        self.connection.get_db()
    }

    fn supports_pipelining(&self) -> bool {
        self.connection.supports_pipelining()
    }

    fn check_connection(&mut self) -> bool {
        self.connection.check_connection()
    }

    fn is_open(&self) -> bool {
        self.connection.is_open()
    }
}
