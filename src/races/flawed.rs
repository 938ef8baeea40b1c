//! What some callers make of a sound protocol: they are wrong where no protocol can help.

mod fractional_lease;
mod polled;

pub use fractional_lease::FractionalLease;
pub use polled::Polled;
