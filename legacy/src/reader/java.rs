//! Java: `Long.parseLong`, the `uuid:ms` of jedis-lock, and eight bytes in network order.
//! Not covered: the decimal digits of other scripts, which `Long.parseLong` reads as well.

use alloc::string::String;

use super::{Number, decimal};

/// `Long.parseLong(value)`: a sign, digits and nothing else, within 64 bits.
pub(super) fn parse_long(value: &[u8]) -> Option<Number> {
    decimal::int64(value).map(|int| Number::Int(i128::from(int)))
}

/// `Lock.fromString(value)` of jedis-lock 2015; whatever is not `uuid:ms` is "no lock", expired at 0. Never `None`.
pub(super) fn uuid_and_long(value: &[u8]) -> Option<Number> {
    let value = String::from_utf8_lossy(value);
    let mut parts = value.split(':');
    let (uuid, millis) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    Some(if is_uuid(uuid) { parse_long(millis.as_bytes()).unwrap_or(Number::Int(0)) } else { Number::Int(0) })
}

/// The Java article's `bytesToLong(value)`: throws unless there are exactly eight bytes.
pub(super) fn eight_bytes(value: &[u8]) -> Option<Number> {
    Some(Number::Int(i128::from(i64::from_be_bytes(value.try_into().ok()?))))
}

/// `ByteBuffer.wrap(value).getLong()`: throws below eight bytes, and does not look at a ninth.
pub(super) fn first_eight_bytes(value: &[u8]) -> Option<Number> {
    eight_bytes(value.first_chunk::<8>()?)
}

/// What `UUID.fromString` accepts: five hexadecimal groups of any length, 36 characters at most in all.
fn is_uuid(text: &str) -> bool {
    let hex = |group: &str| i64::from_str_radix(group, 16).is_ok();
    text.encode_utf16().count() <= 36 && text.split('-').count() == 5 && text.split('-').all(hex)
}
