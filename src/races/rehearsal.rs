//! A protocol, run once on a server of its own: which commands it sends, and which scripts it expects the server to know.

use std::time::Duration;

use crate::lock::{Acquired, Locker, Owner, Token};
use crate::sim::{Flavour, Server, Session};
use crate::wire::{Command, MonoTime, Procedure, Reading, Transcript, Turn, UnixTime};

/// The commands of one try on an empty server at this moment, by somebody who is nobody else.
pub(crate) fn commands_of_a_try(locker: &dyn Locker, at: UnixTime) -> Vec<Command> {
    let mut stage = Stage::new(at);
    let _outcome = stage.run(|said| locker.acquire(&STRANGER, said));
    stage.sent
}

/// The texts of the scripts that it asks for by their names: the server of a fleet has known them for long.
pub(crate) fn scripts(locker: &dyn Locker) -> Vec<Vec<u8>> {
    let mut stage = Stage::new(UnixTime::from_nanos(0));
    if let Some(Acquired::Won(hold)) = stage.run(|said| locker.acquire(&STRANGER, said)) {
        let _extended = stage.run(|said| locker.extend(&hold, said));
        let _released = stage.run(|said| locker.release(&hold, said));
    }
    let _disclaimed = stage.run(|said| locker.disclaim(&STRANGER, said));
    let asked = |text: &&Command| {
        stage.sent.iter().any(|earlier| earlier.is("EVALSHA") && earlier.args()[1..] == text.args()[1..])
    };
    let texts = stage.sent.iter().filter(|command| command.is("EVAL")).filter(asked);
    texts.map(|command| command.args()[0].clone()).collect()
}

const STRANGER: Owner = Owner::new(Token::new([0xde; 16]), 4_099_998, 1);
const SESSION: Session = Session(0);

/// A server for one client, and what that client has sent.
struct Stage {
    server: Server,
    at: UnixTime,
    sent: Vec<Command>,
}

impl Stage {
    fn new(at: UnixTime) -> Self {
        Self { server: Server::new(Flavour::Redis70), at, sent: Vec::new() }
    }

    /// Runs an operation to its end; `None` where the server refused it.
    fn run<T>(&mut self, operation: impl Fn(&mut Transcript) -> Turn<T>) -> Option<T> {
        let now = Reading { wall: self.at, mono: MonoTime::since_origin(Duration::ZERO) };
        let answer = |command: &Command| {
            self.sent.push(command.clone());
            Some(self.server.call(SESSION, command, self.at))
        };
        operation.run_at(now, answer).ok()
    }
}
