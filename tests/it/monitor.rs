//! What crossed the wire, as the server saw it: MONITOR on a connection of its own.
//!
//! A line is listed when its command is executed, and the replies are not listed. Commands that fail while they run
//! are there, those of wrong arity or unknown name are not; a script's own calls follow it with `lua` for a client.

mod line;
mod parsed;

use std::net::SocketAddr;

use redis::{Connection, Value};

pub(crate) use line::{Line, Source};

use crate::server::Server;

/// A recording of every command that a server executes, from the moment it is made.
pub(crate) struct Monitor {
    lines: Connection,
    fence: Connection,
    fences: u32,
}

impl Monitor {
    /// Starts to record what `server` executes.
    pub(crate) fn on(server: &Server) -> Self {
        let mut lines = server.connect();
        let fence = server.connect();
        redis::cmd("MONITOR").exec(&mut lines).expect("the server lets us watch");
        Self { lines, fence, fences: 0 }
    }

    /// Everything that was answered before this call and not taken yet, in the order of execution.
    ///
    /// A command no other client sends is sent last, and the lines are read up to it: no line is still under way.
    pub(crate) fn take(&mut self) -> Vec<Line> {
        self.fences += 1;
        let fence = format!("fence {}", self.fences);
        redis::cmd("ECHO").arg(&fence).exec(&mut self.fence).expect("the server answers");
        let mut taken = Vec::new();
        loop {
            let line = self.next_line();
            if line.words == [b"ECHO", fence.as_bytes()] {
                return taken;
            }
            taken.push(line);
        }
    }

    /// Forgets everything that was answered before this call.
    pub(crate) fn skip(&mut self) {
        drop(self.take());
    }

    fn next_line(&mut self) -> Line {
        match self.lines.recv_response().expect("the server lists commands until the fence") {
            Value::SimpleString(text) => text.parse().unwrap_or_else(|error| panic!("{error}: {text}")),
            other => panic!("no line of MONITOR: {other:?}"),
        }
    }
}

/// The lines of one client among `lines`, as one would type them, and those of the scripts that it ran.
pub(crate) fn commands_of(client: SocketAddr, lines: &[Line]) -> Vec<String> {
    let mut ours = false;
    let mut sent = Vec::new();
    for line in lines {
        match line.source {
            Source::Client(address) => ours = address == client,
            Source::Script => {}
        }
        if ours {
            sent.push(line.to_string());
        }
    }
    sent
}

/// Under which address the server knows this connection.
pub(crate) fn address_of(connection: &mut Connection) -> SocketAddr {
    let info: String = redis::cmd("CLIENT").arg("INFO").query(connection).expect("Redis 6.2 or later");
    let address = info.split(' ').find_map(|field| field.strip_prefix("addr=")).expect("a client has an address");
    address.parse().expect("a loopback connection has an IP address and a port")
}

#[test]
fn a_recording_lists_bytes_scripts_and_databases_up_to_the_fence() {
    let server = Server::start();
    let mut client = server.connect();
    let mut monitor = Monitor::on(&server);

    redis::cmd("SET").arg("k").arg(b"\x00\xff \"quoted\"\\\r\n").exec(&mut client).unwrap();
    redis::cmd("SELECT").arg(3).exec(&mut client).unwrap();
    redis::cmd("EVAL").arg("return redis.call('get', KEYS[1])").arg(1).arg("k").exec(&mut client).unwrap();
    let lines = monitor.take();

    assert_eq!(lines[0].words, [b"SET".to_vec(), b"k".to_vec(), b"\x00\xff \"quoted\"\\\r\n".to_vec()]);
    let typed: Vec<_> = lines.iter().map(ToString::to_string).collect();
    assert_eq!(
        typed,
        [
            r#"SET k "\x00\xff \"quoted\"\\\r\n""#,
            "SELECT 3",
            r#"EVAL "return redis.call('get', KEYS[1])" 1 k"#,
            "get k"
        ]
    );
    assert_eq!(lines.iter().map(|line| line.database).collect::<Vec<_>>(), [0, 3, 3, 3]);
    assert_eq!(lines[3].source, Source::Script);
    assert_eq!(monitor.take(), []);
}

#[test]
fn clients_are_distinguished() {
    let server = Server::start();
    let (mut alice, mut bob) = (server.connect(), server.connect());
    let (alice_at, bob_at) = (address_of(&mut alice), address_of(&mut bob));
    let mut monitor = Monitor::on(&server);

    redis::cmd("EVAL").arg("return redis.call('INCR', 'a')").arg(0).exec(&mut alice).unwrap();
    redis::cmd("INCR").arg("b").exec(&mut bob).unwrap();
    let lines = monitor.take();

    assert_eq!(commands_of(alice_at, &lines), [r#"EVAL "return redis.call('INCR', 'a')" 0"#, "INCR a"]);
    assert_eq!(commands_of(bob_at, &lines), ["INCR b"]);
}
