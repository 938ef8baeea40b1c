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
    pub fn transaction(&mut self, commands: &[Command]) -> Turn<Option<Vec<Reply>>> {
        self.ask_status(Command::new("MULTI"), "OK")?;
        for command in commands {
            self.ask_status(command.clone(), "QUEUED")?;
        }
        self.ask_array(Command::new("EXEC"))
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
