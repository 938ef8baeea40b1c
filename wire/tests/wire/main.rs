//! What crosses the wire, by hand and by property.
//!
//! - [`transcript`]: what is recorded, in which order, and what is a broken contract.
//! - [`text`]: bytes and commands as one reads and types them.
//! - [`key`]: keys as text, and back.
//! - [`time`]: arithmetic of moments.
//! - [`set`]: SET with all its options, and its two kinds of answer.
//! - [`answers`]: every typed command, the replies it takes and those that are faults.
//! - [`script`]: EVALSHA, EVAL, and the hash by which Redis knows a script.
//! - [`effect`]: when a reply proves that a command changed nothing.

mod answers;
mod effect;
mod key;
mod script;
mod set;
mod text;
mod time;
mod transcript;
