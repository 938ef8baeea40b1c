//! The bridge lock: one lock that old clients and new ones both respect, while a fleet migrates from the one to
//! the other.
//!
//! A bridge client holds two keys at once. The *old key* is the one that the old clients know; it holds a stamp in
//! their dialect, which keeps them out. The *new key*, [`new_key`] of the old one, lies in the same hash slot; it names the
//! holder and decides among new clients. When no old client is left, clients use the token lock on the new key: the last
//! phases of a migration depend on that.
//!
//! ```text
//! invoices          01700000030                                    a stamp in the fleet's dialect; PX lease
//! {invoices}:token  07070707070707070707070707070707:01700000030   the holder, and the stamp it wrote; PX lease
//! ```
//!
//! One script acquires both keys or neither. If the old key holds a value, the script returns it; the client judges it with
//! the fleet's own readers and, if it has expired, runs the script again to replace exactly that value. Extending writes
//! both keys again and reports an *intrusion* if the old key no longer held the bridge's value. Releasing deletes the new
//! key, and the old key if it still holds the bridge's value. Both keys have a TTL, so the lock of a bridge that crashes
//! expires, also for clients that never take over.
//!
//! The bridge cannot repair the old clients. One that deletes a lock that it no longer owns, or whose GETSET arrives late,
//! can still let another old client acquire beside a bridge holder, as it can beside an old one. The next extension
//! reports this to the holder.
//!
//! An old client whose clock is ahead takes over early, beside a bridge as beside another old client.
//! [`Bridge::tolerating_skew`] keeps out clients whose clocks differ by a bounded time. A stamp in the far future would not
//! depend on any clock, but would keep all clients out for ever once an old client has written it back without a TTL. So it
//! is used only where the readers accept no other stamp that no old client writes.
//!
//! A stamp without an owner can only be recognised by its bytes, and old clients write equal stamps at the same moment. So
//! a bridge writes a stamp that no old client writes: the same number with a leading zero, or with a ninth byte after a
//! binary stamp of eight bytes where the readers ignore it. If a reader in the fleet does not accept these, the stamp is
//! further in the future than any lease, and ends with the TTL of its key. Old clients that write a value back after reading it set
//! no TTL, so a bridge does not consider a key without a TTL its own.
//!
//! ```
//! use std::time::Duration;
//! use lockshift::bridge::{Bridge, new_key};
//! use lockshift::legacy;
//! use lockshift::lock::Lease;
//! use lockshift::wire::Key;
//!
//! let lease = Lease::new(Duration::from_secs(30))?;
//! let row = |name| legacy::find(name).expect("a dialect of the catalogue");
//!
//! // One stamp keeps old and new PHP out.
//! let bridge = Bridge::new(&[row("php-getset"), row("php7-getset")], "invoices".into(), lease)?;
//! assert_eq!(bridge.stamp_of().name, "php-getset");
//! assert_eq!(new_key(&"invoices".into()), Key::from("{invoices}:token"));
//!
//! // PHP reads Java's eight bytes as an expired stamp: these two do not exclude each other, with or without a bridge.
//! let refused = Bridge::new(&[row("php-getset"), row("java-getset")], "invoices".into(), lease);
//! assert!(refused.unwrap_err().to_string().contains("php-getset takes"));
//!
//! // No stamp keeps these two out: each treats the other's readable stamps as invalid and takes over.
//! let refused = Bridge::new(&[row("jedis-lock-2015"), row("php-getset")], "invoices".into(), lease);
//! assert!(refused.unwrap_err().to_string().contains("jedis-lock-2015 takes 1800000030"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod fleet;
mod lock;
mod marked_form;
mod old_key;
pub(crate) mod scripts;
mod stamp_writer;
mod tables;
mod trial;
mod unbridgeable;

pub(crate) use fleet::{Clocks, Fleet, could_have_written};
#[cfg(feature = "sim")]
pub(crate) use lock::BridgeStamp;
pub use lock::{Bridge, new_key};
pub(crate) use lock::{is_new_key, stamp_writer};
pub(crate) use marked_form::marked_forms;
pub(crate) use old_key::OldKey;
pub(crate) use stamp_writer::{BEYOND_EVERY_LEASE, StampWriter};
pub use tables::{Tables, tables};
pub use unbridgeable::{StolenStamp, Unbridgeable};
