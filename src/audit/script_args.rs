//! The arguments of EVAL and EVALSHA: the number of keys, and the keys.

use crate::wire::{Command, CommandWord};

/// The number of keys that a script is given.
pub(super) fn keys_of_script(args: &[CommandWord]) -> Option<usize> {
    std::str::from_utf8(args.get(1)?).ok()?.parse().ok()
}

/// The keys that a script is given.
pub(super) fn script_keys(run: &Command) -> &[CommandWord] {
    let count = keys_of_script(run.args()).unwrap_or(0);
    run.args().get(2..).and_then(|words| words.get(..count)).unwrap_or_default()
}
