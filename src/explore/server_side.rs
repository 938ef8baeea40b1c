//! The server's side of a world: the servers, the states that a lagging replica may still be in, the guarded resource.

use crate::lock::Hold;
use crate::sim::{Server, Session, Stored};
use crate::wire::{Command, Key, Reply, UnixTime};

/// The server's side of a world.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ServerSide {
    /// The server that every client speaks to.
    pub server: Server,
    /// Further ones, independent of it and of each other.
    pub others: Vec<Server>,
    /// What each server was before its last writes, by place; latest first.
    pub lagging: Vec<Vec<Server>>,
    /// How many such states are kept of each: none where no failover is to come.
    pub lag: u8,
    /// The resource that the lock is there for, if the scene has one.
    pub guard: Option<GuardedResource>,
    /// Commands that their senders have given up and that may still arrive: each with its sender's place, by sender, oldest first.
    pub delayed: Vec<(usize, Command)>,
    /// By how many ticks the clock of each server has been set ahead, by place.
    pub clocks_ahead: Vec<i8>,
}

/// A resource that clients write to while they believe to hold the lock.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct GuardedResource {
    /// Whether it refuses a fence lower than one that it has seen.
    pub checks_fence: bool,
    /// The highest fence seen.
    pub highest: Option<u64>,
    /// The clients by when they last won, latest last.
    pub winners: Vec<usize>,
    /// The clients that won before one that has written since.
    pub outdated: Vec<usize>,
    /// Whether it has accepted a write from one of those.
    pub accepted_stale: bool,
}

/// The connection that only lets time pass.
const CARETAKER: Session = Session(u32::MAX);
/// The connection of commands that arrive late.
const LATE: Session = Session(u32::MAX - 2);

impl ServerSide {
    /// A server alone.
    pub(super) fn new(server: Server) -> Self {
        let (others, delayed) = (Vec::new(), Vec::new());
        Self { server, others, lagging: vec![Vec::new()], lag: 0, guard: None, delayed, clocks_ahead: vec![0] }
    }

    /// All servers, the first one first.
    pub(super) fn servers(&mut self) -> impl Iterator<Item = &mut Server> {
        std::iter::once(&mut self.server).chain(&mut self.others)
    }

    /// Copies of all servers, the first one first.
    pub(super) fn all_servers(&self) -> Vec<Server> {
        std::iter::once(&self.server).chain(&self.others).cloned().collect()
    }

    /// The server at this place.
    fn at(&mut self, place: u8) -> Option<&mut Server> {
        self.servers().nth(place.into())
    }

    /// What a key holds on each of the servers, whose clocks read this.
    pub(super) fn contents(&self, key: &Key, walls: &[UnixTime]) -> Vec<Option<Stored>> {
        let servers = std::iter::once(&self.server).chain(&self.others);
        servers.zip(walls).map(|(server, now)| server.peek(key, *now)).collect()
    }

    /// How many keys the server at this place has.
    pub(super) fn keys_of(&self, place: u8) -> u8 {
        let server = std::iter::once(&self.server).chain(&self.others).nth(place.into());
        server.map_or(0, |server| u8::try_from(server.keys().count()).unwrap_or(u8::MAX))
    }

    /// The places, among all keys of the server at this place, of those whose last millisecond this is.
    pub(super) fn keys_at_deadline(&self, place: u8, walls: &[UnixTime]) -> Vec<u8> {
        let mut servers = std::iter::once(&self.server).chain(&self.others).zip(walls);
        let Some((server, now)) = servers.nth(place.into()) else { return Vec::new() };
        let ends_now = |key| server.see(key, *now).is_some_and(|seen| seen.expires_at == Some(*now));
        (0..).zip(server.keys()).filter(|(_, key)| ends_now(key)).map(|(place, _)| place).collect()
    }

    /// How many writes the replica of the server at this place may lack.
    pub(super) fn lag_of(&self, place: u8) -> u8 {
        self.lagging.get(usize::from(place)).map_or(0, |lagging| u8::try_from(lagging.len()).unwrap_or(u8::MAX))
    }

    /// Runs a command on the server that it is for, where the servers' clocks read this; if it writes, a replica of that server may
    /// still be in the state before.
    pub(super) fn call(&mut self, session: Session, command: &Command, walls: &[UnixTime]) -> Reply {
        let place = command.node().0;
        let Some(&now) = walls.get(usize::from(place)) else {
            return Reply::Error("ERR there is no such server".to_owned());
        };
        let lag = usize::from(self.lag);
        let Some(server) = self.at(place) else { return Reply::Error("ERR there is no such server".to_owned()) };
        let before = (lag > 0 && !command.only_reads()).then(|| server.clone());
        let reply = server.call(session, command, now);
        let before = before.filter(|before| before != server);
        if let (Some(before), Some(lagging)) = (before, self.lagging.get_mut(usize::from(place))) {
            lagging.insert(0, before);
            lagging.truncate(lag);
        }
        reply
    }

