//! A server on which several clients use one lock, with a client that receives every message.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use lockshift::driver::blocking::run;
use lockshift::lock::{Acquired, Hold, Locker, Owner, Released};
use lockshift::wire::{Command, Pending, Printable, Reply, Transcript, Turn};
use redis::{Connection, cmd};

use super::super::stage::{ALICE, BOB};
use super::super::timed_locker::{FakeClock, TimedLocker};
use super::CAROL;
use crate::server::Server;

/// What stands on a server: every key, and what is in it.
pub(super) type Keys = BTreeMap<String, String>;

/// A server, a connection to it, and a client that receives every message.
pub(super) struct ObservedServer {
    pub(super) connection: Connection,
    pub(super) messages: Connection,
    _server: Server,
}

/// A client that speaks one protocol, and what it has won.
pub(super) struct Client {
    pub(super) lock: TimedLocker,
    owner: Owner,
    pub(super) holds: Vec<Hold>,
}

impl Client {
    pub(super) fn of(lock: impl Locker + 'static, owner: Owner) -> Self {
        let lock = TimedLocker { lock: Arc::new(lock), owner, clock: FakeClock::new(), also_time: false };
        Self { lock, owner, holds: Vec::new() }
    }

    /// Its clock is ahead.
    pub(super) fn ahead(self, by: Duration) -> Self {
        self.lock.clock.set(by);
        self
    }
}

impl ObservedServer {
    pub(super) fn open() -> Self {
        let server = Server::start();
        let (connection, mut messages) = (server.connect(), server.connect());
        messages.send_packed_command(&cmd("PSUBSCRIBE").arg("*").get_packed_command()).expect("the server listens");
        messages.recv_response().expect("it confirms");
        Self { connection, messages, _server: server }
    }

    pub(super) fn ask<T>(&mut self, question: impl Fn(&mut Transcript) -> Turn<T>) -> T {
        run(&mut self.connection, &question).expect("the server answers")
    }

    /// Whether it has won.
    pub(super) fn enters(&mut self, client: &mut Client) -> bool {
        match self.ask(|redis| client.lock.acquire(&client.owner, redis)) {
            Acquired::Won(hold) => client.holds.push(hold),
            Acquired::Held(_) => return false,
        }
        true
    }

    /// For how long the lock is held, by the reply.
    pub(super) fn was_notified(&mut self, client: &Client) -> Option<Duration> {
        match self.ask(|redis| client.lock.acquire(&client.owner, redis)) {
            Acquired::Won(_) => panic!("the lock is held"),
            Acquired::Held(held) => held.retry_in,
        }
    }

    pub(super) fn leaves(&mut self, client: &mut Client) -> Released {
        let hold = client.holds.pop().expect("it has won");
        self.ask(|redis| client.lock.release(&hold, redis))
    }

    /// Sends what the release sends first, and never receives the reply.
    pub(super) fn loses_the_reply_of_leaving(&mut self, client: &Client) {
        let hold = client.holds.last().expect("it has won");
        let mut redis = Transcript::new();
        loop {
            match client.lock.release(hold, redis.rewind()) {
                Err(Pending::Send(command)) if command.is("DEL") => return,
                Err(Pending::Send(command)) => redis.record_reply(self.send(&command)),
                other => panic!("it sends a script: {other:?}"),
            }
        }
    }

    pub(super) fn send(&mut self, command: &Command) -> Reply {
        self.ask(|redis| redis.send(command.clone()))
    }

    /// What was announced since the last look: `channel message`.
    pub(super) fn received(&mut self) -> Vec<String> {
        cmd("PUBLISH").arg("fence").arg("").exec(&mut self.connection).expect("the server answers");
        let mut received = Vec::new();
        loop {
            let message: (String, String, String, String) =
                redis::from_redis_value(self.messages.recv_response().expect("a message")).expect("of a pattern");
            if message.2 == "fence" {
                return received;
            }
            received.push(shown(format!("{} {}", message.2, message.3)));
        }
    }

    /// Every key and what is in it; behind it, whether it lives for a time only.
    pub(super) fn keys(&mut self) -> Keys {
        let names: Vec<Vec<u8>> = cmd("KEYS").arg("*").query(&mut self.connection).expect("the server answers");
        let mut keys = BTreeMap::new();
        for name in names {
            let kind: String = cmd("TYPE").arg(&name).query(&mut self.connection).expect("the server answers");
            let read = match kind.as_str() {
                "hash" => cmd("HGETALL").arg(&name).take(),
                "list" => cmd("LRANGE").arg(&name).arg(0).arg(-1).take(),
                "zset" => cmd("ZRANGE").arg(&name).arg(0).arg(-1).arg("WITHSCORES").take(),
                _ => cmd("MGET").arg(&name).take(),
            };
            let words: Vec<String> = read.query(&mut self.connection).expect("the server answers");
            let ttl_ms: i64 = cmd("PTTL").arg(&name).query(&mut self.connection).expect("the server answers");
            let lives = if ttl_ms < 0 { "for ever" } else { "for a time" };
            keys.insert(shown(Printable(&name).to_string()), shown(format!("{kind} {} {lives}", words.join(" "))));
        }
        keys
    }
}

/// With the names of the threads and of their releases in words.
fn shown(text: String) -> String {
    [(ALICE, "alice"), (BOB, "bob"), (CAROL, "carol")].into_iter().fold(text, |text, (owner, name)| {
        text.replace(&owner.thread_name(), &format!("<{name}>")).replace(&owner.token.hex(), &format!("<{name}'s>"))
    })
}
