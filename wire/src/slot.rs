//! Redis Cluster's hash slots: which keys live together.
//!
//! Source: Redis Cluster specification, "Key distribution model" and "Hash tags".

use alloc::format;
use alloc::vec::Vec;

use crate::Key;

impl Key {
    /// The hash slot of this key, 0 to 16383.
    pub fn slot(&self) -> u16 {
        let name = self.as_bytes();
        crc16(hash_tag(name).unwrap_or(name)) % 16384
    }

    /// Whether the whole name is a hash tag, as `{orders}`: it has the siblings of another key, `orders`.
    ///
    /// ```
    /// use lockshift_wire::Key;
    /// let are_tags = ["{orders}", "orders", "{orders}:7", "{}", "{a}b}"].map(|name| Key::from(name).is_hash_tag());
    /// assert_eq!(are_tags, [true, false, false, false, false]);
    /// ```
    #[must_use]
    pub fn is_hash_tag(&self) -> bool {
        let name = self.as_bytes();
        name.first() == Some(&b'{') && hash_tag(name).is_some_and(|tag| tag.len() + 2 == name.len())
    }

    /// Another key that belongs to this one and lives in its slot, whatever braces the name holds.
    ///
    /// `orders` has the sibling `{orders}:readers`, `user:{7}` has `user:{7}:readers`. A name with a closing brace but
    /// no hash tag cannot be wrapped; it gets the smallest number that hashes into its slot for a tag.
    ///
    /// `orders` and `{orders}` have the same siblings: see [`is_hash_tag`](Self::is_hash_tag).
    ///
    /// ```
    /// use lockshift_wire::Key;
    /// for name in ["orders", "user:{7}", "{", "}", "a{}b", ""] {
    ///     let key = Key::from(name);
    ///     assert_eq!(key.sibling("readers").slot(), key.slot(), "{key}");
    /// }
    /// ```
    #[must_use]
    pub fn sibling(&self, suffix: &str) -> Self {
        let name = self.as_bytes();
        let prefix: Vec<u8> = if hash_tag(name).is_some() {
            name.to_vec()
        } else if !name.is_empty() && !name.contains(&b'}') {
            [b"{", name, b"}"].concat()
        } else {
            [number_in_slot(self.slot()).as_bytes(), name].concat()
        };
        Self::new([prefix.as_slice(), b":", suffix.as_bytes()].concat())
    }
}

/// What stands between the first `{` and the first `}` behind it, unless that is nothing.
fn hash_tag(name: &[u8]) -> Option<&[u8]> {
    let open = name.iter().position(|&byte| byte == b'{')?;
    let length = name[open + 1..].iter().position(|&byte| byte == b'}')?;
    (length > 0).then(|| &name[open + 1..open + 1 + length])
}

/// `{n}` for the smallest number n of this slot. Every slot has one below 200,000.
fn number_in_slot(slot: u16) -> alloc::string::String {
    (0_u32..)
        .map(|number| format!("{{{number}}}"))
        .find(|tag| crc16(&tag.as_bytes()[1..tag.len() - 1]) % 16384 == slot)
        .expect("decimal numbers reach every slot")
}

/// CRC-16/XMODEM, as Redis Cluster uses it.
fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc, &byte| {
        (0..8).fold(crc ^ u16::from(byte) << 8, |crc, _| if crc & 0x8000 == 0 { crc << 1 } else { crc << 1 ^ 0x1021 })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_those_of_the_specification() {
        assert_eq!(crc16(b"123456789"), 0x31c3);
        for (name, slot) in [("foo", 12182), ("{user1000}.following", 3443), ("foo{}{bar}", 8363), ("", 0)] {
            assert_eq!(Key::from(name).slot(), slot, "{name}");
        }
    }

    /// Its own hash tag, else the name in braces, else the smallest number of its slot in braces before the name.
    #[test]
    fn a_sibling_lives_in_the_slot_of_its_key() {
        for (name, sibling) in [
            ("orders", "{orders}:s"),
            ("user:{7}", "user:{7}:s"),
            ("{", "{{}:s"),
            ("", "{3560}:s"),
            ("}", "{5305}}:s"),
            ("a{}b", "{3991}a{}b:s"),
        ] {
            let key = Key::from(name);
            assert_eq!(key.sibling("s"), Key::from(sibling));
            assert_eq!(key.sibling("s").slot(), key.slot(), "{name}");
        }
    }

    #[test]
    fn every_slot_has_a_number_below_200_000() {
        let mut missing = alloc::vec![true; 16384];
        for number in 0..200_000_u32 {
            missing[usize::from(crc16(format!("{number}").as_bytes()) % 16384)] = false;
        }
        assert!(!missing.contains(&true));
    }
}
