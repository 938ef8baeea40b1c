//! Why a command is refused, in Redis' own words.

use thiserror::Error;

use crate::wire::Reply;

/// Why a command is refused. `Display` is the error reply as Redis 7.0 sends it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(super) enum Refusal {
    #[error("WRONGTYPE Operation against a key holding the wrong kind of value")]
    WrongType,
    #[error("ERR syntax error")]
    Syntax,
    #[error("ERR value is not an integer or out of range")]
    NotAnInteger,
    #[error("ERR value is not a valid float")]
    NotAFloat,
    #[error("ERR increment or decrement would overflow")]
    Overflow,
    #[error("ERR wrong number of arguments for '{0}' command")]
    Arity(&'static str),
    #[error("ERR invalid expire time in '{0}' command")]
    ExpireTime(&'static str),
    #[cfg(feature = "sim")]
    #[error("NOSCRIPT No matching script. Please use EVAL.")]
    NoScript,
    #[error("EXECABORT Transaction discarded because of previous errors.")]
    ExecAbort,
    /// Any other text, code first.
    #[error("{0}")]
    Other(String),
}

impl Refusal {
    /// `ERR` and this text, on one line as an error reply must be.
    pub(super) fn err(text: impl std::fmt::Display) -> Self {
        Self::Other(format!("ERR {text}").replace(['\r', '\n'], " "))
    }
}

impl From<Refusal> for Reply {
    fn from(refusal: Refusal) -> Self {
        Self::Error(refusal.to_string())
    }
}
