//! The two servers side by side, and what the simulated one may have become.

use std::ops::RangeInclusive;
use std::time::Duration;

use lockshift::sim::{Message, Server, Session, Via};
use lockshift::wire::{Command, Reply, UnixTime};

use super::peer::Peer;
use super::steps::Step;
use super::terms::Terms;
use crate::patience::pause;

/// Number of connections that the steps use; the last of them listens.
pub(super) const SESSIONS: usize = 3;

/// Number of databases of a server.
const DATABASES: usize = 16;

/// How far two readings of the clock may contradict their order.
const MARGIN_MICROS: i64 = 50;

/// Both servers.
pub(super) struct Duel {
    terms: Terms,
    clock: Peer,
    peers: Vec<Peer>,
    /// What each connection has queued since MULTI.
    queued: Vec<Vec<Command>>,
    /// Every state that explains all replies so far.
    possible: Vec<Server>,
    /// What happened, for the report.
    log: Vec<String>,
    /// Whether a script has written the real server's clock to the microsecond. The simulated one has it to the millisecond.
    micros_written: bool,
    /// Whether too much was left open to go on.
    over: bool,
}

/// The servers disagree.
pub(super) struct Disagreement {
    log: Vec<String>,
}

impl Disagreement {
    /// The whole story.
    pub(super) fn shown(&self) -> String {
        self.log.join("\n")
    }
}

impl Duel {
    /// Both servers, empty.
    pub(super) fn begin(server: &crate::server::Server, terms: Terms) -> Self {
        let mut clock = Peer::of(server);
        // The server may not have noticed yet that the subscribers of the sequence before are gone.
        let subscribers = Command::new("CLIENT").arg("LIST").arg("TYPE").arg("pubsub");
        while matches!(clock.ask(&subscribers), Reply::Bulk(list) if !list.is_empty()) {
            pause(Duration::from_millis(1));
        }
        for forget in ["FLUSHALL", "SCRIPT FLUSH"] {
            clock.ask(&Command::from_words(forget.split(' ')).expect("there are words"));
        }
        Self {
            terms,
            clock,
            peers: (0..SESSIONS).map(|_| Peer::of(server)).collect(),
            queued: vec![Vec::new(); SESSIONS],
            possible: vec![Server::new(terms.flavour)],
            log: Vec::new(),
            micros_written: false,
            over: false,
        }
    }

    /// Does one thing on both.
    pub(super) fn step(&mut self, step: &Step) -> Result<(), Disagreement> {
        match step {
            _ if self.over => Ok(()),
            Step::Wait(length) => {
                pause(*length);
                Ok(())
            }
            Step::Send(session, phrase) => {
                let command = phrase.command(self.millis());
                self.send(*session, &command)
            }
        }
    }

    fn send(&mut self, session: usize, command: &Command) -> Result<(), Disagreement> {
        // A fence that is changed is no longer recognised as one, and is compared to the microsecond.
        self.over = self.micros_written && ["INCRBY", "DECRBY", "APPEND"].iter().any(|name| command.is(name));
        if self.over {
            return Ok(());
        }
        let is_compound = ["EXEC", "EVAL", "EVALSHA"].iter().any(|name| command.is(name));
        self.micros_written |= is_compound && command.to_string().contains("time[1] * 1000000 + time[2]");
        if is_compound {
            self.await_new_millisecond();
        }
        // The clocks of two processors of a virtual machine may differ by some microseconds.
        let margin = if is_compound { 0 } else { MARGIN_MICROS };
        let before = (self.micros() - margin) / 1_000;
        let real = self.peers[session].ask(command);
        let span = before..=(self.micros() + margin) / 1_000;
        // A command that runs others reads the clock for each of them.
        self.over = is_compound && span.start() != span.end();
        if self.over {
            return Ok(());
        }
        self.log.push(format!("{session} at {before}: {command} -> {real}"));
        self.explain(session, command, &real, span)?;
        self.keep_queue(session, command, &real);
        self.deliver()
    }

    /// Keeps the states that give this reply.
    fn explain(
        &mut self,
        session: usize,
        command: &Command,
        real: &Reply,
        span: RangeInclusive<i64>,
    ) -> Result<(), Disagreement> {
        let terms = self.terms;
        let essence = |reply: &Reply| terms.essence(command, &self.queued[session], reply.clone());
        let mut next = Vec::new();
        let mut others = Vec::new();
        for state in &self.possible {
            let at = |millis| {
                let now = UnixTime::from_millis(millis).expect("it is not yet 2262");
                self.states_at(now, state).into_iter().map(move |state| (now, state))
            };
            for (now, mut after) in span.clone().flat_map(at) {
                let reply = after.call(id(session), command, now);
                if essence(&reply) != essence(real) {
                    others.push(reply);
                } else if !next.contains(&after) {
                    next.push(after);
                }
            }
        }
        if next.is_empty() {
            others.dedup();
            let others = others.iter().map(Reply::to_string).collect::<Vec<_>>().join(" or ");
            self.log.push(format!("simulated: {others}"));
            return Err(Disagreement { log: std::mem::take(&mut self.log) });
        }
        self.possible = next;
        Ok(())
    }

