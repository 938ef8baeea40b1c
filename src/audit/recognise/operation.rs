//! One operation of a protocol under way, along the exchanges of a client.

use super::clock::{Ahead, Shown};
use crate::audit::command_name::CommandName;
use crate::audit::correspondence::Correspondence;
use crate::audit::exchange::LockExchange;
use crate::audit::variants::Variant;
use crate::wire::{Command, Reading, Reply, Transcript, UnixTime};

/// An operation under way.
#[derive(Clone, Default)]
pub(super) struct RecognisedOperation {
    pub(super) transcript: Transcript,
    /// The exchange with which it began.
    from: usize,
    /// The next exchange.
    pub(super) next: usize,
    /// Which words of the client correspond to which of the protocol.
    pub(super) pairs: Correspondence,
    /// How the client's clock stands to the server's.
    pub(super) ahead: Ahead,
    /// When the client's own lock expires, if it has one.
    pub(super) own: Option<UnixTime>,
    /// The replies to what was queued between MULTI and EXEC; `None` outside.
    queue: Option<Vec<Reply>>,
}

impl RecognisedOperation {
    /// One that begins with this exchange.
    pub(super) fn at(from: usize, pairs: Correspondence) -> Self {
        Self { from, next: from, pairs, ..Self::default() }
    }

    /// The value that a clock read now is compared with: the one read last, else the next.
    pub(super) fn judged<'a>(&self, exchanges: &'a [LockExchange]) -> Option<&'a [u8]> {
        let before = exchanges[self.from..self.next].iter().rev().find_map(LockExchange::reads);
        before.or_else(|| exchanges[self.next..].iter().take(LOOKED_AHEAD).find_map(LockExchange::reads))
    }

    /// The same, after it has read its clock.
    pub(super) fn with_clock(&self, shown: Shown, reading: Reading) -> Self {
        let mut next = Self { ahead: shown.ahead, ..self.clone() };
        next.transcript.record_clock(reading);
        next
    }

    /// Answers this command with the reply of the next exchange, if that can be the same command.
    pub(super) fn answer_from(
        &mut self,
        variant: &Variant,
        expected: &Command,
        exchanges: &[LockExchange],
    ) -> Option<()> {
        let exchange = &exchanges[self.next];
        if self.queue.is_some() && exchange.is(CommandName::Exec) && !expected.is("EXEC") {
            // The transaction was aborted, so its queued commands were never listed.
            self.transcript.record_reply(Reply::Status("QUEUED".to_owned()));
            return Some(());
        }
        let (reply, length) = match exchange.within {
            Some(script)
                if expected.is("EVAL") || expected.is("EVALSHA") || expected.is("DELIFEQ") || expected.is("DELEX") =>
            {
                self.pairs.match_script(expected, exchange)?;
                let calls = exchanges[self.next..].iter().take_while(|exchange| exchange.within == Some(script));
                let calls: Vec<&LockExchange> = calls.collect();
                let has_done = calls.iter().any(|call| !call.command.only_reads() && call.reply != Reply::Int(0));
                (Reply::Int(i64::from(has_done)), calls.len())
            }
            Some(_) | None => {
                let tries = exchange.script_of_guard().is_some_and(|script| script.moments_at().is_some());
                let before = (tries && exchange.reply != Reply::Int(1)).then(|| self.pairs.clone());
                self.pairs.match_command(variant, expected, &exchange.command)?;
                // A stamp that a guard has not written is not its client's, and another client may have written the same.
                self.pairs = before.unwrap_or_else(|| std::mem::take(&mut self.pairs));
                (self.pairs.reply(&exchange.reply), 1)
            }
        };
        self.next += length;
        let reply = self.answer(expected, reply);
        self.transcript.record_reply(reply);
        Some(())
    }

    /// The reply as the client got it: between MULTI and EXEC that is QUEUED, and EXEC returns the rest. MONITOR lists
    /// queued commands only when they run.
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

/// Maximum number of exchanges between reading a clock and the value that is compared with it.
const LOOKED_AHEAD: usize = 3;
