//! The arguments of EVAL and EVALSHA: the number of keys, and the keys.

use crate::wire::Command;

/// The number of keys that a script is given.
pub(super) fn keys_of_script(args: &[Vec<u8>]) -> Option<usize> {
    std::str::from_utf8(args.get(1)?).ok()?.parse().ok()
}

/// The keys that a script is given.
pub(super) fn script_keys(run: &Command) -> &[Vec<u8>] {
    let count = keys_of_script(run.args()).unwrap_or(0);
    run.args().get(2..).and_then(|words| words.get(..count)).unwrap_or_default()
}
