//! Why a line is not one of MONITOR's.

use thiserror::Error;

/// Why a line is not one of MONITOR's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum IllFormed {
    /// It does not begin with seconds, a point and six digits.
    #[error("it does not begin with a time like 1700000000.123456")]
    Time,
    /// No `[database address]` follows the time.
    #[error("no [database address] follows the time")]
    Client,
    /// The database index is not a number.
    #[error("the database index is not a number")]
    Database,
    /// There is no command.
    #[error("there is no command")]
    Command,
    /// A word does not begin with a quote, or something else than a space follows one.
    #[error("words are not in quotes, or not divided by spaces")]
    Words,
    /// A backslash is followed by something that Redis does not write.
    #[error("an escape that Redis does not write")]
    Escape,
    /// It ends within a word: it was cut off.
    #[error("it was cut off")]
    CutOff,
    /// It is longer than any command that can matter here.
    #[error("it is too long")]
    TooLong,
}
