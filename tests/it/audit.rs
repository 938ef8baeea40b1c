//! The audit: what it finds in traces of which the truth is known.

mod accuracy;
mod begun;
mod beliefs;
mod bridges;
mod consequences;
mod endless;
mod fleet;
mod guarded;
mod identity;
mod lease_end;
mod long;
mod operators;
mod order;
mod races;
mod real;
mod refreshed;
mod several;
mod tokens;
mod truth;
mod unfollowed;
mod written;
mod written_keys;

pub(crate) use written::audit;
