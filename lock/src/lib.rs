//! The words that every Redis lock shares, old or new: the owner ([`Owner`]), for how long ([`Lease`]), what it holds
//! ([`Hold`]), how a try, a release and an extension can end, and the trait that every protocol implements
//! ([`Locker`]).
//!
//! This crate has no protocol in it and no I/O. It is the only thing that the drivers, the explorer and the protocols
//! have in common beside the wire.
#![no_std]

extern crate alloc;

mod hold;
mod lease;
mod locker;
mod outcome;
mod owner;
mod release_channel;
mod votes;

pub use hold::Hold;
pub use lease::{Lease, LeaseError};
pub use locker::{LateRelease, Locker, Mode};
pub use outcome::{Acquired, Extended, Held, Ownership, Refusal, Released};
pub use owner::{Owner, Token};
pub use release_channel::ReleaseChannel;
pub use votes::{Vote, Votes};
