//! Redis commands as typed questions to a [`Transcript`](crate::Transcript): one family a file, each with the
//! conversion of its replies. An error reply or an impossible one leaves as a [`Fault`](crate::Fault).

mod answer;
mod compare;
mod hashes;
mod keys;
mod set;
mod sorted_sets;
mod strings;
mod transactions;

pub use keys::Ttl;
pub use set::{Expiry, Only, Set};
