//! How a program makes a key of the name that its caller gives.

use alloc::vec::Vec;
use core::fmt;

use lockshift_wire::Key;

/// How a program makes a key of the name that its caller gives: npm's redis-lock locks `lock.NAME`.
///
/// ```
/// use lockshift_legacy::find;
/// use lockshift_wire::Key;
///
/// let row = find("npm-redis-lock").expect("the catalogue has it");
/// assert_eq!(row.key.to_string(), "lock.NAME");
/// assert_eq!(row.key.key_of(b"orders"), Key::from("lock.orders"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KeyName {
    /// What stands before the name.
    pub before: &'static str,
    /// What stands behind the name.
    pub behind: &'static str,
}

impl KeyName {
    /// The name itself.
    pub const PLAIN: Self = Self::around("", "");

    /// The name behind a prefix.
    pub const fn prefixed(before: &'static str) -> Self {
        Self::around(before, "")
    }

    /// The name before a suffix.
    pub const fn suffixed(behind: &'static str) -> Self {
        Self::around("", behind)
    }

    /// The name between a prefix and a suffix.
    pub const fn around(before: &'static str, behind: &'static str) -> Self {
        Self { before, behind }
    }

    /// The key that a program with this rule uses for `name`.
    pub fn key_of(&self, name: &[u8]) -> Key {
        let bytes: Vec<u8> = [self.before.as_bytes(), name, self.behind.as_bytes()].concat();
        Key::new(bytes)
    }

    /// Whether a program with this rule could use this key.
    pub fn fits(&self, key: &[u8]) -> bool {
        key.len() >= self.before.len() + self.behind.len()
            && key.starts_with(self.before.as_bytes())
            && key.ends_with(self.behind.as_bytes())
    }

    /// This key, or the key of this name where `key` does not begin with the prefix.
    pub(crate) fn completed(&self, key: Key) -> Key {
        if key.as_bytes().starts_with(self.before.as_bytes()) { key } else { self.key_of(key.as_bytes()) }
    }
}

impl fmt::Display for KeyName {
    /// `lock.NAME`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}NAME{}", self.before, self.behind)
    }
}
