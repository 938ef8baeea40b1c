//! JavaScript: `parseInt`, `parseFloat` and the coercion of a string beside a number. All numbers are floats, and
//! what is not a number is NaN: nothing raises, and no function here gives `None`.

use alloc::string::String;

use super::{Number, decimal};

/// `parseInt(value, 10)`.
pub(super) fn parse_int_10(value: &[u8]) -> Option<Number> {
    let value = String::from_utf8_lossy(value);
    let text = value.trim_start_matches(is_space).as_bytes();
    Some(Number::Float(decimal_prefix(text, decimal::int_len(text))))
}

/// `parseInt(value)`, which reads `0x…` as hexadecimal.
pub(super) fn parse_int(value: &[u8]) -> Option<Number> {
    let decoded = String::from_utf8_lossy(value);
    let (sign, text) = {
        let text = decoded.trim_start_matches(is_space).as_bytes();
        text.split_at(decimal::sign(text))
    };
    let [b'0', b'x' | b'X', hex @ ..] = text else {
        return parse_int_10(value);
    };
    let magnitude = radix_prefix(hex, 4).map_or(f64::NAN, |(magnitude, _)| magnitude);
    Some(Number::Float(if sign == b"-" { -magnitude } else { magnitude }))
}

/// `parseFloat(value)`.
pub(super) fn parse_float(value: &[u8]) -> Option<Number> {
    let value = String::from_utf8_lossy(value);
    let text = value.trim_start_matches(is_space).as_bytes();
    let float = match infinity(text) {
        Some((infinity, _)) => infinity,
        None => decimal_prefix(text, decimal::float_len(text)),
    };
    Some(Number::Float(float))
}

/// `Number(value)`: what `value < now` and `value == now` do to a string.
pub(super) fn coerce(value: &[u8]) -> Option<Number> {
    let value = String::from_utf8_lossy(value);
    let text = value.trim_matches(is_space).as_bytes();
    let whole = match text {
        [] => Some((0.0, text)),
        [b'0', b'x' | b'X', digits @ ..] => radix_prefix(digits, 4),
        [b'0', b'o' | b'O', digits @ ..] => radix_prefix(digits, 3),
        [b'0', b'b' | b'B', digits @ ..] => radix_prefix(digits, 1),
        _ => infinity(text).or_else(|| {
            let (number, rest) = text.split_at(decimal::float_len(text));
            Some((decimal_prefix(number, number.len()), rest))
        }),
    };
    Some(Number::Float(match whole {
        Some((number, [])) => number,
        _ => f64::NAN,
    }))
}

/// The first `len` bytes of `text` as a decimal; NaN if there are none.
fn decimal_prefix(text: &[u8], len: usize) -> f64 {
    if len == 0 { f64::NAN } else { decimal::float(&text[..len]) }
}

/// The `Infinity` that `text` starts with, and what follows it.
fn infinity(text: &[u8]) -> Option<(f64, &[u8])> {
    let (sign, word) = text.split_at(decimal::sign(text));
    let rest = word.strip_prefix(b"Infinity")?;
    Some((if sign == b"-" { f64::NEG_INFINITY } else { f64::INFINITY }, rest))
}

/// The digits of `bits` bits each that `text` starts with, as the nearest float, and what follows them.
fn radix_prefix(text: &[u8], bits: u32) -> Option<(f64, &[u8])> {
    let digit = |byte: &u8| char::from(*byte).to_digit(1 << bits);
    let (mut significand, mut exponent, mut len) = (0_u128, 0_i32, 0);
    for digit in text.iter().map_while(digit) {
        if significand >> 120 == 0 {
            significand = significand << bits | u128::from(digit);
        } else {
            // Far below the last bit of a float: all that counts is whether the rest is zero.
            significand |= u128::from(digit != 0);
            exponent = exponent.saturating_add(bits as i32);
        }
        len += 1;
    }
    (len > 0).then(|| (libm::ldexp(significand as f64, exponent), &text[len..]))
}

/// ECMAScript's white space and line terminators: Unicode's, with the byte order mark and without U+0085.
fn is_space(char: char) -> bool {
    char == '\u{feff}' || (char != '\u{85}' && char.is_whitespace())
}
