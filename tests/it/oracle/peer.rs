//! One connection to the real server: words out, replies back, byte for byte.

use lockshift::wire::{Command, Reply};
use redis::{Cmd, Connection, RedisResult, Value};

use crate::patience::PATIENCE;
use crate::server::Server;

/// One connection to the real server.
pub(super) struct Peer {
    connection: Connection,
}

impl Peer {
    pub(super) fn of(server: &Server) -> Self {
        let connection = server.connect();
        connection.set_read_timeout(Some(PATIENCE)).expect("a timeout above zero is accepted");
        Self { connection }
    }

    /// Sends a command and waits for its reply.
    pub(super) fn ask(&mut self, command: &Command) -> Reply {
        let mut cmd = Cmd::new();
        command.words().iter().for_each(|word| {
            cmd.arg(word.as_slice());
        });
        self.connection.send_packed_command(&cmd.get_packed_command()).expect("the server is up");
        self.next()
    }

    /// Waits for what comes next: a reply, or a message.
    pub(super) fn next(&mut self) -> Reply {
        reply(self.connection.recv_response())
    }
}

fn reply(result: RedisResult<Value>) -> Reply {
    match result {
        Ok(value) => from_value(value),
        Err(error) => match error.code() {
            Some(code) => Reply::Error(error.detail().map_or(code.to_owned(), |detail| format!("{code} {detail}"))),
            None => panic!("the server does not answer: {error}"),
        },
    }
}

fn from_value(value: Value) -> Reply {
    match value {
        Value::Nil => Reply::Nil,
        Value::Int(number) => Reply::Int(number),
        Value::Okay => Reply::ok(),
        Value::SimpleString(text) => Reply::Status(text),
        Value::BulkString(bytes) => Reply::Bulk(bytes),
        Value::Array(items) | Value::Push { data: items, .. } => {
            Reply::Array(items.into_iter().map(from_value).collect())
        }
        Value::ServerError(error) => {
            Reply::Error(error.details().map_or(error.code().to_owned(), |text| format!("{} {text}", error.code())))
        }
        other => panic!("RESP2 has no {other:?}"),
    }
}
