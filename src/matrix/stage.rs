//! A simulated server at a time that is told, and protocols run on it to their end or to their death.

use std::time::Duration;

use crate::lock::{Acquired, Locker, Owner};
use crate::sim::{Flavour, Server, Session};
use crate::wire::{Command, Key, MonoTime, Procedure, Reading, Transcript, UnixTime};

/// A server at a moment.
#[derive(Clone)]
pub(super) struct Stage {
    server: Server,
    begin: UnixTime,
    elapsed: Duration,
}

/// How far a protocol runs before its client dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Until {
    /// To its end.
    End,
    /// Until its first command that wrote something.
    FirstWrite,
}

/// A client that asks more in one try is going round in circles, as some do before a value that they cannot read.
const MOST_QUESTIONS: usize = 64;

impl Stage {
    /// An empty server.
    pub(super) fn new(begin: UnixTime) -> Self {
        Self { server: Server::new(Flavour::Redis70), begin, elapsed: Duration::ZERO }
    }

    /// The same server, so long after the beginning.
    #[must_use]
    pub(super) fn at(&self, elapsed: Duration) -> Self {
        Self { elapsed, ..self.clone() }
    }

    /// The server.
    pub(super) fn server(&self) -> &Server {
        &self.server
    }

    /// What the key holds, in words; `None` without a key.
    pub(super) fn content(&self, key: &Key) -> Option<String> {
        self.server.peek(key, self.wall()).map(|stored| stored.value.to_string())
    }

    /// One try of a client on a connection of its own. `None`: it died, or its protocol failed.
    pub(super) fn try_acquire(&mut self, locker: &dyn Locker, owner: &Owner, until: Until) -> Option<Acquired> {
        let session = Session(owner.pid);
        let (now, reading) = (self.wall(), self.reading());
        let mut questions = 0..MOST_QUESTIONS;
        let answer = |command: &Command| {
            questions.next()?;
            let before = self.server.clone();
            let reply = self.server.call(session, command, now);
            let dies = until == Until::FirstWrite && wrote(&before, &self.server, command, locker.key(), now);
            (!dies).then_some(reply)
        };
        let acquire = |redis: &mut Transcript| locker.acquire(owner, redis);
        let acquired = acquire.run_at(reading, answer).ok();
        if acquired.is_none() {
            self.server.disconnect(session);
        }
        acquired
    }

    fn wall(&self) -> UnixTime {
        self.begin.saturating_add(self.elapsed)
    }

    fn reading(&self) -> Reading {
        Reading { wall: self.wall(), mono: MonoTime::since_origin(self.elapsed) }
    }
}

fn wrote(before: &Server, after: &Server, command: &Command, key: &Key, now: UnixTime) -> bool {
    let value = |server: &Server| server.peek(key, now).map(|stored| stored.value.to_string());
    !command.is("MULTI") && value(before) != value(after)
}
