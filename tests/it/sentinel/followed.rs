//! A connection that asks the sentinel for the master before every command.

use std::sync::Mutex;

use redis::sentinel::{SentinelClient, SentinelServerType};
use redis::{Connection, ConnectionLike, RedisResult, Value};

/// The master that a sentinel names `mymaster`.
pub(super) struct Followed(Mutex<SentinelClient>);

impl Followed {
    /// With the sentinel at this address.
    pub(super) fn by(sentinel: &str) -> Self {
        let client = SentinelClient::build(vec![sentinel], "mymaster", None, SentinelServerType::Master);
        Self(Mutex::new(client.expect("the address is well formed")))
    }

    /// A connection that stays with the present master.
    pub(super) fn connection(&self) -> RedisResult<Connection> {
        self.0.lock().expect("no thread panics while it holds this").get_connection()
    }

    /// The same for tasks.
    #[cfg(feature = "tokio")]
    pub(super) async fn async_connection(self) -> RedisResult<redis::aio::MultiplexedConnection> {
        self.0.into_inner().expect("no thread panics while it holds this").get_async_connection().await
    }
}

impl ConnectionLike for Followed {
    fn req_packed_command(&mut self, command: &[u8]) -> RedisResult<Value> {
        self.connection()?.req_packed_command(command)
    }

    fn req_packed_commands(&mut self, commands: &[u8], offset: usize, count: usize) -> RedisResult<Vec<Value>> {
        self.connection()?.req_packed_commands(commands, offset, count)
    }

    fn get_db(&self) -> i64 {
        0
    }

    fn check_connection(&mut self) -> bool {
        self.connection().is_ok_and(|mut connection| connection.check_connection())
    }

    fn is_open(&self) -> bool {
        true
    }
}
