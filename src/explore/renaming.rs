//! The parts of a world with their clients' names exchanged.

use super::actor::{Actor, Doing, Talk};
use super::names::Renaming;
use super::node::{Guard, Node};
use crate::lock::Hold;
use crate::sim::{Rewrite, Session};
use crate::wire::{Command, Entry, Reply};

impl Renaming<'_> {
    /// The same client, by other names.
    pub(super) fn actor(&self, actor: &Actor) -> Actor {
        let doing = match &actor.doing {
            Doing::Resting { until } => Doing::Resting { until: *until },
            Doing::Acquiring(talk) => Doing::Acquiring(self.talk(talk)),
            Doing::Holding(hold, work) => Doing::Holding(self.hold(hold), *work),
            Doing::Extending(hold, work, talk) => Doing::Extending(self.hold(hold), *work, self.talk(talk)),
            Doing::Releasing(hold, talk) => Doing::Releasing(self.hold(hold), self.talk(talk)),
            Doing::Disclaiming(talk) => Doing::Disclaiming(self.talk(talk)),
            Doing::Done => Doing::Done,
            Doing::Crashed => Doing::Crashed,
        };
        Actor { doing, ..*actor }
    }

    fn hold(&self, hold: &Hold) -> Hold {
        Hold { value: self.text(&hold.value), ..hold.clone() }
    }

    fn talk(&self, talk: &Talk) -> Talk {
        let renamed = |entry: &Entry| match entry {
            Entry::Clock(reading) => Entry::Clock(*reading),
            Entry::Exchange(command, reply) => Entry::Exchange(self.command(command), self.reply(reply)),
        };
        Talk { said: talk.said.entries().iter().map(renamed).collect(), in_flight: talk.in_flight }
    }

    fn command(&self, command: &Command) -> Command {
        let words = command.words().iter().map(|word| self.text(word)).collect();
        Command::from_words(words).map_or_else(|| command.clone(), |renamed| renamed.on(command.node()))
    }

    fn reply(&self, reply: &Reply) -> Reply {
        match reply {
            Reply::Bulk(text) => Reply::Bulk(self.text(text)),
            Reply::Array(items) => Reply::Array(items.iter().map(|item| self.reply(item)).collect()),
            Reply::Nil | Reply::Int(_) | Reply::Status(_) | Reply::Error(_) => reply.clone(),
        }
    }

    /// The same server's side, by other names.
    pub(super) fn node(&self, node: &Node) -> Node {
        let text = |text: &[u8]| self.text(text);
        let place = |place: usize| u8::try_from(place).map_or(place, |place| usize::from((self.place)(place)));
        let session =
            |session: Session| u8::try_from(session.0).map_or(session, |place| Session(u32::from((self.place)(place))));
        let rewrite = Rewrite { text: &text, session: &session, deadline_ms: &|deadline_ms| deadline_ms };
        let guard = node.guard.as_ref().map(|guard| {
            let mut outdated: Vec<usize> = guard.outdated.iter().map(|who| place(*who)).collect();
            outdated.sort_unstable();
            Guard { winners: guard.winners.iter().map(|who| place(*who)).collect(), outdated, ..guard.clone() }
        });
        Node {
            server: node.server.rewritten(rewrite),
            others: node.others.iter().map(|server| server.rewritten(rewrite)).collect(),
            lagging: node.lagging.iter().map(|server| server.rewritten(rewrite)).collect(),
            lag: node.lag,
            guard,
        }
    }
}
