//! The words that every Redis lock shares, old or new: who asks ([`Owner`]), for how long ([`Lease`]), what one holds
//! ([`Hold`]), how a try, a release and an extension can end, and the trait that every protocol implements
//! ([`Locker`]).
//!
//! This crate has no protocol in it and no I/O. It is the only thing that the drivers, the explorer and the protocols
//! have in common beside the wire.
#![no_std]

extern crate alloc;

mod bell;
mod hold;
mod lease;
mod locker;
mod outcome;
mod owner;
mod votes;

pub use bell::Bell;
pub use hold::Hold;
pub use lease::{Lease, LeaseError};
pub use locker::{Locker, Mode};
pub use outcome::{Acquired, Extended, Held, Released, Standing, Why};
pub use owner::{Owner, Token};
pub use votes::{Vote, Votes};
