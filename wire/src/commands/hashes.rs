//! HEXISTS, HGET, HGETALL.

use alloc::vec::Vec;

use crate::{Command, Key, Reply, Transcript, Turn};

#[expect(clippy::missing_errors_doc, reason = "all leave with `Pending` until answered, and with a fault if refused")]
impl Transcript {
    /// `HEXISTS key field`.
    pub fn hexists(&mut self, key: &Key, field: &[u8]) -> Turn<bool> {
        self.ask_flag(Command::new("HEXISTS").arg(key).arg(field))
    }

    /// `HGET key field`.
    pub fn hget(&mut self, key: &Key, field: &[u8]) -> Turn<Option<Vec<u8>>> {
        self.ask_bulk(Command::new("HGET").arg(key).arg(field))
    }

    /// `HGETALL key`: every field with its value, in no order; none without a key.
    pub fn hgetall(&mut self, key: &Key) -> Turn<Vec<(Vec<u8>, Vec<u8>)>> {
        let command = Command::new("HGETALL").arg(key);
        let reply = self.send(command.clone())?;
        match pairs(&reply) {
            Some(pairs) => Ok(pairs),
            None => Self::fault(command, reply),
        }
    }
}

/// Fields and values by turns, or members and scores.
pub(super) fn pairs(reply: &Reply) -> Option<Vec<(Vec<u8>, Vec<u8>)>> {
    let Reply::Array(items) = reply else { return None };
    let (pairs, []) = items.as_chunks::<2>() else { return None };
    let pair = |[field, value]: &[Reply; 2]| match (field, value) {
        (Reply::Bulk(field), Reply::Bulk(value)) => Some((field.clone(), value.clone())),
        _ => None,
    };
    pairs.iter().map(pair).collect()
}
