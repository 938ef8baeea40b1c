//! The simulated servers of a period, and how the audit would see a lease on them.

use std::time::Duration;

use crate::audit::Auditor;
use crate::lock::{Acquired, Lease, Owner, ReleaseChannel, Token};
use crate::monitor::{Source, Written};
use crate::protocols::Choice;
use crate::sim::{Flavour, Server, Session};
use crate::wire::{
    Command, Fault, Key, MonoTime, Node, NodeReply, Pending, Reading, Reply, Transcript, Turn, UnixTime,
};

/// The servers, and what time it is.
pub(super) struct PeriodServers {
    servers: Vec<Server>,
    began_at: UnixTime,
    /// Since the beginning.
    pub(super) now: Duration,
}

impl PeriodServers {
    pub(super) fn new(choice: &Choice, began_at: UnixTime) -> Self {
        let servers = vec![Server::new(Flavour::Redis70); usize::from(choice.servers().max(1))];
        Self { servers, began_at, now: Duration::ZERO }
    }

    /// Goes on with an operation of a client whose clock is ahead by so many nanoseconds: its outcome, or `None` where it has
    /// sent a command. The server runs that at once, and its reply is yet to arrive.
    pub(super) fn go_on<T>(
        &mut self,
        (session, ahead): (Session, i64),
        transcript: &mut Transcript,
        operation: &dyn Fn(&mut Transcript) -> Turn<T>,
        seen: &mut dyn FnMut(&Command, &Reply),
    ) -> Result<Option<T>, Fault> {
        loop {
            match operation(transcript.rewind()) {
                Ok(outcome) => return Ok(Some(outcome)),
                Err(Pending::Clock) => transcript.record_clock(self.reading(ahead)),
                Err(Pending::Send(command)) => {
                    let reply = self.call(session, &command);
                    seen(&command, &reply);
                    transcript.record_reply(reply);
                    return Ok(None);
                }
                Err(Pending::Round(commands)) => {
                    for command in commands {
                        transcript.record_node_reply(command.node(), NodeReply::Reply(self.call(session, &command)));
                    }
                    return Ok(None);
                }
                Err(Pending::Fault(fault)) => return Err(fault),
            }
        }
    }

    fn call(&mut self, session: Session, command: &Command) -> Reply {
        let (Node(node), wall) = (command.node(), self.wall(0));
        self.servers[usize::from(node)].call(session, command, wall)
    }

    /// Whether the first server has this key now.
    pub(super) fn holds(&self, key: &Key) -> bool {
        self.servers[0].holds(key, self.wall(0))
    }

    /// Listens to the releases of a channel.
    pub(super) fn listen(&mut self, session: Session, to: &ReleaseChannel) {
        let name = if to.sharded { "SSUBSCRIBE" } else { "SUBSCRIBE" };
        self.call(session, &Command::new(name).arg(to.channel.as_slice()));
    }

    /// Whether a release was announced to this listener since it was last asked.
    pub(super) fn hears(&mut self, session: Session) -> bool {
        self.servers.iter_mut().any(|server| !server.take_messages(session).is_empty())
    }

    pub(super) fn forget(&mut self, session: Session) {
        self.servers.iter_mut().for_each(|server| server.disconnect(session));
    }

    fn wall(&self, ahead: i64) -> UnixTime {
        let wall = self.began_at.saturating_add(self.now);
        UnixTime::from_nanos(wall.as_nanos().saturating_add(ahead))
    }

    fn reading(&self, ahead: i64) -> Reading {
        Reading { wall: self.wall(ahead), mono: MonoTime::since_origin(self.now) }
    }
}

/// How long an audit would see the lease of clients that ask for this one, in seconds and on average over the fractions of a
/// second; `None` if it would see none.
pub(super) fn seen_lease(choice: &Choice, lease: Lease) -> Option<f64> {
    const PHASES: u32 = 16;
    let key = Key::from("lock");
    let locker = choice.locker(key, lease);
    let mut leases = Vec::new();
    for phase in 0..PHASES {
        let began_at =
            UnixTime::from_nanos(1_700_000_000_000_000_000).saturating_add(Duration::from_secs(1) * phase / PHASES);
        let mut servers = PeriodServers::new(choice, began_at);
        // Its digits could not be a number, which the audit might read as a stamp.
        let owner = Owner::new(Token::new([0xAB; 16]), 7, 1);
        let (mut transcript, mut auditor, mut number) = (Transcript::new(), Auditor::new().keeping_episodes(), 0);
        loop {
            let at = servers.wall(0);
            let outcome = servers.go_on(
                (Session(1), 0),
                &mut transcript,
                &|redis| locker.acquire(&owner, redis),
                &mut |command, reply| {
                    number += 1;
                    let source = Source::Client(b"10.0.0.1:1");
                    let written = Written { at, database: 0, source, command };
                    auditor.read_answered(number, written, Some((reply.clone(), at)));
                },
            );
            match outcome {
                Ok(Some(Acquired::Won(_))) => break,
                Ok(Some(Acquired::Held(_))) | Err(_) => return None,
                Ok(None) => {}
            }
        }
        leases.push(auditor.finish().episodes.first()?.lease?.as_secs_f64());
    }
    Some(leases.iter().sum::<f64>() / f64::from(PHASES))
}
