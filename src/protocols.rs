//! Every lock protocol by its name: the old dialects, row by row, and the modern locks. A name with its
//! options becomes a [`Locker`](crate::lock::Locker) on a key.
//!
//! ```
//! use std::time::Duration;
//! use lockshift::lock::Lease;
//! use lockshift::protocols::Choice;
//!
//! let choice: Choice = "token,expiry=exat".parse()?;
//! let locker = choice.locker("invoices".into(), Lease::new(Duration::from_secs(30))?);
//! assert_eq!(locker.key().as_bytes(), b"invoices");
//!
//! let unknown = "tokn".parse::<Choice>().unwrap_err();
//! assert_eq!(unknown.to_string(), "there is no protocol `tokn`: did you mean `token`?");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod bridge;
mod choice;
mod guard;
mod looked_into;
mod maker;
mod modern;
mod protocol;
mod setting;
mod spec;
mod typed;
mod unsuitable;

pub(crate) use bridge::{end_of_far_stamp, stamp_forms as bridge_stamp_forms};
pub use choice::Choice;
pub use guard::ModeOfGuard;
pub(crate) use looked_into::LookedInto;
pub use modern::{Holder, KeyType};
pub use protocol::{Generation, Protocol, catalogue, find};
pub use setting::{Setting, Values};
pub use spec::Spec;
pub use unsuitable::Unsuitable;
