//! What is in a key: which protocols could have written it, what each would do about it now, and what is wrong with it.
//!
//! [`look`] is a procedure that only reads; [`Finding::of`] judges what it saw, and sends nothing. Nothing here
//! prints.
//!
//! ```
//! use lockshift::inspect::{Finding, Hazard, Sight};
//! use lockshift::wire::{Ttl, UnixTime};
//!
//! let sight = Sight {
//!     key: "lock:42".into(),
//!     at: UnixTime::from_secs(1_700_000_100).unwrap(),
//!     server_at: None,
//!     kind: "string".to_owned(),
//!     value: Some(b"1700000160".to_vec()),
//!     fields: vec![],
//!     is_too_large: false,
//!     ttl: Ttl::NO_EXPIRY,
//! };
//! let finding = Finding::of(sight);
//! assert!(finding.writers.iter().any(|writer| writer.name() == "php-getset"));
//! assert_eq!(finding.expires_at, UnixTime::from_secs(1_700_000_160));
//! assert_eq!(finding.is_expired, Some(false));
//! assert!(finding.hazards.iter().any(|hazard| matches!(hazard, Hazard::NoTtl { .. })));
//! ```

mod finding;
mod hazard;
mod member;
mod reader;
mod server;
mod shape;
mod sight;
mod token;
mod writer;

pub use finding::Finding;
pub use hazard::{Hazard, Severity};
pub use member::Member;
pub use reader::{Reaction, Reader};
pub use server::{ServerHazard, ServerSight};
pub use shape::{Shapes, Sign};
pub use sight::{Fields, LONGEST, Sight, few_fields, few_members, head, look};
pub use token::{TokenAlphabet, TokenForm};
