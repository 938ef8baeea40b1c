//! The names of clients in what they write: found in any text, and exchanged for others.
//!
//! A client that the scene gives no identity gets one with a mark in it: a token whose last six bytes are a sign, its
//! place and its round, and a process id that no stamp looks like. A protocol may write the token as hex, as a UUID or as
//! bytes; the mark is found in each.

use super::actor::{Actor, Doing, Talk};
use super::node::{Guard, Node};
use crate::lock::{Hold, Owner, Token};
use crate::sim::{Rewrite, Session};
use crate::wire::{Command, Entry, Reply};

/// What stands before place and round in a token.
const SIGN: [u8; 4] = [0xc1, 0x1e, 0x9d, 0xb7];
/// The process id of the client at place 0.
const FIRST_PID: u32 = 4_100_000;

/// The identity of the client at this place. Its token begins with a letter, as most random ones do not look like a
/// number.
pub(super) fn owner(place: usize) -> Owner {
    let place = u8::try_from(place).unwrap_or(u8::MAX);
    let token = Token::new([0xe7, 0x5a, 0, 0, 0, 0, 0, 0, 0, 0, SIGN[0], SIGN[1], SIGN[2], SIGN[3], place, 0]);
    Owner { token, pid: FIRST_PID + u32::from(place), thread: 1 }
}

/// An exchange of names.
pub(super) struct Renaming<'a> {
    /// Who becomes whom.
    pub(super) place: &'a dyn Fn(u8) -> u8,
}

impl Renaming<'_> {
    pub(super) fn text(&self, text: &[u8]) -> Vec<u8> {
        let mut renamed = text.to_vec();
        for at in 0..text.len() {
            self.hex_at(text, at, &mut renamed);
            self.bytes_at(text, at, &mut renamed);
            self.pid_at(text, at, &mut renamed);
        }
        renamed
    }

    fn hex_at(&self, text: &[u8], at: usize, renamed: &mut [u8]) {
        const DIGITS: usize = 2 * SIGN.len();
        let Some(mark) = text.get(at..at + DIGITS + 2) else { return };
        let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        let byte = |index: usize| Some(digit(mark[2 * index])? << 4 | digit(mark[2 * index + 1])?);
        if (0..SIGN.len()).any(|index| byte(index) != Some(SIGN[index])) {
            return;
        }
        let Some(place) = byte(SIGN.len()) else { return };
        let upper = mark.iter().any(u8::is_ascii_uppercase);
        let there = (self.place)(place);
        let shown = if upper { format!("{there:02X}") } else { format!("{there:02x}") };
        renamed[at + DIGITS..at + DIGITS + 2].copy_from_slice(shown.as_bytes());
    }

    fn bytes_at(&self, text: &[u8], at: usize, renamed: &mut [u8]) {
        if let Some([sign @ .., place]) = text.get(at..=at + SIGN.len())
            && sign == SIGN
        {
            renamed[at + SIGN.len()] = (self.place)(*place);
        }
    }

    fn pid_at(&self, text: &[u8], at: usize, renamed: &mut [u8]) {
        const DIGITS: usize = 7;
        let Some(digits) = text.get(at..at + DIGITS) else { return };
        let is_digit = |index: Option<usize>| index.and_then(|index| text.get(index)).is_some_and(u8::is_ascii_digit);
        let alone = !is_digit(at.checked_sub(1)) && !is_digit(Some(at + DIGITS));
        let pid = std::str::from_utf8(digits).ok().filter(|_| alone).and_then(|digits| digits.parse::<u32>().ok());
        let place = pid.and_then(|pid| pid.checked_sub(FIRST_PID)).and_then(|place| u8::try_from(place).ok());
        if let Some(place) = place {
            let there = FIRST_PID + u32::from((self.place)(place));
            renamed[at..at + DIGITS].copy_from_slice(there.to_string().as_bytes());
        }
    }

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
        Command::from_words(words).unwrap_or_else(|| command.clone())
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
            lagging: node.lagging.iter().map(|server| server.rewritten(rewrite)).collect(),
            lag: node.lag,
            guard,
        }
    }
}
