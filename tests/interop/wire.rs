//! Any command, on a real server or on a simulated one.

use lockshift::driver::blocking::run;
use lockshift::sim::{Server, Session};
use lockshift::wire::{Command, Reply, Transcript, UnixTime};
use redis::Connection;

/// A server that answers commands.
pub(crate) trait Redis {
    fn call(&mut self, command: &Command) -> Reply;
}

impl Redis for Connection {
    fn call(&mut self, command: &Command) -> Reply {
        run(self, &|redis: &mut Transcript| redis.send(command.clone())).unwrap_or_else(|error| panic!("{error:?}"))
    }
}

/// A simulated server at a moment.
pub(crate) struct At {
    pub(crate) server: Server,
    pub(crate) now: UnixTime,
}

impl Redis for At {
    fn call(&mut self, command: &Command) -> Reply {
        self.server.call(Session(0), command, self.now)
    }
}
