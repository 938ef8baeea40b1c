//! The native compare-and-delete commands. Their sister, compare-and-set, is SET with
//! [`Only::IfEquals`](crate::Only).

use crate::{Command, Key, Transcript, Turn};

#[expect(clippy::missing_errors_doc, reason = "all leave with `Pending` until answered, and with a fault if refused")]
impl Transcript {
    /// `DELIFEQ key value`: whether the key held exactly these bytes and is gone now. Valkey 9.0.
    pub fn delifeq(&mut self, key: &Key, value: &[u8]) -> Turn<bool> {
        self.ask_flag(Command::new("DELIFEQ").arg(key).arg(value))
    }

    /// `DELEX key IFEQ value`: whether the key held exactly these bytes and is gone now. Redis 8.4.
    pub fn delex_ifeq(&mut self, key: &Key, value: &[u8]) -> Turn<bool> {
        self.ask_flag(Command::new("DELEX").arg(key).arg("IFEQ").arg(value))
    }
}
