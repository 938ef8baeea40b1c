//! The names of clients in what they write: found in any text, and exchanged for others.
//!
//! A client that the scene gives no identity gets one with a mark in it: a token whose last six bytes are a sign, its
//! place and its round, and a process id that no stamp looks like. A protocol may write the token as hex, as a UUID or as
//! bytes; the mark is found in each.

use crate::lock::{Owner, Token};

/// What stands before place and round in a token.
const SIGN: [u8; 4] = [0xc1, 0x1e, 0x9d, 0xb7];
/// The process id of the client at place 0.
const FIRST_PID: u32 = 4_100_000;

/// The first byte of a token: a letter in hex, as most random ones do not look like a number.
pub(super) const USUAL_HEAD: u8 = 0xe7;

/// The identity of the client at this place, whose token begins with this byte.
pub(super) fn owner(place: usize, head: u8) -> Owner {
    let place = u8::try_from(place).unwrap_or(u8::MAX);
    let token = Token::new([head, 0x5a, 0, 0, 0, 0, 0, 0, 0, 0, SIGN[0], SIGN[1], SIGN[2], SIGN[3], place, 0]);
    Owner::new(token, FIRST_PID + u32::from(place), 1)
}

/// An exchange of names.
pub(super) struct Renaming<'a> {
    /// Who becomes whom.
    pub(super) place: &'a dyn Fn(u8) -> u8,
}

impl Renaming<'_> {
    /// The text with every name in it exchanged.
    pub(super) fn text(&self, text: &[u8]) -> Vec<u8> {
        let mut renamed = text.to_vec();
        for at in 0..text.len() {
            self.hex_at(text, at, &mut renamed);
            self.bytes_at(text, at, &mut renamed);
            self.pid_at(text, at, &mut renamed);
        }
        renamed
    }

    fn hex_at(&self, text: &[u8], at: usize, renamed: &mut [u8]) {
        const DIGITS: usize = 2 * SIGN.len();
        let Some(mark) = text.get(at..at + DIGITS + 2) else { return };
        let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        let byte = |index: usize| Some(digit(mark[2 * index])? << 4 | digit(mark[2 * index + 1])?);
        if (0..SIGN.len()).any(|index| byte(index) != Some(SIGN[index])) {
            return;
        }
        let Some(place) = byte(SIGN.len()) else { return };
        let upper = mark.iter().any(u8::is_ascii_uppercase);
        let there = (self.place)(place);
        let shown = if upper { format!("{there:02X}") } else { format!("{there:02x}") };
        renamed[at + DIGITS..at + DIGITS + 2].copy_from_slice(shown.as_bytes());
    }

    fn bytes_at(&self, text: &[u8], at: usize, renamed: &mut [u8]) {
        if let Some([sign @ .., place]) = text.get(at..=at + SIGN.len())
            && sign == SIGN
        {
            renamed[at + SIGN.len()] = (self.place)(*place);
        }
    }

    fn pid_at(&self, text: &[u8], at: usize, renamed: &mut [u8]) {
        const DIGITS: usize = 7;
        let Some(digits) = text.get(at..at + DIGITS) else { return };
        let is_digit = |index: Option<usize>| index.and_then(|index| text.get(index)).is_some_and(u8::is_ascii_digit);
        let alone = !is_digit(at.checked_sub(1)) && !is_digit(Some(at + DIGITS));
        let pid = std::str::from_utf8(digits).ok().filter(|_| alone).and_then(|digits| digits.parse::<u32>().ok());
        let place = pid.and_then(|pid| pid.checked_sub(FIRST_PID)).and_then(|place| u8::try_from(place).ok());
        if let Some(place) = place {
            let there = FIRST_PID + u32::from((self.place)(place));
            renamed[at..at + DIGITS].copy_from_slice(there.to_string().as_bytes());
        }
    }
}
