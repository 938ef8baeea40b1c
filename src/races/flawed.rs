//! What some callers make of a sound protocol: they are wrong where no protocol can help.

mod fractional_lease;
mod polled;

pub(super) use fractional_lease::FractionalLease;
pub(super) use polled::Polled;
