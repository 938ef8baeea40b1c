//! Go: `strconv.ParseInt(value, 10, 64)`, and what a caller gets who uses the number although there was an error.

use core::num::IntErrorKind;
use core::str;

use super::{Number, decimal};

/// The number, or the error.
pub(super) fn parse_int(value: &[u8]) -> Option<Number> {
    decimal::int64(value).map(|int| Number::Int(i128::from(int)))
}

/// The number even where the error is `ErrRange`, which comes with the end of 64 bits that was passed.
pub(super) fn parse_int_clamped(value: &[u8]) -> Option<Number> {
    let (sign, magnitude) = value.split_at(decimal::sign(value));
    if decimal::digits(magnitude) == 0 {
        return None;
    }
    // As in Go, the digits are read as unsigned first, and what follows an overflow of that is never looked at.
    let magnitude = match str::from_utf8(magnitude).ok()?.parse::<u64>() {
        Ok(magnitude) => magnitude,
        Err(error) if *error.kind() == IntErrorKind::PosOverflow => u64::MAX,
        Err(_) => return None,
    };
    let int = if sign == b"-" { -i128::from(magnitude) } else { i128::from(magnitude) };
    Some(Number::Int(int.clamp(i128::from(i64::MIN), i128::from(i64::MAX))))
}
