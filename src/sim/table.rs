//! Every command that is known: its name, how many words it takes, and who runs it.

use super::call::{Answer, Call};
use super::refusal::Refusal;
use super::{connection, expiry, keys, set, strings};
use crate::wire::Printable;

/// One command.
#[derive(Debug)]
pub(super) struct Row {
    /// The name, in small letters as error texts show it.
    pub(super) name: &'static str,
    /// How many words, the name included; negative: at least that many.
    pub(super) arity: i8,
    pub(super) run: fn(&mut Call<'_>) -> Answer,
}

impl Row {
    pub(super) const fn new(name: &'static str, arity: i8, run: fn(&mut Call<'_>) -> Answer) -> Self {
        Self { name, arity, run }
    }

    fn accepts(&self, words: usize) -> bool {
        let arity = usize::from(self.arity.unsigned_abs());
        if self.arity < 0 { words >= arity } else { words == arity }
    }
}

const FAMILIES: [&[Row]; 5] = [connection::ROWS, strings::ROWS, set::ROWS, keys::ROWS, expiry::ROWS];

/// The command that these words call.
pub(super) fn find(words: &[Vec<u8>]) -> Result<&'static Row, Refusal> {
    let named = |row: &&Row| words[0].eq_ignore_ascii_case(row.name.as_bytes());
    let row = FAMILIES.into_iter().flatten().find(named).ok_or_else(|| unknown(words))?;
    if row.accepts(words.len()) { Ok(row) } else { Err(Refusal::Arity(row.name)) }
}

fn unknown(words: &[Vec<u8>]) -> Refusal {
    Refusal::err(format_args!("unknown command '{}'", Printable(&words[0])))
}
