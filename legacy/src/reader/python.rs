//! Python: `float(value)` and `int(value)` of a byte string, which refuse what they do not understand to the end.
//! Not covered: a client that decodes values to `str` first, where digits and spaces of all scripts count as well.

use alloc::borrow::Cow;

use super::{Comparison, Number, decimal};

/// Python 2: `float(value)`.
pub(super) fn float(value: &[u8]) -> Option<Number> {
    let text = decimal::trim(value);
    let word = &text[decimal::sign(text)..];
    let float = if decimal::float_len(text) == text.len() && !text.is_empty() {
        decimal::float(text)
    } else if word.eq_ignore_ascii_case(b"nan") {
        f64::NAN
    } else if !(word.eq_ignore_ascii_case(b"inf") || word.eq_ignore_ascii_case(b"infinity")) {
        return None;
    } else if text.starts_with(b"-") {
        f64::NEG_INFINITY
    } else {
        f64::INFINITY
    };
    Some(Number::Float(float))
}

/// Python 3.6 and later: `float(value)`, with underscores between digits.
pub(super) fn float_with_underscores(value: &[u8]) -> Option<Number> {
    float(&without_underscores(value)?)
}

/// Python 2: `int(value)`, which lets spaces stand behind the sign.
pub(super) fn int2(value: &[u8]) -> Option<Number> {
    let text = decimal::trim(value);
    let (sign, digits) = text.split_at(decimal::sign(text));
    let digits = decimal::trim_start(digits);
    match decimal::sign(digits) {
        0 => decimal::int(&[sign, digits].concat()).map(Number::Int),
        _ => None,
    }
}

/// Python 2: `long(value)`: as `int(value)`, with one `L` allowed at the end.
pub(super) fn long2(value: &[u8]) -> Option<Number> {
    let text = decimal::trim(value);
    match text {
        [digits @ .., b'l' | b'L'] if digits.last().is_some_and(u8::is_ascii_digit) => int2(digits),
        _ => int2(text),
    }
}

/// Python 3.6 and later: `int(value)`, with underscores between digits.
pub(super) fn int3(value: &[u8]) -> Option<Number> {
    decimal::int(decimal::trim(&without_underscores(value)?)).map(Number::Int)
}

/// Python 2: a string beside a number, without a cast. Numbers come before everything else.
pub(super) fn str_beside_number(_value: &[u8], _now: Number) -> Comparison {
    Comparison::Greater
}

/// `value` without its underscores; `None` if one of them is not between two digits.
fn without_underscores(value: &[u8]) -> Option<Cow<'_, [u8]>> {
    if !value.contains(&b'_') {
        return Some(Cow::Borrowed(value));
    }
    let between_digits = |index: usize| {
        let digit = |neighbour: Option<usize>| neighbour.and_then(|at| value.get(at)).is_some_and(u8::is_ascii_digit);
        digit(index.checked_sub(1)) && digit(index.checked_add(1))
    };
    let misplaced = value.iter().enumerate().any(|(index, byte)| *byte == b'_' && !between_digits(index));
    (!misplaced).then(|| value.iter().copied().filter(|byte| *byte != b'_').collect())
}
