//! Whether a value gives a lock away by its shape alone.

use std::time::Duration;

use super::token::TokenForm;
use super::writer::is_part_of_lock;
use crate::legacy::{Clock, Dialect, Form, Keys};
use crate::protocols::{KeyType, Protocol, bridge_stamp_forms, catalogue};
use crate::wire::{Key, UnixTime};

/// The shapes by which a lock is known among millions of other keys: a stamp at a believable time, or a token.
///
/// A counter at `1`, an empty string or `true` may be a lock as well; that cannot be recognised, so they do not count.
#[derive(Clone, Debug)]
pub struct Shapes {
    stamped: Vec<Form>,
    naming: Vec<Protocol>,
    hashes: Vec<Protocol>,
    sets: Vec<Protocol>,
    /// The dialects whose owner stands in a key of its own: it looks like many other things, so the name of the key has to
    /// fit, too.
    by_key: Vec<&'static Dialect>,
}

/// How surely a value is that of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Sign {
    /// It has the form that a known lock writes.
    Lock,
    /// It has the form of a random token of other programs: a lock only if its key has a TTL.
    LockIfItExpires,
    /// Nothing tells it from other values.
    Other,
}

/// No moment and no token is shorter: eight bytes are a stamp in binary.
const SHORTEST: usize = 8;
/// Further from now than this, a number is an amount or an identity rather than a moment.
const BELIEVABLE: Duration = Duration::from_secs(366 * 86_400);

impl Shapes {
    /// Those of every protocol in the catalogue.
    pub fn known() -> Self {
        let mut shapes =
            Self { stamped: Vec::new(), naming: Vec::new(), hashes: Vec::new(), sets: Vec::new(), by_key: Vec::new() };
        for protocol in catalogue() {
            match protocol.dialect() {
                Some(dialect) if dialect.keys == Keys::OwnerAndExpiry => shapes.by_key.push(dialect),
                Some(dialect) if dialect.form.is_stamped() && dialect.clock != Clock::Uptime => {
                    shapes.add_stamped(dialect.form);
                }
                Some(_) | None if protocol.names_owner() => shapes.naming.push(protocol),
                Some(_) | None => match protocol.key_type() {
                    KeyType::Hash => shapes.hashes.push(protocol),
                    KeyType::SortedSet => shapes.sets.push(protocol),
                    KeyType::String => {}
                },
            }
        }
        bridge_stamp_forms().for_each(|form| shapes.add_stamped(form));
        shapes
    }

    /// Many dialects write the same digits in the same unit, and differ in what they add: one of them will do.
    fn add_stamped(&mut self, form: Form) {
        let looks = |form: &Form| (form.parts, form.stamp.unit, form.stamp.digits, form.quoted_when_taken);
        if self.stamped.iter().all(|known| looks(known) != looks(&form)) {
            self.stamped.push(form);
        }
    }

    /// Whether the value of this key has one of them, now. Where owner and stamp are in two keys, the owner's is the lock.
    pub fn sign(&self, key: &Key, value: &[u8], now: UnixTime) -> Sign {
        let is_by_key = |dialect: &&Dialect| dialect.key.fits(key.as_bytes()) && dialect.form.matches(value);
        if key.as_bytes().starts_with(Keys::EXPIRY_PREFIX.as_bytes()) {
            Sign::Other
        } else if self.fit(value, now) || self.by_key.iter().any(is_by_key) {
            Sign::Lock
        } else if TokenForm::of(value).is_some() {
            Sign::LockIfItExpires
        } else {
            Sign::Other
        }
    }

    fn fit(&self, value: &[u8], now: UnixTime) -> bool {
        let is_near = |moment: UnixTime| moment.saturating_since(now).max(now.saturating_since(moment)) < BELIEVABLE;
        let is_stamp = |form: &Form| form.read(value).is_some_and(|number| is_near(form.stamp.moment_of(number)));
        value.len() >= SHORTEST
            && (self.stamped.iter().any(is_stamp) || self.naming.iter().any(|protocol| protocol.could_write(value)))
    }

