//! The audit: what it finds in traces of which the truth is known.

mod fleet;
mod long;
mod races;
mod real;
mod truth;
mod written;
