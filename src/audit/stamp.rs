//! What can be seen of a value without knowing whose it is: which moment it may name, and what it looks like.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use crate::wire::UnixTime;

/// The moment that a value names, if it looks as if it named one: the first number in it that has ten digits or more, or
/// eight bytes that are no text.
pub(super) fn moment(value: &[u8]) -> Option<UnixTime> {
    if value.len() == 8 && value[0] == 0 {
        return UnixTime::from_millis(i64::from_be_bytes(value.try_into().ok()?));
    }
    if value.len() == 8 && value[7] == 0 {
        return UnixTime::from_secs(i64::from_le_bytes(value.try_into().ok()?));
    }
    let mut rest = value;
    while let Some(begin) = rest.iter().position(u8::is_ascii_digit) {
        let length = rest[begin..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let is_word = begin > 0 && rest[begin - 1].is_ascii_alphabetic()
            || rest.get(begin + length).is_some_and(u8::is_ascii_alphabetic);
        if !is_word && let Some(moment) = named_by(&rest[begin..begin + length]) {
            return Some(moment);
        }
        rest = &rest[begin + length..];
    }
    None
}

/// The moment that so many digits name: seconds, milliseconds, nanoseconds or ticks.
fn named_by(digits: &[u8]) -> Option<UnixTime> {
    let number = || std::str::from_utf8(digits).ok()?.parse::<i64>().ok();
    match digits.len() {
        10 => UnixTime::from_secs(number()?),
        13 => UnixTime::from_millis(number()?),
        18 => Some(UnixTime::from_nanos(number()?.checked_sub(621_355_968_000_000_000)?.checked_mul(100)?)),
        19 => Some(UnixTime::from_nanos(number()?)),
        _ => None,
    }
}

/// How the moment that a value names stands to this one, both in the unit in which the value counts: `Less` is over.
pub(super) fn over(value: &[u8], at: UnixTime) -> Option<Ordering> {
    let moment = moment(value)?;
    let is_in_seconds = value.len() == 10;
    Some(if is_in_seconds { moment.as_secs().cmp(&at.as_secs()) } else { moment.as_millis().cmp(&at.as_millis()) })
}

/// Which of two values is the larger number, if both are numbers of one kind; else whether they are the same.
pub(super) fn order(one: &[u8], other: &[u8]) -> Option<Ordering> {
    match (moment(one), moment(other)) {
        (Some(one), Some(other)) => Some(one.cmp(&other)),
        _ if one == other => Some(Ordering::Equal),
        _ => None,
    }
}

/// Whether nothing but the moments that they name tells two values apart: one client has written both.
pub(super) fn is_of_one_hand(one: &[u8], other: &[u8]) -> bool {
    let is_long = |run: &&[u8]| run.len() >= 10 && run.iter().all(u8::is_ascii_digit);
    let rest = |value: &'_ [u8]| -> Vec<Vec<u8>> {
        let runs = value.split(|byte| !byte.is_ascii_alphanumeric());
        runs.filter(|run| !is_long(run)).map(<[u8]>::to_vec).collect()
    };
    one.len() == other.len() && rest(one) == rest(other)
}

/// What a value looks like: how many digits, how many letters, which signs between them.
pub(super) fn shape(value: &[u8], hasher: &mut impl Hasher) {
    if value.len() == 8 && (value[0] == 0 || value[7] == 0) {
        return (value[0] == 0).hash(hasher);
    }
    let mut rest = value;
    while let Some(first) = rest.first() {
        let length = rest.iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
        let (run, after) = rest.split_at(length.max(1));
        rest = after;
        if length == 0 {
            first.hash(hasher);
        } else if run.iter().all(u8::is_ascii_digit) {
            // What a short number begins with can make it sort before or behind others.
            (b'd', length, (length < 10).then_some(run)).hash(hasher);
        } else if length < 12 {
            capitals(run, hasher);
        } else {
            (b'a', length, run.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))).hash(hasher);
            beginning(run, hasher);
        }
    }
}

/// A word, in whatever case it was written.
pub(super) fn capitals(word: &[u8], hasher: &mut impl Hasher) {
    hasher.write_usize(word.len());
    word.iter().for_each(|byte| hasher.write_u8(byte.to_ascii_uppercase()));
}

/// What a long word begins with. Some read a number as far as there is one, with an exponent or without: `2e7c…` is small
/// and `2e618…` infinite. Some compare it with a moment as text.
fn beginning(run: &[u8], hasher: &mut impl Hasher) {
    let count = |rest: &[u8]| rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let zeros = run.iter().take_while(|byte| **byte == b'0').count();
    let digits = count(run);
    let exponent = match run.get(digits) {
        Some(b'e' | b'E') if digits > 0 => &run[digits + 1..][..count(&run[digits + 1..])],
        Some(_) | None => &[],
    };
    let power = exponent.iter().fold(0, |power: usize, digit| (power * 10 + usize::from(digit - b'0')).min(1000));
    let sizes = [digits - zeros, if digits == zeros { 0 } else { digits - zeros + power }].map(size);
    let is_near = sizes.iter().any(|size| (SMALL..LARGE).contains(size));
    (run[0], sizes, (run[0] == b'1').then(|| &run[..4])).hash(hasher);
    is_near.then(|| (&run[..digits], exponent)).hash(hasher);
}

/// A number of fewer digits is no moment in any unit, and one of so many lies beyond all that are.
const SMALL: usize = 9;
const LARGE: usize = 21;

fn size(digits: usize) -> usize {
    if digits < SMALL { 0 } else { digits.min(LARGE) }
}

#[test]
fn a_token_is_told_apart_by_what_it_is_as_a_number() {
    let shape_of = |value: &str| {
        let mut hasher = rustc_hash::FxHasher::default();
        shape(value.as_bytes(), &mut hasher);
        hasher.finish()
    };
    let alike =
        ["2e7c6e8ce5b311f1bf8502fc00000001", "2e6b4a9ee5b311f1bf8502fc00000001", "2abcdef0e5b311f1bf8502fc00000001"];
    assert!(alike.iter().all(|token| shape_of(token) == shape_of(alike[0])));
    for other in
        ["2e618496e5b311f1a04902fc00000001", "2e9b4a9ee5b311f1bf8502fc00000001", "fe7c6e8ce5b311f1bf8502fc00000001"]
    {
        assert_ne!(shape_of(other), shape_of(alike[0]), "{other}");
    }
    assert_ne!(shape_of("10000000e5b311f1bf8502fc00000001"), shape_of("1f000000e5b311f1bf8502fc00000001"));
}
