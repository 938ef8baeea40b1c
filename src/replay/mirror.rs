//! The simulated servers beside the real ones: what the keys should be like.

use crate::explore::Trace;
use crate::sim::{Flavour, Server, Session};
use crate::wire::{Command, Key, Node, Reply, Ttl, UnixTime};

/// Simulated servers that run what the real ones run, and say what should be.
pub(super) struct Mirror {
    servers: Vec<Server>,
    begin_ms: i64,
    now_ms: i64,
}

/// The connection that only asks.
const ASKING: Session = Session(u32::MAX);

impl Mirror {
    pub(super) fn new(trace: &Trace) -> Self {
        let servers = 1 + usize::from(trace.commands().map(|command| command.node().0).max().unwrap_or(0));
        Self { servers: vec![Server::new(Flavour::Redis70); servers], begin_ms: trace.begin_ms, now_ms: 0 }
    }

    /// Every key that a trace ever makes, and on which server.
    pub(super) fn keys_of(trace: &Trace) -> Vec<(Node, Key)> {
        let mut mirror = Self::new(trace);
        let mut keys = Vec::new();
        for prior in &trace.prelude {
            mirror.call_as(SETUP, &prior.command);
            keys.extend(mirror.keys());
        }
        for step in &trace.steps {
            if let (Some(actor), Some(exchange)) = (step.actor, &step.exchange) {
                mirror.call_as(actor, &exchange.command);
                keys.extend(mirror.keys());
            }
            if let Some(actor) = step.actor.filter(|_| step.action.disconnects()) {
                mirror.forget(actor);
            }
        }
        keys.sort();
        keys.dedup();
        keys
    }

    /// It is now so many milliseconds after the start.
    pub(super) fn set_clock(&mut self, now_ms: i64) {
        self.now_ms = now_ms;
    }

    /// A command of the client at this place.
    pub(super) fn call_as(&mut self, place: usize, command: &Command) -> Reply {
        self.call(session(place), command)
    }

    /// The client at this place has crashed.
    pub(super) fn forget(&mut self, place: usize) {
        self.servers.iter_mut().for_each(|server| server.disconnect(session(place)));
    }

    /// What a question is answered that changes nothing.
    pub(super) fn ask(&mut self, question: &Command) -> Reply {
        self.call(ASKING, question)
    }

    /// What PTTL should say of a key.
    pub(super) fn pttl(&mut self, node: Node, key: &Key) -> Ttl {
        match self.ask(&Command::new("PTTL").arg(key).on(node)) {
            Reply::Int(left_ms) => Ttl(left_ms),
            _ => Ttl::NO_KEY,
        }
    }

    fn keys(&mut self) -> Vec<(Node, Key)> {
        let nodes: Vec<Node> = (0..).map(Node).take(self.servers.len()).collect();
        nodes.into_iter().flat_map(|node| self.keys_on(node)).collect()
    }

    fn keys_on(&mut self, node: Node) -> Vec<(Node, Key)> {
        let Reply::Array(names) = self.ask(&Command::new("KEYS").arg("*").on(node)) else { return Vec::new() };
        let name = |reply| if let Reply::Bulk(name) = reply { Some((node, Key::new(name))) } else { None };
        names.into_iter().filter_map(name).collect()
    }

    fn call(&mut self, session: Session, command: &Command) -> Reply {
        let now = self.now();
        let server = self.servers.get_mut(usize::from(command.node().0));
        server.expect("there are as many as the trace speaks to").call(session, command, now)
    }

    fn now(&self) -> UnixTime {
        let end = UnixTime::from_nanos(i64::MAX);
        UnixTime::from_millis(self.begin_ms.saturating_add(self.now_ms)).unwrap_or(end)
    }
}

/// The place of the client that made the start state.
pub(super) const SETUP: usize = usize::MAX;

fn session(place: usize) -> Session {
    Session(u32::try_from(place).unwrap_or(u32::MAX - 1))
}
