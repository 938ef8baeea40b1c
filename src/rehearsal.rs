//! A protocol run alone, to its end, on simulated servers of its own: what it sends, what comes of it, what it leaves.
//!
//! Races, plans, the matrix, the explorer's questions about ownership and the bridge's trials of stamps are all asked this
//! way. No other client acts, and no time passes but what the caller says.

use std::time::Duration;

use crate::lock::{Acquired, Locker, Owner, Token};
use crate::sim::{Flavour, Server, Session};
use crate::wire::{Command, Key, MonoTime, Node, Procedure, Reading, Reply, Transcript, Turn, UnixTime};

/// Simulated servers at a moment, and what was sent to them.
#[derive(Clone, Debug)]
pub struct Rehearsal {
    servers: Vec<Server>,
    /// What each server's clock read at the beginning; the first stands for those without one.
    begin: Vec<UnixTime>,
    elapsed: Duration,
    sent: Vec<Command>,
}

/// Commands of one operation. More mean that it goes round in circles, as some do before a value that they cannot read.
const MAX_COMMANDS: usize = 64;

impl Rehearsal {
    /// An empty Redis 7.0 at this moment; further servers that an operation asks are empty too.
    pub fn at(begin: UnixTime) -> Self {
        Self::on(vec![Server::new(Flavour::Redis70)], begin)
    }

    /// These servers at this moment.
    pub fn on(servers: Vec<Server>, begin: UnixTime) -> Self {
        Self::across(servers, vec![begin])
    }

    /// These servers, each at a moment of its own, further ones at the first.
    pub(crate) fn across(servers: Vec<Server>, begin: Vec<UnixTime>) -> Self {
        Self { servers, begin, elapsed: Duration::ZERO, sent: Vec::new() }
    }

    /// The same so long after the beginning.
    #[must_use]
    pub fn after(&self, elapsed: Duration) -> Self {
        Self { elapsed, ..self.clone() }
    }

    /// The first server.
    pub fn server(&self) -> &Server {
        &self.servers[0]
    }

    /// Every command so far.
    pub fn sent(&self) -> &[Command] {
        &self.sent
    }

    /// What a key of the first server holds, as a person reads it; `None` if there is no such key.
    pub fn content(&self, key: &Key) -> Option<String> {
        self.server().peek(key, self.wall()).map(|stored| stored.value.to_string())
    }

    /// Runs an operation over this connection, its client's clocks being those of the server. `None`: it failed, or asked
    /// without end.
    pub fn run<T>(&mut self, session: Session, operation: impl Fn(&mut Transcript) -> Turn<T>) -> Option<T> {
        self.run_reading(self.reading(), session, operation)
    }

    /// The same by a client whose clocks read this.
    pub fn run_reading<T>(
        &mut self,
        clocks: Reading,
        session: Session,
        operation: impl Fn(&mut Transcript) -> Turn<T>,
    ) -> Option<T> {
        let mut commands = 0..MAX_COMMANDS;
        operation
            .run_at(clocks, |command| {
                commands.next()?;
                Some(self.call(session, command))
            })
            .ok()
    }

    /// Runs an operation until it changes what this key holds; its client then dies, and its connection ends. `None`: it
    /// died, failed, or asked without end.
    pub fn run_until_write<T>(
        &mut self,
        key: &Key,
        session: Session,
        operation: impl Fn(&mut Transcript) -> Turn<T>,
    ) -> Option<T> {
        let mut commands = 0..MAX_COMMANDS;
        let ended = operation.run_at(self.reading(), |command| {
            commands.next()?;
            let before = self.content(key);
            let reply = self.call(session, command);
            let wrote = !command.is("MULTI") && self.content(key) != before;
            (!wrote).then_some(reply)
        });
        if ended.is_err() {
            self.disconnect(session);
        }
        ended.ok()
    }

    /// Ends this connection.
    pub fn disconnect(&mut self, session: Session) {
        self.servers.iter_mut().for_each(|server| server.disconnect(session));
    }

    fn call(&mut self, session: Session, command: &Command) -> Reply {
        self.sent.push(command.clone());
        let Node(place) = command.node();
        let (place, now) = (usize::from(place), self.wall_of(place));
        if self.servers.len() <= place {
            self.servers.resize(place + 1, Server::new(Flavour::Redis70));
        }
        self.servers[place].call(session, command, now)
    }

    fn wall_of(&self, place: u8) -> UnixTime {
        let begin = self.begin.get(usize::from(place)).unwrap_or(&self.begin[0]);
        begin.saturating_add(self.elapsed)
    }

    fn wall(&self) -> UnixTime {
        self.wall_of(0)
    }

    fn reading(&self) -> Reading {
        Reading { wall: self.wall(), mono: MonoTime::since_origin(self.elapsed) }
    }
}

/// A client that no scene has.
const STRANGER: Owner = Owner::new(Token::new([0xde; 16]), 4_099_998, 1);
const SESSION: Session = Session(0);

/// The commands of one attempt on an empty server at this moment.
pub fn commands_of_an_attempt(locker: &dyn Locker, at: UnixTime) -> Vec<Command> {
    let mut rehearsal = Rehearsal::at(at);
    let _outcome = rehearsal.run(SESSION, |redis| locker.acquire(&STRANGER, redis));
    rehearsal.sent
}

/// The texts of the scripts that a protocol calls by their names: the server of a fleet has known them for long.
pub fn scripts(locker: &dyn Locker) -> Vec<Vec<u8>> {
    let mut rehearsal = Rehearsal::at(UnixTime::from_nanos(0));
    if let Some(Acquired::Won(hold)) = rehearsal.run(SESSION, |redis| locker.acquire(&STRANGER, redis)) {
        let _extended = rehearsal.run(SESSION, |redis| locker.extend(&hold, redis));
        let _released = rehearsal.run(SESSION, |redis| locker.release(&hold, redis));
    }
    let _disclaimed = rehearsal.run(SESSION, |redis| locker.disclaim(&STRANGER, redis));
    let by_name = |text: &&Command| {
        rehearsal.sent.iter().any(|earlier| earlier.is("EVALSHA") && earlier.args()[1..] == text.args()[1..])
    };
    let texts = rehearsal.sent.iter().filter(|command| command.is("EVAL")).filter(by_name);
    texts.map(|command| command.args()[0].to_vec()).collect()
}
