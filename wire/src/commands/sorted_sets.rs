//! ZRANGE.

use alloc::vec;
use alloc::vec::Vec;

use super::hashes::pairs;
use crate::{Command, Key, Reply, Transcript, Turn};

#[expect(clippy::missing_errors_doc, reason = "all leave with `Pending` until answered, and with a fault if refused")]
impl Transcript {
    /// `ZRANGE key 0 -1 WITHSCORES`: every member with its score, the lowest first; none without a key.
    pub fn zrange_with_scores(&mut self, key: &Key) -> Turn<Vec<(Vec<u8>, Vec<u8>)>> {
        let command = Command::new("ZRANGE").arg(key).arg_int(0).arg_int(-1).arg("WITHSCORES");
        let reply = self.send(command.clone())?;
        match pairs(&flat(&reply)) {
            Some(pairs) => Ok(pairs),
            None => Self::fault(command, reply),
        }
    }
}

/// Members and scores by turns: in RESP3 each two of them are an array.
fn flat(reply: &Reply) -> Reply {
    match reply {
        Reply::Array(items) => Reply::Array(
            items
                .iter()
                .flat_map(|item| if let Reply::Array(pair) = item { pair.clone() } else { vec![item.clone()] })
                .collect(),
        ),
        other => other.clone(),
    }
}
