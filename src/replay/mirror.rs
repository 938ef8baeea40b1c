//! The simulated server beside the real one: what the keys should be like.

use crate::explore::{Action, Trace};
use crate::sim::{Flavour, Server, Session};
use crate::wire::{Command, Key, Reply, Ttl, UnixTime};

/// A simulated server that hears what the real one hears, and says what should be.
pub(super) struct Mirror {
    server: Server,
    begin_ms: i64,
    now_ms: i64,
}

/// The connection that only asks.
const ASKING: Session = Session(u32::MAX);

impl Mirror {
    pub(super) fn new(trace: &Trace) -> Self {
        Self { server: Server::new(Flavour::Redis70), begin_ms: trace.begin_ms, now_ms: 0 }
    }

    /// Every key that a trace ever makes.
    pub(super) fn keys_of(trace: &Trace) -> Vec<Key> {
        let mut mirror = Self::new(trace);
        let mut keys = Vec::new();
        for opening in &trace.prelude {
            mirror.hear(STAGEHAND, &opening.command);
            keys.extend(mirror.keys());
        }
        for step in &trace.steps {
            if let (Some(actor), Some(exchange)) = (step.actor, &step.exchange) {
                mirror.hear(actor, &exchange.command);
                keys.extend(mirror.keys());
            }
            if let (Some(actor), Action::Crash(_) | Action::LoseReply(_)) = (step.actor, step.action) {
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
    pub(super) fn hear(&mut self, place: usize, command: &Command) -> Reply {
        let now = self.now();
        self.server.call(session(place), command, now)
    }

    /// The client at this place is gone.
    pub(super) fn forget(&mut self, place: usize) {
        self.server.disconnect(session(place));
    }

    /// What a question is answered that changes nothing.
    pub(super) fn ask(&mut self, question: &Command) -> Reply {
        let now = self.now();
        self.server.call(ASKING, question, now)
    }

    /// What PTTL should say of a key.
    pub(super) fn pttl(&mut self, key: &Key) -> Ttl {
        match self.ask(&Command::new("PTTL").arg(key)) {
            Reply::Int(left_ms) => Ttl(left_ms),
            _ => Ttl::NO_KEY,
        }
    }

    fn keys(&mut self) -> Vec<Key> {
        let Reply::Array(names) = self.ask(&Command::new("KEYS").arg("*")) else { return Vec::new() };
        let name = |reply| if let Reply::Bulk(name) = reply { Some(Key::new(name)) } else { None };
        names.into_iter().filter_map(name).collect()
    }

    fn now(&self) -> UnixTime {
        let end = UnixTime::from_nanos(i64::MAX);
        UnixTime::from_millis(self.begin_ms.saturating_add(self.now_ms)).unwrap_or(end)
    }
}

/// The place of whoever made the start state.
pub(super) const STAGEHAND: usize = usize::MAX;

fn session(place: usize) -> Session {
    Session(u32::try_from(place).unwrap_or(u32::MAX - 1))
}
