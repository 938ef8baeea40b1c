//! The owner of a lock: the identity that the host supplies, because no protocol draws its own.

use alloc::format;
use alloc::string::String;
use core::fmt;

/// 128 bits that no other owner has: drawn at random by the host, chosen by the explorer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token([u8; 16]);

impl Token {
    /// The token of these 16 bytes.
    pub const fn new(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// Its 16 bytes.
    pub const fn bytes(self) -> [u8; 16] {
        self.0
    }

    /// The token of these 32 lower-case hex digits, if they are such.
    pub fn of_hex(digits: &[u8]) -> Option<Self> {
        let value = |digit: &u8| match digit {
            b'0'..=b'9' => Some(digit - b'0'),
            b'a'..=b'f' => Some(digit - b'a' + 10),
            _ => None,
        };
        let mut bytes = [0; 16];
        if digits.len() != 2 * bytes.len() {
            return None;
        }
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks(2)) {
            *byte = value(&pair[0])? << 4 | value(&pair[1])?;
        }
        Some(Self(bytes))
    }

    /// 32 lower-case hex digits: what the token lock writes into the key.
    pub fn hex(self) -> String {
        hex(self.0)
    }

    /// The same digits in place: protocols write them on every rerun.
    pub fn hex_digits(self) -> [u8; 32] {
        hex_digits(self.0)
    }

    /// The token as a version 4 UUID, 36 characters: six of its bits give way to version and variant.
    pub fn uuid(self) -> String {
        let mut bytes = self.0;
        bytes[6] = bytes[6] & 0x0f | 0x40;
        bytes[8] = bytes[8] & 0x3f | 0x80;
        let hex = hex(bytes);
        format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
    }
}

fn hex(bytes: [u8; 16]) -> String {
    str::from_utf8(&hex_digits(bytes)).expect("hex digits are ASCII").into()
}

/// Two lower-case hex digits a byte. Protocols ask for this on every rerun, and `format!` takes several times as long. Without a
/// table, all digits are found at once.
fn hex_digits(bytes: [u8; 16]) -> [u8; 32] {
    let digit = |value: u8| value + if value < 10 { b'0' } else { b'a' - 10 };
    let mut digits = [0; 32];
    for (pair, byte) in digits.chunks_exact_mut(2).zip(bytes) {
        pair.copy_from_slice(&[digit(byte >> 4), digit(byte & 15)]);
    }
    digits
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Token({})", self.hex())
    }
}

/// The client that acquires a lock. Each protocol writes the part that its format knows: a token, a process and thread, or nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Owner {
    /// Fresh for every attempt. Only a waiter that has a place in a queue keeps its token until it wins or leaves.
    pub token: Token,
    /// The same for all acquisitions of one program: with the thread, it makes a re-entrant owner.
    pub instance: Token,
    /// The process id.
    pub pid: u32,
    /// A number of the thread or task within the process.
    pub thread: u64,
    /// How many holds of a re-entrant lock this thread already has, as its program counts them. A
    /// [disclaim](crate::Locker::disclaim) does not release them.
    pub entries: u32,
}

impl Owner {
    /// The owner of this token in a program that acquires nothing else: its instance has the same name.
    pub const fn new(token: Token, pid: u32, thread: u64) -> Self {
        Self { token, instance: token, pid, thread, entries: 0 }
    }

    /// `<uuid>:<thread>`: one name for all that this thread of this program acquires, as re-entrant locks write it.
    pub fn thread_name(&self) -> String {
        format!("{}:{}", self.instance.uuid(), self.thread)
    }
}