    /// Whether a hash with a field of this name may be a lock.
    pub fn fit_field(&self, name: &[u8]) -> bool {
        let of_owner = |mode: &[u8]| vec![(b"mode".to_vec(), mode.to_vec()), (name.to_vec(), b"1".to_vec())];
        let alone = |value: &[u8]| vec![(name.to_vec(), value.to_vec())];
        let probes = [of_owner(b"read"), of_owner(b"write"), alone(b"1"), alone(b"1700000000000")];
        let fits = |probe: &Vec<_>| self.hashes.iter().any(|protocol| protocol.holders(probe).is_some());
        name == b"mode" || probes.iter().any(fits)
    }

    /// Whether a sorted set with this key and a member of this name may be a lock.
    pub fn fit_member(&self, key: &Key, name: &[u8]) -> bool {
        let probe = [(name.to_vec(), b"1700000000000".to_vec())];
        !is_part_of_lock(key) && self.sets.iter().any(|protocol| protocol.holders(&probe).is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_and_tokens_are_known_by_their_shape_and_counters_are_not() {
        let now = UnixTime::from_secs(1_700_000_000).unwrap();
        let shapes = Shapes::known();
        let locks: [&[u8]; 9] = [
            b"1700000060",
            b"1699000000",
            b"1700000060123",
            b"1700000060.25",
            b"\"1700000060123\"",
            b"1700000060-12-7",
            b"\x00\x00\x01\x8b\xcf\xe5\x68\x00",
            b"00d7d7d7d7d7d7d7d7d7d7d7d7d7d7d7",
            b"{\"expire\":1700000060,\"guid\":\"07070707-0707-4707-8707-070707070707\"}",
        ];
        for lock in locks {
            assert!(shapes.fit(lock, now), "{}", lock.escape_ascii());
        }
        let others: [&[u8]; 7] = [b"", b"1", b"true", b"42", b"1000000000", b"hello, world", b"12345678"];
        for other in others {
            assert!(!shapes.fit(other, now), "{}", other.escape_ascii());
        }
    }

    #[test]
    fn the_stamps_of_a_bridge_are_known_by_their_mark() {
        let now = UnixTime::from_secs(1_700_000_000).unwrap();
        let shapes = Shapes::known();
        for stamp in [&b"01700000060"[..], b"01700000060123", b"\x00\x00\x01\x8b\xcf\xe5\x68\x000"] {
            assert_eq!(shapes.sign(&"lock".into(), stamp, now), Sign::Lock, "{}", stamp.escape_ascii());
        }
        assert_eq!(shapes.sign(&"phone".into(), b"01631234567890", now), Sign::Other);
    }

    #[test]
    fn a_token_of_another_program_and_an_owner_need_a_second_sign() {
        let now = UnixTime::from_secs(1_700_000_000).unwrap();
        let shapes = Shapes::known();
        let sign = |key: &str, value: &str| shapes.sign(&key.into(), value.as_bytes(), now);
        assert_eq!(sign("stock", "Rva_bi1OZAFd357UISVzrQ"), Sign::LockIfItExpires);
        assert_eq!(sign("lock:owner:stock", "web-3.example.org:4711"), Sign::Lock);
        assert_eq!(sign("upstream", "web-3.example.org:4711"), Sign::Other);
        assert_eq!(sign("lock:expire:stock", "1700000060"), Sign::Other, "it belongs to lock:owner:stock");
    }

    #[test]
    fn a_hash_is_worth_a_look_if_one_of_its_fields_is_that_of_a_lock() {
        let shapes = Shapes::known();
        let owner = "5a5a5a5a-5a5a-4a5a-8a5a-5a5a5a5a5a5a:7";
        for name in [owner, &format!("{owner}:write"), "mode", "read", "write", "thread-1"] {
            assert!(shapes.fit_field(name.as_bytes()), "{name}");
        }
        for name in ["", "name", "age", "5a5a5a5a-5a5a-4a5a-8a5a-5a5a5a5a5a5a", "00d7d7d7:1"] {
            assert!(!shapes.fit_field(name.as_bytes()), "{name}");
        }
    }
}
