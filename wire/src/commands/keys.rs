//! DEL, EXISTS, EXPIRE and its kin, TTL and PTTL, TYPE.

use alloc::string::String;
use core::time::Duration;

use crate::{Command, Key, Reply, Transcript, Turn};

/// What TTL or PTTL says: the number as Redis sends it, because old clients judge that very number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ttl(pub i64);

impl Ttl {
    /// The key does not exist (-2).
    pub const NO_KEY: Self = Self(-2);
    /// The key exists and never expires (-1).
    pub const NO_EXPIRY: Self = Self(-1);

    /// How long the key still lives, if this came from PTTL; `None` without a key or without an expiry.
    pub fn left_of_millis(self) -> Option<Duration> {
        u64::try_from(self.0).ok().map(Duration::from_millis)
    }
}

#[expect(clippy::missing_errors_doc, reason = "all leave with `Pending` until answered, and with a fault if refused")]
impl Transcript {
    /// `DEL key`: whether there was a key.
    pub fn del(&mut self, key: &Key) -> Turn<bool> {
        self.ask_flag(Command::new("DEL").arg(key))
    }

    /// `EXISTS key`.
    pub fn exists(&mut self, key: &Key) -> Turn<bool> {
        self.ask_flag(Command::new("EXISTS").arg(key))
    }

    /// `EXPIRE key seconds`: whether there was a key.
    pub fn expire(&mut self, key: &Key, seconds: i64) -> Turn<bool> {
        self.ask_flag(Command::new("EXPIRE").arg(key).arg_int(seconds))
    }

    /// `PEXPIRE key milliseconds`: whether there was a key.
    pub fn pexpire(&mut self, key: &Key, millis: i64) -> Turn<bool> {
        self.ask_flag(Command::new("PEXPIRE").arg(key).arg_int(millis))
    }

    /// `EXPIREAT key unix-seconds`: whether there was a key.
    pub fn expireat(&mut self, key: &Key, unix_secs: i64) -> Turn<bool> {
        self.ask_flag(Command::new("EXPIREAT").arg(key).arg_int(unix_secs))
    }

    /// `TTL key`: seconds left, rounded to the nearest.
    pub fn ttl(&mut self, key: &Key) -> Turn<Ttl> {
        self.ask_int(Command::new("TTL").arg(key)).map(Ttl)
    }

    /// `PTTL key`: milliseconds left.
    pub fn pttl(&mut self, key: &Key) -> Turn<Ttl> {
        self.ask_int(Command::new("PTTL").arg(key)).map(Ttl)
    }

    /// `TYPE key`: `string`, `hash`, ..., `none`.
    pub fn type_of(&mut self, key: &Key) -> Turn<String> {
        let command = Command::new("TYPE").arg(key);
        match self.send(command.clone())? {
            Reply::Status(name) => Ok(name),
            reply => Self::fault(command, reply),
        }
    }
}
