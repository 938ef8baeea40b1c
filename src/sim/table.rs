//! Every command that is known: its name, how many words it takes, where it may be sent, and who runs it.

use super::call::{Answer, Call};
use super::flavour::Flavour;
use super::refusal::Refusal;
use super::{
    channels, compare, connection, counters, expiry, hashes, introspection, keys, lists, ranges, rankings, scripts,
    set, sets, strings, transactions,
};

const FAMILIES: [&[Row]; 16] = [
    strings::ROWS,
    set::ROWS,
    counters::ROWS,
    compare::ROWS,
    keys::ROWS,
    expiry::ROWS,
    hashes::ROWS,
    sets::ROWS,
    rankings::ROWS,
    ranges::ROWS,
    lists::ROWS,
    transactions::ROWS,
    channels::ROWS,
    scripts::ROWS,
    connection::ROWS,
    introspection::ROWS,
];

type Run = fn(&mut Call<'_>) -> Answer;

/// One command.
#[derive(Debug)]
pub(super) struct Row {
    /// The name, in small letters as error texts show it; a subcommand is `script|load`.
    pub(super) name: &'static str,
    /// How many words, the name included; negative: at least that many.
    pub(super) arity: i8,
    /// Whether it works on keys, and how.
    pub(super) access: Access,
    /// Whether a script may call it.
    pub(super) in_scripts: bool,
    /// Whether between MULTI and EXEC it waits for EXEC.
    pub(super) waits_for_exec: bool,
    /// Whether a connection that listens to channels may send it.
    pub(super) while_listening: bool,
    /// The servers that have it.
    flavours: &'static [Flavour],
    pub(super) run: Run,
}

/// Whether a command works on keys, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    Reads,
    Writes,
    Neither,
}

impl Row {
    /// Reads keys.
    pub(super) const fn reads(name: &'static str, arity: i8, run: Run) -> Self {
        Self { access: Access::Reads, ..Self::speaks(name, arity, run) }
    }

    /// Writes keys.
    pub(super) const fn writes(name: &'static str, arity: i8, run: Run) -> Self {
        Self { access: Access::Writes, ..Self::speaks(name, arity, run) }
    }

    /// Concerns no key.
    pub(super) const fn speaks(name: &'static str, arity: i8, run: Run) -> Self {
        Self {
            name,
            arity,
            access: Access::Neither,
            in_scripts: true,
            waits_for_exec: true,
            while_listening: false,
            flavours: &Flavour::ALL,
            run,
        }
    }

    /// Concerns the connection: not for scripts.
    pub(super) const fn session(name: &'static str, arity: i8, run: Run) -> Self {
        Self { in_scripts: false, ..Self::speaks(name, arity, run) }
    }

    /// Concerns what the connection listens to.
    pub(super) const fn listens(name: &'static str, arity: i8, run: Run) -> Self {
        Self { while_listening: true, ..Self::session(name, arity, run) }
    }

    /// Concerns the transaction: does not wait for EXEC.
    pub(super) const fn steers(name: &'static str, arity: i8, run: Run) -> Self {
        Self { waits_for_exec: false, ..Self::session(name, arity, run) }
    }

    /// The name before a subcommand.
    pub(super) const fn container(name: &'static str) -> Self {
        Self::speaks(name, -2, |call| Err(unknown_subcommand(call.words)))
    }

    /// This, while listening too.
    pub(super) const fn also_while_listening(self) -> Self {
        Self { while_listening: true, ..self }
    }

    /// This, on these servers only.
    pub(super) const fn only_in(self, flavours: &'static [Flavour]) -> Self {
        Self { flavours, ..self }
    }

    /// Refuses a wrong number of words.
    pub(super) fn check_arity(&self, words: usize) -> Result<(), Refusal> {
        let arity = usize::from(self.arity.unsigned_abs());
        let fits = if self.arity < 0 { words >= arity } else { words == arity };
        if fits { Ok(()) } else { Err(Refusal::Arity(self.name)) }
    }
}

/// Every command of this server; subcommands too.
pub(super) fn rows(flavour: Flavour) -> impl Iterator<Item = &'static Row> {
    FAMILIES.into_iter().flatten().filter(move |row| row.flavours.contains(&flavour))
}

/// The command that is called so.
pub(super) fn named(name: &[u8], flavour: Flavour) -> Option<&'static Row> {
    rows(flavour).find(|row| row.name.as_bytes().eq_ignore_ascii_case(name))
}

/// The command that these words call.
pub(super) fn find(words: &[Vec<u8>], flavour: Flavour) -> Result<&'static Row, Refusal> {
    let row = named(&words[0], flavour).filter(|row| !row.name.contains('|')).ok_or_else(|| unknown(words))?;
    let is_container =
        rows(flavour).any(|other| other.name.split_once('|').is_some_and(|(outer, _)| outer == row.name));
    match words.get(1) {
        Some(sub) if is_container => {
            named(&[row.name.as_bytes(), sub].join(&b'|'), flavour).ok_or_else(|| unknown_subcommand(words))
        }
        _ => Ok(row),
    }
}

/// Redis shows the arguments until 128 bytes of them are shown, and at most 128 bytes of the name.
fn unknown(words: &[Vec<u8>]) -> Refusal {
    const SHOWN: usize = 128;
    let mut shown = Vec::new();
    for word in &words[1..] {
        if shown.len() >= SHOWN {
            break;
        }
        shown.push(b'\'');
        let left = SHOWN + 1 - shown.len();
        shown.extend_from_slice(&word[..word.len().min(left)]);
        shown.extend_from_slice(b"' ");
    }
    let name = String::from_utf8_lossy(&words[0][..words[0].len().min(SHOWN)]);
    let shown = String::from_utf8_lossy(&shown);
    Refusal::err(format_args!("unknown command '{name}', with args beginning with: {shown}"))
}

fn unknown_subcommand(words: &[Vec<u8>]) -> Refusal {
    let name = String::from_utf8_lossy(&words[0]).to_ascii_uppercase();
    let sub = words.get(1).map(|sub| String::from_utf8_lossy(sub)).unwrap_or_default();
    Refusal::err(format_args!("unknown subcommand '{sub}'. Try {name} HELP."))
}
