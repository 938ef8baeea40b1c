//! One word of a command.

use alloc::vec::Vec;
use core::fmt;
use core::hash::{Hash, Hasher};
use core::ops::{Deref, DerefMut};

use smallvec::SmallVec;

use crate::Printable;

/// One word of a command, as bytes: its name, or an argument. A short one is kept in place, because commands are made by
/// the million and most of their words are names, keys, numbers and tokens.
#[derive(Clone, Default, Eq)]
pub struct CommandWord(SmallVec<[u8; IN_PLACE]>);

/// The length of a UUID and a little more; the whole takes 48 bytes.
const IN_PLACE: usize = 40;

impl CommandWord {
    /// The bytes.
    #[inline]
    pub fn as_slice(&self) -> &[u8] {
        &self.0
    }
}

impl Deref for CommandWord {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl DerefMut for CommandWord {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
}

impl AsRef<[u8]> for CommandWord {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl From<&[u8]> for CommandWord {
    #[inline]
    fn from(bytes: &[u8]) -> Self {
        Self(SmallVec::from_slice(bytes))
    }
}

impl From<Vec<u8>> for CommandWord {
    fn from(bytes: Vec<u8>) -> Self {
        if bytes.len() <= IN_PLACE { Self::from(bytes.as_slice()) } else { Self(SmallVec::from_vec(bytes)) }
    }
}

impl From<&str> for CommandWord {
    fn from(text: &str) -> Self {
        Self::from(text.as_bytes())
    }
}

impl<const N: usize> From<&[u8; N]> for CommandWord {
    fn from(bytes: &[u8; N]) -> Self {
        Self::from(bytes.as_slice())
    }
}

impl From<CommandWord> for Vec<u8> {
    fn from(word: CommandWord) -> Self {
        word.0.into_vec()
    }
}

impl<B: AsRef<[u8]> + ?Sized> PartialEq<B> for CommandWord {
    fn eq(&self, other: &B) -> bool {
        **self == *other.as_ref()
    }
}

impl PartialEq<CommandWord> for Vec<u8> {
    fn eq(&self, other: &CommandWord) -> bool {
        **self == **other
    }
}

impl Hash for CommandWord {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        (**self).hash(hasher);
    }
}

impl fmt::Debug for CommandWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", Printable(self))
    }
}
