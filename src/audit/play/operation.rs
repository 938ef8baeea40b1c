//! One operation of a protocol under way, along with what a client has said.

use super::clock::{Ahead, Shown};
use crate::audit::alike::Alike;
use crate::audit::kinds::Kind;
use crate::audit::said::Said;
use crate::wire::{Command, Reading, Reply, Transcript, UnixTime};

/// An operation under way.
#[derive(Clone, Default)]
pub(super) struct Operation {
    pub(super) transcript: Transcript,
    /// The line with which it began.
    from: usize,
    /// The line that comes next.
    pub(super) next: usize,
    /// Which of the client's words stand for which of the protocol's.
    pub(super) alike: Alike,
    /// How the client's clock stands to the server's.
    pub(super) ahead: Ahead,
    /// When the client's own lock is over, where it has one.
    pub(super) own: Option<UnixTime>,
    /// The replies to what was queued between MULTI and EXEC; `None` outside.
    queue: Option<Vec<Reply>>,
}

impl Operation {
    /// One that begins at this line.
    pub(super) fn at(from: usize, alike: Alike) -> Self {
        Self { from, next: from, alike, ..Self::default() }
    }

    /// The value that is judged by a clock read now: the one read last, else the next.
    pub(super) fn judged<'a>(&self, said: &'a [Said]) -> Option<&'a [u8]> {
        let before = said[self.from..self.next].iter().rev().find_map(Said::reads);
        before.or_else(|| said[self.next..].iter().take(LOOKED_AHEAD).find_map(Said::reads))
    }

    pub(super) fn told(&self, shown: Shown, reading: Reading) -> Self {
        let mut told = Self { ahead: shown.ahead, ..self.clone() };
        told.transcript.record_clock(reading);
        told
    }

    /// Takes the next line for this command, if it can be it, and hands the protocol its reply.
    pub(super) fn hear(&mut self, kind: &Kind, expected: &Command, said: &[Said]) -> Option<()> {
        let line = &said[self.next];
        if self.queue.is_some() && line.is("EXEC") && !expected.is("EXEC") {
            // The transaction came to nothing, and so what was queued was never listed.
            self.transcript.record_reply(Reply::Status("QUEUED".to_owned()));
            return Some(());
        }
        let (reply, length) = match line.within {
            Some(script)
                if expected.is("EVAL") || expected.is("EVALSHA") || expected.is("DELIFEQ") || expected.is("DELEX") =>
            {
                self.alike.in_script(expected, line)?;
                let calls = said[self.next..].iter().take_while(|said| said.within == Some(script));
                let calls: Vec<&Said> = calls.collect();
                let has_done = calls.iter().any(|call| !call.command.only_reads() && call.reply != Reply::Int(0));
                (Reply::Int(i64::from(has_done)), calls.len())
            }
            Some(_) | None => {
                self.alike.take(kind, expected, &line.command)?;
                (self.alike.reply(&line.reply), 1)
            }
        };
        self.next += length;
        let reply = self.answer(expected, reply);
        self.transcript.record_reply(reply);
        Some(())
    }

    /// The reply as the client got it: between MULTI and EXEC that is QUEUED, and EXEC hands out the rest. MONITOR lists
    /// what was queued only when it runs.
    fn answer(&mut self, command: &Command, reply: Reply) -> Reply {
        if command.is("MULTI") {
            self.queue = Some(Vec::new());
            return Reply::ok();
        }
        match (self.queue.take(), command.is("EXEC")) {
            (Some(replies), true) if replies.is_empty() => Reply::Nil,
            (Some(replies), true) => Reply::Array(replies),
            (Some(mut replies), false) => {
                replies.push(reply);
                self.queue = Some(replies);
                Reply::Status("QUEUED".to_owned())
            }
            (None, _) => reply,
        }
    }
}

/// So many lines after the clock was read, the value may be read that is judged by it.
const LOOKED_AHEAD: usize = 3;
