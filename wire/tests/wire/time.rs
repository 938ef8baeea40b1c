//! Arithmetic of moments: exact in the middle, saturating at the ends, rounded so that no holder loses time.

use core::time::Duration;

use lockshift_wire::{MonoTime, UnixTime};
use proptest::prelude::*;

#[test]
fn moments_before_1970_round_down_too() {
    let table = [(0, 0, 0), (1, 0, 0), (-1, -1, -1), (999_999_999, 999, 0), (-1_000_000_000, -1_000, -1)];
    for (nanos, millis, secs) in table {
        let moment = UnixTime::from_nanos(nanos);
        assert_eq!((moment.as_millis(), moment.as_secs()), (millis, secs), "{nanos}");
    }
}

#[test]
fn moments_beyond_2262_are_rejected() {
    assert_eq!(UnixTime::from_secs(i64::MAX / 1_000_000_000).map(UnixTime::as_secs), Some(9_223_372_036));
    assert_eq!(UnixTime::from_secs(i64::MAX / 1_000_000_000 + 1), None);
    assert_eq!(UnixTime::from_millis(i64::MAX / 1_000_000 + 1), None);
    assert_eq!(UnixTime::from_secs(i64::MIN), None);
}

#[test]
fn the_ends_of_time_hold() {
    let end = UnixTime::from_nanos(i64::MAX);
    assert_eq!(end.saturating_add(Duration::from_nanos(1)), end);
    assert_eq!(UnixTime::from_nanos(0).saturating_add(Duration::MAX), end);
    assert_eq!(end.rounded_up_to(Duration::from_secs(1)), end);
    let start = UnixTime::from_nanos(i64::MIN);
    assert_eq!(end.saturating_since(start), Duration::from_nanos(u64::MAX));
    assert_eq!(start.saturating_since(end), Duration::ZERO);
    assert_eq!(start.saturating_sub(Duration::from_nanos(1)), start);
    assert_eq!(UnixTime::from_nanos(0).saturating_sub(Duration::MAX), start);
    assert_eq!(end.saturating_sub(Duration::from_nanos(1)), UnixTime::from_nanos(i64::MAX - 1));
    let last = MonoTime::since_origin(Duration::MAX);
    assert_eq!(last.saturating_add(Duration::from_nanos(1)), last);
}

proptest! {
    #[test]
    fn a_unit_goes_in_and_comes_out(millis in i64::MIN / 1_000_000..=i64::MAX / 1_000_000) {
        prop_assert_eq!(UnixTime::from_millis(millis).map(UnixTime::as_millis), Some(millis));
        let secs = millis / 1_000;
        prop_assert_eq!(UnixTime::from_secs(secs).map(UnixTime::as_secs), Some(secs));
    }

    #[test]
    fn what_is_added_has_passed_since(nanos in any::<i64>(), by in 0_u64..=u64::MAX) {
        let (earlier, by) = (UnixTime::from_nanos(nanos), Duration::from_nanos(by));
        let later = earlier.saturating_add(by);
        let end = UnixTime::from_nanos(i64::MAX);
        prop_assert!(later.saturating_since(earlier) == by || later == end);
        prop_assert_eq!(earlier.saturating_since(later), Duration::ZERO);
        prop_assert!(later >= earlier);
    }

    #[test]
    fn a_moment_is_rounded_up_by_less_than_a_unit(nanos in any::<i64>(), unit in 1_u64..=3_600_000_000_000) {
        let (moment, unit) = (UnixTime::from_nanos(nanos), Duration::from_nanos(unit));
        let rounded = moment.rounded_up_to(unit);
        prop_assert!(rounded >= moment);
        prop_assert!(rounded.saturating_since(moment) < unit);
        prop_assert_eq!(rounded.rounded_up_to(unit), rounded, "a whole one stays");
        let whole = i128::from(rounded.as_nanos()).rem_euclid(unit.as_nanos().cast_signed()) == 0;
        prop_assert!(whole || rounded == UnixTime::from_nanos(i64::MAX));
    }

    #[test]
    fn the_monotonic_clock_adds_up(origin in 0_u64.., by in 0_u64..) {
        let (earlier, by) = (MonoTime::since_origin(Duration::from_nanos(origin)), Duration::from_nanos(by));
        let later = earlier.saturating_add(by);
        prop_assert_eq!(later.saturating_since(earlier), by);
        prop_assert_eq!(earlier.saturating_since(later), Duration::ZERO);
    }
}
