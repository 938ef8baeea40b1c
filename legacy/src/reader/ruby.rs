//! Ruby: `String#to_i` and `String#to_f`, which read as far as they understand and never raise.
//! Not covered: the hexadecimal that `to_f` reads behind a sign (`"+0x1A".to_f` is 26.0, `"0x1A".to_f` is 0.0).

use alloc::string::String;
use core::str;

use super::{Number, decimal};

/// `value.to_i`: underscores between digits are skipped, and `0d` may announce a decimal. Never `None`.
pub(super) fn to_i(value: &[u8]) -> Option<Number> {
    let text = decimal::trim_start(value);
    let (sign, text) = text.split_at(decimal::sign(text));
    let text = match text {
        [b'0', b'd' | b'D', rest @ ..] => rest,
        _ => text,
    };
    let mut int = sign_of(sign);
    push_digits(&mut int, text);
    Some(Number::Int(decimal::int(int.as_bytes()).unwrap_or(0)))
}

/// `value.to_f`: underscores between digits are skipped, and a point counts only before a digit. Never `None`.
pub(super) fn to_f(value: &[u8]) -> Option<Number> {
    let text = decimal::trim_start(value);
    let (sign, text) = text.split_at(decimal::sign(text));
    let mut float = sign_of(sign);
    let mut rest = push_digits(&mut float, text);
    if let [b'.', fraction @ ..] = rest
        && decimal::digits(fraction) > 0
    {
        float.push('.');
        rest = push_digits(&mut float, fraction);
    }
    if float.len() == sign.len() {
        return Some(Number::Float(0.0));
    }
    if decimal::exponent_len(rest) > 0 {
        let (exponent, digits) = rest.split_at(1 + decimal::sign(&rest[1..]));
        float.extend(exponent.iter().map(|byte| char::from(*byte)));
        push_digits(&mut float, digits);
    }
    Some(Number::Float(decimal::float(float.as_bytes())))
}

/// `value.split('-').first.to_i`: the leading number of `sec-pid-tid`; of a value that starts with `-`, 0. `split`
/// raises if the value is not UTF-8.
pub(super) fn before_dash(value: &[u8]) -> Option<Number> {
    let text = str::from_utf8(value).ok()?;
    to_i(text.split('-').next().unwrap_or_default().as_bytes())
}

fn sign_of(sign: &[u8]) -> String {
    sign.iter().map(|byte| char::from(*byte)).collect()
}

/// Appends the digits that `text` starts with, single underscores between them left out; returns what follows them.
fn push_digits<'a>(number: &mut String, mut text: &'a [u8]) -> &'a [u8] {
    loop {
        let (digits, rest) = text.split_at(decimal::digits(text));
        number.extend(digits.iter().map(|byte| char::from(*byte)));
        match rest {
            [b'_', next @ ..] if !digits.is_empty() && decimal::digits(next) > 0 => text = next,
            _ => return rest,
        }
    }
}
