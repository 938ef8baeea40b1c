//! A connection that counts what it sends.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use redis::{Cmd, ConnectionLike, RedisResult, Value};

/// A connection that counts the commands it sends.
pub(super) struct Counting<C> {
    connection: C,
    sent: Arc<AtomicU64>,
}

impl<C> Counting<C> {
    /// This connection, counting into `sent`.
    pub(super) fn new(connection: C, sent: Arc<AtomicU64>) -> Self {
        Self { connection, sent }
    }

    fn count(&self, commands: usize) {
        self.sent.fetch_add(commands as u64, Ordering::Relaxed);
    }
}

impl<C: ConnectionLike> ConnectionLike for Counting<C> {
    fn req_packed_command(&mut self, command: &[u8]) -> RedisResult<Value> {
        self.count(1);
        self.connection.req_packed_command(command)
    }

    fn req_packed_commands(&mut self, commands: &[u8], offset: usize, count: usize) -> RedisResult<Vec<Value>> {
        self.count(offset + count);
        self.connection.req_packed_commands(commands, offset, count)
    }

    fn req_command(&mut self, command: &Cmd) -> RedisResult<Value> {
        self.count(1);
        self.connection.req_command(command)
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
