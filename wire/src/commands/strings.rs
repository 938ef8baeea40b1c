//! GET, SETNX, MSETNX, SETEX, GETSET, INCR.

use alloc::vec::Vec;

use crate::{Command, Key, Transcript, Turn};

#[expect(clippy::missing_errors_doc, reason = "all leave with `Pending` until answered, and with a fault if refused")]
impl Transcript {
    /// `GET key`: the value, or `None` without a key.
    pub fn get(&mut self, key: &Key) -> Turn<Option<Vec<u8>>> {
        self.ask_bulk(Command::new("GET").arg(key))
    }

    /// `SETNX key value`: whether the key was missing and is now set. It never has a TTL.
    pub fn setnx(&mut self, key: &Key, value: &[u8]) -> Turn<bool> {
        self.ask_flag(Command::new("SETNX").arg(key).arg(value))
    }

    /// `MSETNX key value key value`: whether both keys were missing and are now set.
    pub fn msetnx(&mut self, pairs: [(&Key, &[u8]); 2]) -> Turn<bool> {
        self.ask_flag(pairs.iter().fold(Command::new("MSETNX"), |command, (key, value)| command.arg(key).arg(value)))
    }

    /// `SETEX key seconds value`: written whatever was there.
    pub fn setex(&mut self, key: &Key, seconds: i64, value: &[u8]) -> Turn<()> {
        self.ask_status(Command::new("SETEX").arg(key).arg_int(seconds).arg(value), "OK")
    }

    /// `GETSET key value`: the value before. Whatever TTL the key had is gone.
    pub fn getset(&mut self, key: &Key, value: &[u8]) -> Turn<Option<Vec<u8>>> {
        self.ask_bulk(Command::new("GETSET").arg(key).arg(value))
    }

    /// `INCR key`: the number after.
    pub fn incr(&mut self, key: &Key) -> Turn<i64> {
        self.ask_int(Command::new("INCR").arg(key))
    }
}
