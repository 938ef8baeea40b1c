//! All lock keys of a server, found by commands that only read: SCAN, one GETRANGE for every key, HRANDFIELD for those that
//! are no strings, ZRANGE of one member for those that are no hashes either, and for the few that look like locks PTTL, and their
//! fields or members.
//!
//! Procedures, like everything that sends commands to Redis here: [`Walk::page`] asks for the next keys, [`Walk::glance`] looks at
//! one of them. The caller decides how many side by side. What they saw becomes a
//! [`Finding`](crate::inspect::Finding), and [`ScanSummary`] keeps the gravest ones and counts the rest, in constant memory.
//!
//! ```
//! use lockshift::scan::Walk;
//! use lockshift::wire::{Pending, Transcript};
//!
//! let walk = Walk::of(Some(b"lock:*".to_vec()));
//! let Err(Pending::Send(first)) = walk.page(0, &mut Transcript::new()) else { panic!("it asks for keys") };
//! assert_eq!(first.to_string(), "SCAN 0 MATCH lock:* COUNT 1000");
//! ```

mod glance;
mod page;
mod summary;
mod walk;

pub use glance::Glance;
pub use page::Page;
pub use summary::ScanSummary;
pub use walk::Walk;
