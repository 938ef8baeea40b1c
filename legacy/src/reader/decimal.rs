//! ASCII decimals as the C library and its heirs spell them: what the grammars of all languages have in common.
//! Lengths first, then the numbers of texts that were measured so.

use core::num::IntErrorKind;
use core::str;

use super::Number;

/// How many digits `text` starts with.
pub(super) fn digits(text: &[u8]) -> usize {
    text.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

/// Length of the sign that `text` starts with: 0 or 1.
pub(super) fn sign(text: &[u8]) -> usize {
    usize::from(matches!(text.first(), Some(b'+' | b'-')))
}

/// Length of the longest `[+-]? d+` at the start of `text`; 0 if it has none.
pub(super) fn int_len(text: &[u8]) -> usize {
    let sign = sign(text);
    match digits(&text[sign..]) {
        0 => 0,
        digits => sign + digits,
    }
}

/// Length of the longest `[+-]? (d+ [. d*] | . d+) ([eE] [+-]? d+)?` at the start of `text`; 0 if it has none.
pub(super) fn float_len(text: &[u8]) -> usize {
    let sign = sign(text);
    let whole = digits(&text[sign..]);
    let mut len = sign + whole;
    if text.get(len) == Some(&b'.') {
        let fraction = digits(&text[len + 1..]);
        if whole + fraction > 0 {
            len += 1 + fraction;
        }
    }
    if len == sign {
        return 0;
    }
    len + exponent_len(&text[len..])
}

/// Length of the `[eE] [+-]? d+` that `text` starts with; 0 if it has none.
pub(super) fn exponent_len(text: &[u8]) -> usize {
    match text.first() {
        Some(b'e' | b'E') => match int_len(&text[1..]) {
            0 => 0,
            exponent => 1 + exponent,
        },
        _ => 0,
    }
}

/// The integer that the whole of `text` spells as `[+-]? d+`, at the ends of 128 bits if it is beyond them.
pub(super) fn int(text: &[u8]) -> Option<i128> {
    if int_len(text) != text.len() {
        return None;
    }
    match str::from_utf8(text).ok()?.parse() {
        Ok(int) => Some(int),
        Err(error) => match error.kind() {
            IntErrorKind::PosOverflow => Some(i128::MAX),
            IntErrorKind::NegOverflow => Some(i128::MIN),
            _ => None,
        },
    }
}

/// The integer that the whole of `text` spells as `[+-]? d+`, if 64 bits hold it: Java's `long`, Go's `int64`.
pub(super) fn int64(text: &[u8]) -> Option<i64> {
    str::from_utf8(text).ok()?.parse().ok()
}

/// The float nearest to a `text` whose whole length is its [`float_len`].
pub(super) fn float(text: &[u8]) -> f64 {
    debug_assert_eq!(float_len(text), text.len());
    str::from_utf8(text).ok().and_then(|text| text.parse().ok()).unwrap_or(f64::NAN)
}

/// `text` without ASCII whitespace at its start: space, tab, line feed, vertical tab, form feed, carriage return.
pub(super) fn trim_start(text: &[u8]) -> &[u8] {
    let spaces = text.iter().take_while(|byte| is_space(**byte)).count();
    &text[spaces..]
}

/// `text` without ASCII whitespace at both ends.
pub(super) fn trim(text: &[u8]) -> &[u8] {
    let text = trim_start(text);
    let spaces = text.iter().rev().take_while(|byte| is_space(**byte)).count();
    &text[..text.len() - spaces]
}

/// C's `isspace`, which also counts the vertical tab (Rust's ASCII whitespace does not).
pub(super) fn is_space(byte: u8) -> bool {
    matches!(byte, b'\t'..=b'\r' | b' ')
}

/// A decimal integer and nothing else, in 128 bits: the reader of a specification that names no language.
pub(super) fn plain(value: &[u8]) -> Option<Number> {
    match value.iter().all(u8::is_ascii_digit) {
        true => int(value).map(Number::Int),
        false => None,
    }
}
