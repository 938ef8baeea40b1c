//! The audit: what it finds in traces of which the truth is known.

mod bridges;
mod races;
mod real;
mod truth;
mod written;

pub(crate) use written::audit;
