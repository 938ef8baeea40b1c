//! C#: `long.TryParse` in the invariant culture, eight bytes in the machine's (little-endian) order, and the text of
//! a `DateTime`. Of the many spellings that `DateTime.Parse` takes, only the one that its writer uses is read here.

use core::str;

use super::{Number, decimal};

/// `long.TryParse(value, out n)`: whitespace around it and NUL characters after it are allowed.
pub(super) fn try_parse(value: &[u8]) -> Option<Number> {
    let nuls = value.iter().rev().take_while(|byte| **byte == 0).count();
    let text = decimal::trim(&value[..value.len() - nuls]);
    decimal::int64(text).map(|int| Number::Int(i128::from(int)))
}

/// A JSON string without its quotes; what is not one, as it is. Escapes are not resolved: none of them is a digit's.
pub(super) fn unquoted(value: &[u8]) -> &[u8] {
    match value {
        [b'"', inner @ .., b'"'] => inner,
        _ => value,
    }
}

/// `long.Parse(value)` with `default` in the place of an exception. Never `None`.
pub(super) fn parse_or_zero(value: &[u8]) -> Option<Number> {
    try_parse(value).or(Some(Number::Int(0)))
}

/// `BitConverter.ToInt64(value, 0)`: throws below eight bytes, and does not look at a ninth.
pub(super) fn first_eight_bytes(value: &[u8]) -> Option<Number> {
    value.first_chunk().map(|bytes| Number::Int(i128::from(i64::from_le_bytes(*bytes))))
}

/// `DateTime.Parse(value)` with `DateTime.MinValue` in the place of an exception, as milliseconds since 1970 on the
/// same clock, which is the host's local one. Never `None`.
pub(super) fn date_time(value: &[u8]) -> Option<Number> {
    const MIN_VALUE_MS: i64 = -62_135_596_800_000;
    let millis = str::from_utf8(value).ok().and_then(parse_date_time).unwrap_or(MIN_VALUE_MS);
    Some(Number::Int(i128::from(millis)))
}

/// `yyyy-MM-dd HH:mm:ss.fff`, the fraction of one to seven digits or absent.
fn parse_date_time(text: &str) -> Option<i64> {
    let (date, time) = text.trim().split_once(' ')?;
    let (time, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let [year, month, day] = fields(date, '-', [4, 2, 2])?;
    let [hour, minute, second] = fields(time, ':', [2, 2, 2])?;
    if hour >= 24 || minute >= 60 || second >= 60 || fraction.len() > 7 {
        return None;
    }
    let [ticks] = fields(fraction, '.', [fraction.len()])?;
    let millis = ticks * 1000 / 10_i64.pow(fraction.len() as u32);
    Some((((days_since_1970(year, month, day)? * 24 + hour) * 60 + minute) * 60 + second) * 1000 + millis)
}

/// The decimal fields of `text`, each of exactly so many digits.
fn fields<const N: usize>(text: &str, separator: char, lens: [usize; N]) -> Option<[i64; N]> {
    let mut parts = text.split(separator);
    let mut fields = [0; N];
    for (field, len) in fields.iter_mut().zip(lens) {
        let digits = parts.next().filter(|part| part.len() == len && part.bytes().all(|byte| byte.is_ascii_digit()))?;
        *field = digits.parse().ok()?;
    }
    parts.next().is_none().then_some(fields)
}

/// Days from 1970-01-01 to a day of the Gregorian calendar; `None` if no such day exists.
fn days_since_1970(year: i64, month: i64, day: i64) -> Option<i64> {
    let leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    let lengths = [31, if leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let month = usize::try_from(month).ok()?.checked_sub(1)?;
    if year < 1 || day < 1 || day > *lengths.get(month)? {
        return None;
    }
    let past = year - 1;
    let days_to_year = past * 365 + past / 4 - past / 100 + past / 400;
    let days_to_month: i64 = lengths[..month].iter().sum();
    Some(days_to_year + days_to_month + day - 1 - 719_162)
}
