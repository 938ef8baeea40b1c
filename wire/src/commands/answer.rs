//! From a reply to what a command's answer means; all else is a fault.

use alloc::vec::Vec;

use crate::ask::Ask;
use crate::{Reply, Transcript, Turn};

impl Transcript {
    /// Sends a command whose answer is read by `read`; what `read` does not accept is a fault.
    fn ask<T>(&mut self, ask: &impl Ask, read: impl FnOnce(&Reply) -> Option<T>) -> Turn<T> {
        let (command, reply) = self.reply_to(ask)?;
        match read(reply) {
            Some(answer) => Ok(answer),
            None => Self::fault(command.clone(), reply.clone()),
        }
    }

    /// A number.
    pub(super) fn ask_int(&mut self, command: impl Ask) -> Turn<i64> {
        self.ask(&command, |reply| if let Reply::Int(number) = reply { Some(*number) } else { None })
    }

    /// 1 for yes, 0 for no.
    pub(super) fn ask_flag(&mut self, command: impl Ask) -> Turn<bool> {
        self.ask(&command, |reply| match reply {
            Reply::Int(1) => Some(true),
            Reply::Int(0) => Some(false),
            _ => None,
        })
    }

    /// `OK` for yes, nil for no.
    pub(super) fn ask_ok(&mut self, command: impl Ask) -> Turn<bool> {
        self.ask(&command, |reply| match reply {
            Reply::Status(text) if text == "OK" => Some(true),
            Reply::Nil => Some(false),
            _ => None,
        })
    }

    /// A status word.
    pub(super) fn ask_status(&mut self, command: impl Ask, expected: &str) -> Turn<()> {
        self.ask(&command, |reply| matches!(reply, Reply::Status(text) if text == expected).then_some(()))
    }

    /// A string, or nothing.
    pub(super) fn ask_bulk(&mut self, command: impl Ask) -> Turn<Option<Vec<u8>>> {
        self.ask(&command, |reply| match reply {
            Reply::Bulk(bytes) => Some(Some(bytes.clone())),
            Reply::Nil => Some(None),
            _ => None,
        })
    }

    /// Several replies, or nothing.
    pub(super) fn ask_array(&mut self, command: impl Ask) -> Turn<Option<Vec<Reply>>> {
        self.ask(&command, |reply| match reply {
            Reply::Array(items) => Some(Some(items.clone())),
            Reply::Nil => Some(None),
            _ => None,
        })
    }
}
