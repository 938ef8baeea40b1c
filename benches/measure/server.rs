//! A Redis of one's own to measure on.

use std::time::Duration;

use lockshift::driver::host;
use redis::{Client, Connection};
use redis_test::server::RedisServer;

/// A server that has just been started, and a client for it.
pub(crate) fn started() -> (RedisServer, Client) {
    let server = RedisServer::new();
    let client = Client::open(server.connection_info()).expect("the address is well formed");
    (server, client)
}

/// A connection, as soon as the server accepts one.
pub(crate) fn connected(client: &Client) -> Connection {
    loop {
        match client.get_connection() {
            Ok(connection) => return connection,
            Err(_) => host::sleep(Duration::from_millis(5)),
        }
    }
}
