//! A command as a row of a table: its name, how many words it takes, where it may be sent, and the function that runs it.
//!
//! What running means is not known here.

use super::flavour::Flavour;
use super::refusal::Refusal;
use crate::wire::CommandWord;

/// One command, run by an `R`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row<R> {
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
    /// Whether it is the name before a subcommand.
    is_container: bool,
    /// The servers that have it.
    flavours: &'static [Flavour],
    /// Who runs it.
    pub(super) run: R,
}

/// Whether a command works on keys, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    Reads,
    Writes,
    Neither,
}

impl<R: Copy> Row<R> {
    /// Reads keys.
    pub(super) const fn reads(name: &'static str, arity: i8, run: R) -> Self {
        Self { access: Access::Reads, ..Self::speaks(name, arity, run) }
    }

    /// Writes keys.
    pub(super) const fn writes(name: &'static str, arity: i8, run: R) -> Self {
        Self { access: Access::Writes, ..Self::speaks(name, arity, run) }
    }

    /// Concerns no key.
    pub(super) const fn speaks(name: &'static str, arity: i8, run: R) -> Self {
        Self {
            name,
            arity,
            access: Access::Neither,
            in_scripts: true,
            waits_for_exec: true,
            while_listening: false,
            is_container: false,
            flavours: &Flavour::ALL,
            run,
        }
    }

    /// Concerns the connection: not for scripts.
    pub(super) const fn session(name: &'static str, arity: i8, run: R) -> Self {
        Self { in_scripts: false, ..Self::speaks(name, arity, run) }
    }

    /// Concerns what the connection listens to.
    pub(super) const fn listens(name: &'static str, arity: i8, run: R) -> Self {
        Self { while_listening: true, ..Self::session(name, arity, run) }
    }

    /// Concerns the transaction: does not wait for EXEC.
    pub(super) const fn steers(name: &'static str, arity: i8, run: R) -> Self {
        Self { waits_for_exec: false, ..Self::session(name, arity, run) }
    }

    /// This, with subcommands; it is run itself where none is named.
    pub(super) const fn with_subcommands(self) -> Self {
        Self { is_container: true, ..self }
    }

    /// This, while listening too.
    pub(super) const fn also_while_listening(self) -> Self {
        Self { while_listening: true, ..self }
    }

    /// This, on these servers only.
    pub(super) const fn only_in(self, flavours: &'static [Flavour]) -> Self {
        Self { flavours, ..self }
    }
}

impl<R> Row<R> {
    /// Refuses a wrong number of words.
    pub(super) fn check_arity(&self, words: usize) -> Result<(), Refusal> {
        let arity = usize::from(self.arity.unsigned_abs());
        let fits = if self.arity < 0 { words >= arity } else { words == arity };
        if fits { Ok(()) } else { Err(Refusal::Arity(self.name)) }
    }
}

/// All commands, family by family.
#[derive(Debug)]
pub(super) struct Table<R: 'static> {
    families: &'static [&'static [Row<R>]],
}

impl<R> Clone for Table<R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for Table<R> {}

impl<R> Table<R> {
    pub(super) const fn new(families: &'static [&'static [Row<R>]]) -> Self {
        Self { families }
    }

    /// Every command of this server; subcommands too.
    pub(super) fn rows(self, flavour: Flavour) -> impl Iterator<Item = &'static Row<R>> {
        self.families.iter().copied().flatten().filter(move |row| row.flavours.contains(&flavour))
    }

    /// The command that is called so.
    pub(super) fn named(self, name: &[u8], flavour: Flavour) -> Option<&'static Row<R>> {
        let mut rows = self.families.iter().copied().flatten();
        rows.find(|row| row.name.as_bytes().eq_ignore_ascii_case(name) && row.flavours.contains(&flavour))
    }

    /// The command that these words call.
    pub(super) fn find(self, words: &[CommandWord], flavour: Flavour) -> Result<&'static Row<R>, Refusal> {
        let name = words.first().map(CommandWord::as_slice).unwrap_or_default();
        let row = self.named(name, flavour).filter(|row| !row.name.contains('|')).ok_or_else(|| unknown(words))?;
        match words.get(1) {
            Some(sub) if row.is_container => {
                let full_name = [row.name.as_bytes(), sub].join(&b'|');
                self.named(&full_name, flavour).ok_or_else(|| unknown_subcommand(row.name, sub))
            }
            _ => Ok(row),
        }
    }
}

/// Redis shows at most 128 bytes of the name, and arguments until 128 bytes of them are shown.
fn unknown(words: &[CommandWord]) -> Refusal {
    const SHOWN: usize = 128;
    let [name, args @ ..] = words else { return Refusal::err("unknown command") };
    let mut shown = Vec::new();
    for word in args {
        if shown.len() >= SHOWN {
            break;
        }
        let left = SHOWN - shown.len();
        shown.extend([b"'", &word[..word.len().min(left)], b"' "].concat());
    }
    let (name, shown) = (String::from_utf8_lossy(&name[..name.len().min(SHOWN)]), String::from_utf8_lossy(&shown));
    Refusal::err(format_args!("unknown command '{name}', with args beginning with: {shown}"))
}

fn unknown_subcommand(name: &str, sub: &[u8]) -> Refusal {
    let (name, sub) = (name.to_ascii_uppercase(), String::from_utf8_lossy(&sub[..sub.len().min(128)]));
    Refusal::err(format_args!("unknown subcommand '{sub}'. Try {name} HELP."))
}
