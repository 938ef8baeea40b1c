//! PHP: loose comparison of a string with a number, in version 7 and in version 8, and the `(int)` cast; on 64 bits.
//! PHP 5 compares as PHP 7 does, but for `0x…`, which it reads as hexadecimal. Not covered: an integer of 19 digits
//! beyond 64 bits before a dangling exponent (`9223372036854775808e+`), which overflows inside PHP.

use alloc::format;
use alloc::string::{String, ToString};

use super::{Comparison, Number, decimal};

/// PHP 7: the number that the text begins with, 0 if it begins with none. Never `None`.
pub(super) fn leading_number(value: &[u8]) -> Option<Number> {
    Some(numeric(value).map_or(Number::Int(0), |(number, _)| number))
}

/// PHP 8: the number of a *numeric string*, which may have whitespace around it and nothing else.
pub(super) fn numeric_string(value: &[u8]) -> Option<Number> {
    let (number, rest) = numeric(value)?;
    decimal::trim(rest).is_empty().then_some(number)
}

/// PHP 8: a text that is not a number is compared byte by byte with the decimal of now.
pub(super) fn as_text(value: &[u8], now: Number) -> Comparison {
    let now = match now {
        Number::Int(now) => now.to_string(),
        Number::Float(now) => echo(now),
    };
    value.cmp(now.as_bytes()).into()
}

/// `(int) $value` since PHP 7.1, where `"1e3"` is 1000. A float too large for 64 bits stops at their end, but one that
/// became infinite is 0: this is what saves the UUIDs that read as `550e8400`. Never `None`.
pub(super) fn int_cast(value: &[u8]) -> Option<Number> {
    match leading_number(value)? {
        Number::Int(int) => Some(Number::Int(int)),
        Number::Float(float) if float.is_infinite() => Some(Number::Int(0)),
        Number::Float(float) => Some(Number::Int(i128::from(float as i64))),
    }
}

/// Moodle's `is_number($value)`: `(string)(int) $value === $value`, the decimal that PHP itself would print.
pub(super) fn is_number(value: &[u8]) -> Option<Number> {
    let int = decimal::int64(value)?;
    (int.to_string().as_bytes() == value).then_some(Number::Int(i128::from(int)))
}

/// `explode(':', $value)[0]`.
pub(super) fn before_colon(value: &[u8]) -> &[u8] {
    value.split(|byte| *byte == b':').next().unwrap_or_default()
}

/// The number at the start of `value`, and what follows it. Integers beyond 64 bits are floats.
fn numeric(value: &[u8]) -> Option<(Number, &[u8])> {
    let text = decimal::trim_start(value);
    let (int, float) = (decimal::int_len(text), decimal::float_len(text));
    if float == 0 {
        return None;
    }
    let (text, rest) = text.split_at(float);
    let number = match decimal::int64(text).filter(|_| int == float) {
        // PHP compares the digits of the least integer as a C string that does not end here, and finds it too large.
        Some(i64::MIN) if rest.first().is_some_and(|byte| *byte != 0) => Number::Float(i64::MIN as f64),
        Some(int) => Number::Int(i128::from(int)),
        None => Number::Float(decimal::float(text)),
    };
    Some((number, rest))
}

/// A float as `echo` prints it with the shipped `precision = 14`: 14 significant digits, `1.0E+25` beyond them.
fn echo(float: f64) -> String {
    if !float.is_finite() {
        return format!("{float}").to_uppercase();
    }
    let scientific = format!("{float:.13e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits), |digits| ("-", digits));
    let digits = digits.replace('.', "");
    let digits = match digits.trim_end_matches('0') {
        "" => "0",
        digits => digits,
    };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    match exponent {
        -4..0 => format!("{sign}0.{}{digits}", "0".repeat(exponent.unsigned_abs() as usize - 1)),
        0..14 => {
            let whole = exponent.unsigned_abs() as usize + 1;
            match digits.split_at_checked(whole) {
                Some((whole, "")) => format!("{sign}{whole}"),
                Some((whole, fraction)) => format!("{sign}{whole}.{fraction}"),
                None => format!("{sign}{digits:0<whole$}"),
            }
        }
        _ => {
            let (first, more) = digits.split_at(1);
            let more = if more.is_empty() { "0" } else { more };
            format!("{sign}{first}.{more}E{exponent:+}")
        }
    }
}
