//! The bridge lock: one lock that old clients and new ones both respect, for as long as a fleet moves from the one to the
//! other.
//!
//! A bridge client holds two keys at once. The *old key* is the one that the old clients know; in it stands a stamp in
//! their dialect, which keeps them out. The *new key*, [`new_key`] of the old one, lies in the same hash slot; it names the
//! holder, and it decides among new clients. Whoever only speaks the token lock, once no old client is left, locks on the
//! new key: that is what the last phases of a migration rest on.
//!
//! ```text
//! invoices          01700000030                                    a stamp in the fleet's dialect; PX lease
//! {invoices}:token  07070707070707070707070707070707:01700000030   the holder, and what it wrote there; PX lease
//! ```
//!
//! Acquiring is one script: it takes both keys or none. Where the old key holds a value, the script hands it back; the
//! client judges it by the fleet's own readers and, if it is over, asks once more to put its own in the place of exactly
//! that value. Extending writes both keys again and says if the old one was not as we had left it: an *intrusion*.
//! Releasing deletes the new key, and the old one if it is still as we wrote it. Both keys have a time to live, so a
//! bridge that dies leaves nothing behind, not even to clients that never take over.
//!
//! What the bridge cannot do is mend the old clients. One that deletes a lock which is no longer its own, or whose GETSET
//! comes late, can still let another old client in beside a bridge holder, as it can beside an old one. The holder is
//! told when it extends.
//!
//! A stamp that names nobody is known again by its bytes alone, and old clients write the same for the same moment. So a
//! bridge writes a stamp that none of them does: the same number with a zero in front, or behind the eight bytes of one
//! where its readers pass over a ninth. Where some reader in the fleet would not, the stamp is further ahead than any lease
//! reaches, and ends with its key. And old clients that write back what they have read give it no time to live: what has
//! none is not ours.
//!
//! ```
//! use std::time::Duration;
//! use lockshift::bridge::{Bridge, new_key};
//! use lockshift::legacy;
//! use lockshift::lock::Lease;
//! use lockshift::wire::Key;
//!
//! let lease = Lease::new(Duration::from_secs(30))?;
//! let row = |name| legacy::find(name).expect("a row of the catalogue");
//!
//! // One stamp keeps old and new PHP out.
//! let bridge = Bridge::new(&[row("php-getset"), row("php7-getset")], "invoices".into(), lease)?;
//! assert_eq!(bridge.stamp_of().name, "php-getset");
//! assert_eq!(new_key(&"invoices".into()), Key::from("{invoices}:token"));
//!
//! // PHP takes Java's eight bytes for a stamp of long ago: these two do not exclude each other, bridge or not.
//! let refused = Bridge::new(&[row("php-getset"), row("java-getset")], "invoices".into(), lease);
//! assert!(refused.unwrap_err().to_string().contains("php-getset takes"));
//!
//! // No stamp keeps these two out: what the one can read, the other takes for a ruin.
//! let refused = Bridge::new(&[row("jedis-lock-2015"), row("php-getset")], "invoices".into(), lease);
//! assert!(refused.unwrap_err().to_string().contains("jedis-lock-2015 takes 1800000030"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod fleet;
mod lock;
mod mark;
mod scripts;
mod trial;
mod unbridgeable;
mod writing;

#[cfg(feature = "sim")]
pub(crate) use lock::Hand;
pub use lock::{Bridge, new_key};
pub use unbridgeable::{Taken, Unbridgeable};
