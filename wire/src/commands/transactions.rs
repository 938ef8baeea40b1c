//! WATCH, MULTI, EXEC; and TIME, the server's own clock.

use alloc::vec::Vec;
use core::str;

use crate::{Command, Key, Reply, Transcript, Turn, UnixTime};

#[expect(clippy::missing_errors_doc, reason = "all leave with `Pending` until answered, and with a fault if refused")]
impl Transcript {
    /// `WATCH key`: the next EXEC on this connection fails if the key is touched before it.
    pub fn watch(&mut self, key: &Key) -> Turn<()> {
        self.watch_all(&[key])
    }

    /// `WATCH key...`: the next EXEC on this connection fails if any of the keys is touched before it.
    pub fn watch_all(&mut self, keys: &[&Key]) -> Turn<()> {
        self.ask_status(keys.iter().fold(Command::new("WATCH"), |command, key| command.arg(key)), "OK")
    }

    /// `UNWATCH`.
    pub fn unwatch(&mut self) -> Turn<()> {
        self.ask_status(Command::new("UNWATCH"), "OK")
    }

    /// `MULTI`, the commands, `EXEC`: their replies, or `None` if a watched key was touched. Needs a connection of
    /// its own.
    ///
    /// A command that fails within EXEC ends the protocol with a fault, although the others were executed: a reply that is
    /// an error must not pass for one that shows success.
    pub fn transaction(&mut self, commands: &[Command]) -> Turn<Option<Vec<Reply>>> {
        self.ask_status(Command::new("MULTI"), "OK")?;
        for command in commands {
            self.ask_status(command.clone(), "QUEUED")?;
        }
        let replies = self.ask_array(Command::new("EXEC"))?;
        let failed = replies.iter().flatten().zip(commands).find(|(reply, _)| matches!(reply, Reply::Error(_)));
        match failed {
            Some((reply, command)) => Self::fault(command.clone(), reply.clone()),
            None => Ok(replies),
        }
    }

    /// `TIME`: the server's wall clock, in microseconds.
    pub fn time(&mut self) -> Turn<UnixTime> {
        let command = Command::new("TIME");
        let reply = self.send(command.clone())?;
        match unix_time(&reply) {
            Some(time) => Ok(time),
            None => Self::fault(command, reply),
        }
    }
}

/// `[seconds, microseconds]`, both as decimal strings.
fn unix_time(reply: &Reply) -> Option<UnixTime> {
    let Reply::Array(parts) = reply else { return None };
    let [Reply::Bulk(secs), Reply::Bulk(micros)] = parts.as_slice() else { return None };
    let number = |bytes: &[u8]| str::from_utf8(bytes).ok()?.parse::<i64>().ok();
    let nanos = number(secs)?.checked_mul(1_000_000_000)?.checked_add(number(micros)?.checked_mul(1_000)?)?;
    Some(UnixTime::from_nanos(nanos))
}
