//! The words that every lock shares: how long a lease may be, what is left of it after drift, and how tokens are written.

use core::time::Duration;

use lockshift_lock::{Hold, Lease, LeaseError, Owner, Token};
use lockshift_wire::{MonoTime, Reading, UnixTime};
use proptest::prelude::*;

const NS: Duration = Duration::from_nanos(1);
const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);
const CENTURY: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

fn lease(length: Duration) -> Lease {
    Lease::new(length).expect("a lease")
}

#[test]
fn a_lease_lasts_from_a_millisecond_to_a_century() {
    for length in [MS, MS + NS, SECOND, CENTURY - NS, CENTURY] {
        assert_eq!(Lease::new(length).map(Lease::length), Ok(length));
    }
    for length in [Duration::ZERO, NS, MS - NS] {
        assert_eq!(Lease::new(length), Err(LeaseError::TooShort(length)));
    }
    for length in [CENTURY + NS, Duration::MAX] {
        assert_eq!(Lease::new(length), Err(LeaseError::TooLong(length)));
    }
}

#[test]
fn an_invalid_lease_is_an_error_that_names_the_bounds() {
    let error = |length| Lease::new(length).unwrap_err().to_string();
    assert_eq!(error(Duration::ZERO), "a lease of 0ns is too short: the shortest is 1 ms");
    assert_eq!(
        error(CENTURY + SECOND),
        "a lease of 3153600001s is too long: the longest is 3153600000s, 100 years of 365 days"
    );
}

/// The lease, the drift of 1 % and 2 ms, and what is left: never less than nothing.
#[test]
fn a_holder_may_count_on_the_lease_less_the_drift() {
    let ms = Duration::from_millis;
    let us = Duration::from_micros;
    let table = [
        (ms(1), us(2_010), ms(0)),
        (ms(2), us(2_020), ms(0)),
        (ms(3), us(2_030), us(970)),
        (ms(1_000), ms(12), ms(988)),
        (ms(10_000), ms(102), ms(9_898)),
        (CENTURY, CENTURY / 100 + ms(2), CENTURY - CENTURY / 100 - ms(2)),
    ];
    for (length, drift, validity) in table {
        assert_eq!((lease(length).drift(), lease(length).validity()), (drift, validity), "{length:?}");
    }
}

#[test]
fn a_hold_counts_from_the_clocks_before_sending() {
    let mono = MonoTime::since_origin(Duration::from_secs(5));
    let wall = UnixTime::from_secs(1_700_000_000).unwrap();
    let since = Reading { wall, mono };
    let hold = Hold { value: vec![], since, lease: lease(10 * SECOND), fence: None };
    assert_eq!(hold.valid_until(), MonoTime::since_origin(Duration::from_millis(14_898)));
    assert_eq!(hold.ends_at(), UnixTime::from_secs(1_700_000_010).unwrap());
}

/// Sixteen bytes, as hexadecimal digits and as a UUID. The version (4) and the variant (8, 9, a or b) stand where every
/// reader of UUIDs looks for them.
#[test]
fn a_token_is_written_in_two_ways() {
    let counting = core::array::from_fn(|index| u8::try_from(index).unwrap() * 0x11);
    let table = [
        ([0; 16], "00000000000000000000000000000000", "00000000-0000-4000-8000-000000000000"),
        ([0xff; 16], "ffffffffffffffffffffffffffffffff", "ffffffff-ffff-4fff-bfff-ffffffffffff"),
        (counting, "00112233445566778899aabbccddeeff", "00112233-4455-4677-8899-aabbccddeeff"),
    ];
    for (bytes, hex, uuid) in table {
        let token = Token::new(bytes);
        assert_eq!((token.hex().as_str(), token.uuid().as_str()), (hex, uuid));
        assert_eq!(token.bytes(), bytes);
        assert_eq!(Token::of_hex(hex.as_bytes()), Some(token));
        assert_eq!(format!("{token:?}"), format!("Token({hex})"));
    }
}

#[test]
fn a_token_is_read_from_its_own_digits_only() {
    let digits = Token::new([0xab; 16]).hex();
    for wrong in ["", "0", &digits[1..], &format!("{digits}0"), &digits.to_uppercase(), &digits.replacen('a', "g", 1)] {
        assert_eq!(Token::of_hex(wrong.as_bytes()), None, "{wrong}");
    }
}

#[test]
fn a_thread_has_one_name_for_all_that_it_acquires() {
    let (token, instance) = (Token::new([0xab; 16]), Token::new([0xcd; 16]));
    let owner = Owner { token, instance, pid: 7, thread: 42, entries: 0 };
    assert_eq!(owner.thread_name(), "cdcdcdcd-cdcd-4dcd-8dcd-cdcdcdcdcdcd:42");
    assert_eq!(Owner { token: instance, ..owner }.thread_name(), owner.thread_name());
    assert_ne!(Owner { thread: 43, ..owner }.thread_name(), owner.thread_name());
}

/// Every length of a lease.
fn any_lease() -> impl Strategy<Value = Lease> {
    (MS.as_nanos()..=CENTURY.as_nanos()).prop_map(|nanos| lease(Duration::from_nanos(u64::try_from(nanos).unwrap())))
}

proptest! {
    #[test]
    fn a_lease_is_rounded_up_by_less_than_a_unit(exact in any_lease(), unit_ms in 1_u64..=60_000) {
        let unit = Duration::from_millis(unit_ms);
        let rounded = exact.rounded_up_to(unit);
        prop_assert!(rounded >= exact);
        prop_assert!(rounded.length() - exact.length() < unit);
        prop_assert!(rounded.length().as_nanos() % unit.as_nanos() == 0 || rounded.length() == CENTURY);
        prop_assert_eq!(rounded.rounded_up_to(unit), rounded);
    }

    #[test]
    fn a_longer_lease_is_never_worth_less(one in any_lease(), other in any_lease()) {
        prop_assert!(one.min(other).validity() <= one.max(other).validity());
        prop_assert!(one.validity() < one.length());
    }

    #[test]
    fn every_bit_of_a_token_is_in_its_digits(bytes in any::<[u8; 16]>()) {
        let hex = Token::new(bytes).hex();
        prop_assert_eq!(hex.len(), 32);
        prop_assert_eq!(u128::from_str_radix(&hex, 16).unwrap().to_be_bytes(), bytes);
    }
}
