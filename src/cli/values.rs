//! Argument values that several subcommands parse in the same way: keys, lengths of time, leases.

use std::ffi::OsString;
use std::num::NonZeroU32;
use std::time::Duration;

use clap::builder::{OsStringValueParser, TypedValueParser};

use crate::lock::Lease;
use crate::wire::Key;

/// A key: whatever bytes were typed, or those that `$'...'` quotes, as keys are shown.
pub(super) fn key() -> impl TypedValueParser<Value = Key> {
    OsStringValueParser::new().map(|typed: OsString| Key::of_text(typed.into_encoded_bytes()))
}

/// A length of time: `30s`, `500ms`, `1m 30s`.
pub(super) fn length(typed: &str) -> Result<Duration, humantime::DurationError> {
    humantime::parse_duration(typed)
}

/// A lease: a length of time that Redis can count.
pub(super) fn lease(typed: &str) -> Result<Lease, String> {
    let length = length(typed).map_err(|error| error.to_string())?;
    let lease = Lease::new(length).map_err(|error| error.to_string())?;
    if lease.validity().is_zero() {
        return Err(format!("a lease of {length:?} cannot be relied on: two clocks may drift as far apart meanwhile"));
    }
    Ok(lease)
}

/// A number that is not 0.
pub(super) fn at_least_one(typed: &str) -> Result<NonZeroU32, String> {
    typed.parse().map_err(|_| format!("a whole number from 1 to {}", u32::MAX))
}

/// A number of bytes: `65536`, `64K`, `256M`, `1G`, in powers of 1024.
pub(super) fn size(typed: &str) -> Result<u64, String> {
    let (digits, unit) = match typed.char_indices().next_back() {
        Some((at, 'K' | 'k')) => (&typed[..at], 1 << 10),
        Some((at, 'M' | 'm')) => (&typed[..at], 1 << 20),
        Some((at, 'G' | 'g')) => (&typed[..at], 1 << 30),
        _ => (typed, 1),
    };
    let size = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(unit)).filter(|size| *size > 0);
    size.ok_or_else(|| "a number of bytes, as in 65536, 64K, 256M or 1G".to_owned())
}

#[test]
fn sizes_as_people_write_them() {
    for (typed, bytes) in [("1", 1), ("64K", 65_536), ("64k", 65_536), ("256M", 268_435_456), ("1G", 1_073_741_824)] {
        assert_eq!(size(typed), Ok(bytes), "{typed}");
    }
    for typed in ["", "0", "K", "-1", "1T", "1.5M", "99999999999G", "1 M"] {
        assert!(size(typed).is_err(), "{typed}");
    }
}

#[test]
fn lengths_of_time_as_people_write_them() {
    for (typed, millis) in [("30s", 30_000), ("500ms", 500), ("1m 30s", 90_000), ("2h", 7_200_000)] {
        assert_eq!(length(typed), Ok(Duration::from_millis(millis)), "{typed}");
    }
    for typed in ["", "30", "s", "-1s", "1 parsec", "99999999999999999999s"] {
        assert!(length(typed).is_err(), "{typed}");
    }
}

#[test]
fn a_lease_is_neither_nothing_nor_for_ever() {
    assert_eq!(lease("0s").unwrap_err(), "a lease of 0ns is too short: the shortest is 1 ms");
    assert!(
        lease("9223372036854775808s")
            .unwrap_err()
            .ends_with("is too long: the longest is 3153600000s, 100 years of 365 days")
    );
    assert!(lease("584554530871years").is_err());
    assert!(lease("2ms").unwrap_err().starts_with("a lease of 2ms cannot be relied on"));
    assert_eq!(lease("3ms").unwrap().length(), Duration::from_millis(3));
}