    /// What this state may have become by itself at this moment: each of the keys of which it is the last millisecond may have
    /// been removed in the background.
    fn states_at(&self, now: UnixTime, state: &Server) -> Vec<Server> {
        let mut states = vec![state.clone()];
        if self.terms.removes_early {
            for database in 0..DATABASES {
                for key in due(state, database, now) {
                    let mut without = states.clone();
                    for state in &mut without {
                        aside(state, database, &Command::new("DEL").arg(&key), now);
                    }
                    states.extend(without);
                }
            }
        }
        states
    }

    fn keep_queue(&mut self, session: usize, command: &Command, real: &Reply) {
        if matches!(real, Reply::Status(text) if text == "QUEUED") {
            self.queued[session].push(command.clone());
        } else if ["EXEC", "DISCARD", "RESET"].iter().any(|name| command.is(name)) {
            self.queued[session].clear();
        }
    }

    /// Compares the messages that the subscribers got.
    fn deliver(&mut self) -> Result<(), Disagreement> {
        for session in 0..SESSIONS {
            let messages = self.possible.iter_mut().map(|state| state.take_messages(id(session))).next_back();
            let mut simulated: Vec<_> = messages.unwrap_or_default().into_iter().map(frame).collect();
            let mut real: Vec<_> = simulated.iter().map(|_| self.peers[session].next()).collect();
            // A message that matches several patterns comes once for each, in no order.
            simulated.sort_by_key(Reply::to_string);
            real.sort_by_key(Reply::to_string);
            if real != simulated {
                self.log.push(format!("{session} received {real:?}\nsimulated: {simulated:?}"));
                return Err(Disagreement { log: std::mem::take(&mut self.log) });
            }
        }
        Ok(())
    }

    /// The real server's clock, in milliseconds.
    fn millis(&mut self) -> i64 {
        self.micros() / 1_000
    }

    fn micros(&mut self) -> i64 {
        let Reply::Array(parts) = self.clock.ask(&Command::new("TIME")) else { panic!("TIME answers an array") };
        let numbers = parts.iter().map(|part| match part {
            Reply::Bulk(digits) => String::from_utf8_lossy(digits).parse::<i64>().expect("TIME answers digits"),
            other => panic!("TIME answers strings, not {other}"),
        });
        numbers.reduce(|secs, micros| secs * 1_000_000 + micros).expect("TIME answers two numbers")
    }

    /// So that what follows begins and ends in one millisecond, if it can.
    fn await_new_millisecond(&mut self) {
        while self.micros() % 1_000 > 400 {}
    }
}

/// The keys of which this is the last millisecond.
fn due(state: &Server, database: usize, now: UnixTime) -> Vec<Vec<u8>> {
    let mut state = state.clone();
    let Reply::Array(keys) = aside(&mut state, database, &Command::new("KEYS").arg("*"), now) else {
        panic!("KEYS answers an array")
    };
    let mut is_due = |key: &Vec<u8>| {
        aside(&mut state, database, &Command::new("PEXPIRETIME").arg(key), now) == Reply::Int(now.as_millis())
    };
    let keys = keys.into_iter().filter_map(|key| if let Reply::Bulk(key) = key { Some(key) } else { None });
    keys.filter(|key| is_due(key)).collect()
}

/// Runs a command in this database on a connection that no step uses.
fn aside(state: &mut Server, database: usize, command: &Command, now: UnixTime) -> Reply {
    state.call(id(SESSIONS), &Command::new("SELECT").arg(database.to_string()), now);
    let reply = state.call(id(SESSIONS), command, now);
    state.disconnect(id(SESSIONS));
    reply
}

fn id(session: usize) -> Session {
    Session(u32::try_from(session).expect("there are few sessions"))
}

/// A message as it comes over the wire.
fn frame(message: Message) -> Reply {
    let (kind, pattern) = match message.via {
        Via::Channel => ("message", None),
        Via::Shard => ("smessage", None),
        Via::Pattern(pattern) => ("pmessage", Some(Reply::Bulk(pattern))),
    };
    let rest = [Reply::Bulk(message.channel), Reply::Bulk(message.payload)];
    Reply::Array([Reply::bulk(kind)].into_iter().chain(pattern).chain(rest).collect())
}
