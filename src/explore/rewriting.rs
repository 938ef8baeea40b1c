//! The parts of a world written anew: with other names in them, or at another time.

use super::actor::{Actor, Doing, Operation, Work};
use super::server_side::{GuardedResource, ServerSide};
use crate::lock::Hold;
use crate::sim::{Rewrite, Server, Session};
use crate::wire::{Command, Entry, NodeReply, Reading, Reply};

/// What is written anew, and how.
#[derive(Clone, Copy)]
pub(super) struct Rewriting<'a> {
    /// Every text that crosses the wire or stands on the server.
    pub(super) text: &'a dyn Fn(&[u8]) -> Vec<u8>,
    /// The place of every client.
    pub(super) place: &'a dyn Fn(u8) -> u8,
    /// Every reading of a client's clocks.
    pub(super) reading: &'a dyn Fn(Reading) -> Reading,
    /// Every tick before which something does not happen.
    pub(super) until: &'a dyn Fn(u16) -> u16,
    /// Every deadline on the server, in milliseconds since 1970.
    pub(super) deadline_ms: &'a dyn Fn(i64) -> i64,
    /// The scores of every sorted set on the server, the lowest first.
    pub(super) scores: &'a dyn Fn(&mut [f64]),
    /// Every whole number that a server replies, and every fence.
    pub(super) number: &'a dyn Fn(i64) -> i64,
}

impl Rewriting<'_> {
    /// Nothing changes.
    pub(super) const NOTHING: Rewriting<'static> = Rewriting {
        text: &|text| text.to_vec(),
        place: &|place| place,
        reading: &|reading| reading,
        until: &|until| until,
        deadline_ms: &|deadline_ms| deadline_ms,
        scores: &|_| (),
        number: &|number| number,
    };

    /// A client.
    pub(super) fn actor(&self, actor: &Actor) -> Actor {
        let doing = match &actor.doing {
            Doing::Resting { until } => Doing::Resting { until: (self.until)(*until) },
            Doing::Acquiring(operation) => Doing::Acquiring(self.operation(operation)),
            Doing::Holding(hold, work) => Doing::Holding(self.hold(hold), self.work(*work)),
            Doing::Extending(hold, work, operation) => {
                Doing::Extending(self.hold(hold), self.work(*work), self.operation(operation))
            }
            Doing::Releasing(hold, operation) => Doing::Releasing(self.hold(hold), self.operation(operation)),
            Doing::Disclaiming(operation) => Doing::Disclaiming(self.operation(operation)),
            Doing::Done => Doing::Done,
            Doing::Crashed => Doing::Crashed,
        };
        Actor { doing, ..*actor }
    }

    fn hold(&self, hold: &Hold) -> Hold {
        let fence = hold.fence.map(|fence| self.fence(fence));
        Hold { value: (self.text)(&hold.value), since: (self.reading)(hold.since), fence, ..*hold }
    }

    fn fence(&self, fence: u64) -> u64 {
        i64::try_from(fence).map_or(fence, |fence| (self.number)(fence).unsigned_abs())
    }

    fn work(&self, work: Work) -> Work {
        Work { until: (self.until)(work.until), ..work }
    }

    fn operation(&self, operation: &Operation) -> Operation {
        let rewritten = |entry: &Entry| match entry {
            Entry::Clock(reading) => Entry::Clock((self.reading)(*reading)),
            Entry::Exchange(command, reply) => Entry::Exchange(self.command(command), self.reply(reply)),
            Entry::Round(asked) => {
                let reply = |reply: &Option<NodeReply>| reply.as_ref().map(|reply| self.node_reply(reply));
                Entry::Round(asked.iter().map(|(command, answer)| (self.command(command), reply(answer))).collect())
            }
        };
        Operation {
            transcript: operation.transcript.entries().iter().map(rewritten).collect(),
            in_flight: operation.in_flight,
        }
    }

    fn command(&self, command: &Command) -> Command {
        let words = command.words().iter().map(|word| (self.text)(word));
        Command::from_words(words).map_or_else(|| command.clone(), |rewritten| rewritten.on(command.node()))
    }

    fn node_reply(&self, reply: &NodeReply) -> NodeReply {
        match reply {
            NodeReply::Reply(reply) => NodeReply::Reply(self.reply(reply)),
            NodeReply::NoReply(reason) => NodeReply::NoReply(*reason),
        }
    }

    fn reply(&self, reply: &Reply) -> Reply {
        match reply {
            Reply::Bulk(text) => Reply::Bulk((self.text)(text)),
            Reply::Array(items) => Reply::Array(items.iter().map(|item| self.reply(item)).collect()),
            Reply::Int(number) => Reply::Int((self.number)(*number)),
            Reply::Nil | Reply::Status(_) | Reply::Error(_) => reply.clone(),
        }
    }

    /// The server's side.
    pub(super) fn node(&self, node: &ServerSide) -> ServerSide {
        let place = |place: usize| u8::try_from(place).map_or(place, |place| usize::from((self.place)(place)));
        let session =
            |session: Session| u8::try_from(session.0).map_or(session, |place| Session(u32::from((self.place)(place))));
        let rewrite =
            Rewrite { text: self.text, session: &session, deadline_ms: self.deadline_ms, scores: self.scores };
        let guard = node.guard.as_ref().map(|guard| {
            let mut outdated: Vec<usize> = guard.outdated.iter().map(|who| place(*who)).collect();
            outdated.sort_unstable();
            GuardedResource {
                highest: guard.highest.map(|fence| self.fence(fence)),
                winners: guard.winners.iter().map(|who| place(*who)).collect(),
                outdated,
                ..guard.clone()
            }
        });
        let mut delayed: Vec<_> =
            node.delayed.iter().map(|(who, command)| (place(*who), self.command(command))).collect();
        delayed.sort_by_key(|(who, _)| *who);
        let rewritten_all =
            |servers: &Vec<Server>| servers.iter().map(|server| server.rewritten(rewrite)).collect::<Vec<_>>();
        ServerSide {
            server: node.server.rewritten(rewrite),
            others: rewritten_all(&node.others),
            lagging: node.lagging.iter().map(rewritten_all).collect(),
            lag: node.lag,
            guard,
            delayed,
            clocks_ahead: node.clocks_ahead.clone(),
        }
    }
}