    /// This client stops waiting for a command that may still arrive. The commands of one client stay in order, those of several
    /// clients arrive in any order.
    pub(super) fn delay(&mut self, who: usize, command: Command) {
        self.delayed.push((who, command));
        self.delayed.sort_by_key(|(who, _)| *who);
    }

    /// The oldest command of this client that may still arrive.
    pub(super) fn late_command(&self, who: usize) -> Option<&Command> {
        self.delayed.iter().find(|(sender, _)| *sender == who).map(|(_, command)| command)
    }

    /// Runs that command, on a connection of its own: no client receives the reply.
    pub(super) fn run_late(&mut self, who: usize, walls: &[UnixTime]) -> Reply {
        let Some(place) = self.delayed.iter().position(|(sender, _)| *sender == who) else { return Reply::Nil };
        let (_, command) = self.delayed.remove(place);
        let reply = self.call(LATE, &command, walls);
        self.servers().for_each(|server| server.disconnect(LATE));
        reply
    }

    /// The server at this place restarts. Its replica starts again from what it has then.
    pub(super) fn restart(&mut self, place: u8, keeps_data: bool) {
        self.at(place).into_iter().for_each(|server| server.restart(keeps_data));
        self.lagging.get_mut(usize::from(place)).into_iter().for_each(Vec::clear);
    }

    /// The server at this place removes one of its keys, which no client asked for.
    pub(super) fn remove(&mut self, place: u8, key: u8, walls: &[UnixTime]) {
        let Some(server) = self.at(place) else { return };
        let key = server.keys().nth(key.into()).cloned();
        if let Some(key) = key {
            server.call(CARETAKER, &Command::new("DEL").arg(&key), walls[usize::from(place)]);
        }
    }

    /// Sets the clock of the server at this place so many ticks ahead.
    pub(super) fn set_clock(&mut self, place: u8, ticks: i8) {
        if let Some(ahead) = self.clocks_ahead.get_mut(usize::from(place)) {
            *ahead = ahead.saturating_add(ticks);
        }
    }

    /// Removes what expired meanwhile, so that two worlds do not differ only in when a client looked.
    pub(super) fn elapse(&mut self, walls: &[UnixTime]) {
        for (server, now) in self.servers().zip(walls) {
            server.call(CARETAKER, &Command::new("PING"), *now);
        }
    }

    /// The replica of the server at this place, which lacks the last `writes_lost` writes, takes over; every connection to
    /// that server is broken.
    pub(super) fn fail_over(&mut self, place: u8, writes_lost: u8, is_last: bool, clients: usize) {
        let lagging = self.lagging.get_mut(usize::from(place)).map(std::mem::take).unwrap_or_default();
        let mut older = lagging.into_iter().skip(usize::from(writes_lost).saturating_sub(1));
        if let (Some(replica), Some(server)) = (older.next(), self.at(place)) {
            *server = replica;
            (0..clients).for_each(|client| server.disconnect(session(client)));
            self.lagging[usize::from(place)] = older.collect();
        }
        if is_last {
            self.lagging.iter_mut().for_each(Vec::clear);
            self.lag = 0;
        }
    }
}

impl GuardedResource {
    /// A resource that no client has written to.
    pub(super) fn new(checks_fence: bool) -> Self {
        Self { checks_fence, highest: None, winners: Vec::new(), outdated: Vec::new(), accepted_stale: false }
    }

    /// Notes the last winner.
    pub(super) fn won(&mut self, who: usize) {
        self.winners.retain(|winner| *winner != who);
        self.winners.push(who);
        self.outdated.retain(|outdated| *outdated != who);
    }

    /// Whether it refuses a client that holds this.
    pub(super) fn refuses(&self, hold: &Hold) -> bool {
        self.checks_fence && hold.fence < self.highest
    }

    /// A write by a client that holds this.
    pub(super) fn write(&mut self, who: usize, hold: &Hold) {
        if self.refuses(hold) {
            return;
        }
        self.highest = self.highest.max(hold.fence);
        self.accepted_stale |= self.outdated.contains(&who);
        let earlier = self.winners.iter().take_while(|winner| **winner != who);
        for winner in earlier {
            if !self.outdated.contains(winner) {
                self.outdated.push(*winner);
            }
        }
        self.outdated.sort_unstable();
    }
}

/// The connection of the client at this place.
pub(super) fn session(place: usize) -> Session {
    Session(u32::try_from(place).unwrap_or(u32::MAX - 1))
}
