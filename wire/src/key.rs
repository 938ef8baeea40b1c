//! The name of a Redis key: bytes, never assumed to be text.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use crate::key_text;

/// The name of a Redis key.
///
/// ```
/// use lockshift_wire::Key;
/// let order = 42;
/// assert_eq!(Key::from(format!("order:{order}")), Key::from("order:42"));
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(Vec<u8>);

impl Key {
    /// A key of these bytes.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Self(bytes.into())
    }

    /// The key that is shown as this text: the bytes themselves, or those that `$'...'` quotes.
    ///
    /// ```
    /// use lockshift_wire::Key;
    /// assert_eq!(Key::of_text("Grüße"), Key::from("Grüße"));
    /// assert_eq!(Key::of_text(r"$'a\xff'"), Key::new(b"a\xff"));
    /// assert_eq!(Key::new(b"a\xff").to_string(), r"$'a\xff'");
    /// ```
    pub fn of_text(text: impl AsRef<[u8]>) -> Self {
        Self(key_text::key(text.as_ref()))
    }

    /// The bytes of the name.
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// This name with `suffix` behind it.
    #[must_use]
    pub fn with_suffix(&self, suffix: &str) -> Self {
        Self([self.0.as_slice(), suffix.as_bytes()].concat())
    }
}

impl From<&str> for Key {
    fn from(name: &str) -> Self {
        Self::new(name)
    }
}

impl From<String> for Key {
    fn from(name: String) -> Self {
        Self::new(name)
    }
}

impl From<&String> for Key {
    fn from(name: &String) -> Self {
        Self::new(name.as_str())
    }
}

impl From<&[u8]> for Key {
    fn from(name: &[u8]) -> Self {
        Self::new(name)
    }
}

impl From<Vec<u8>> for Key {
    fn from(name: Vec<u8>) -> Self {
        Self::new(name)
    }
}

impl AsRef<[u8]> for Key {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Display for Key {
    /// The name as text. What is shown can be passed to [`Key::of_text`].
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        key_text::show(&self.0, f)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key(\"{self}\")")
    }
}
