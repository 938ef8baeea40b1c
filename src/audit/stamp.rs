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
            (b'a', length, run.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')), run[0]).hash(hasher);
        }
    }
}

/// A word, in whatever case it was written.
pub(super) fn capitals(word: &[u8], hasher: &mut impl Hasher) {
    hasher.write_usize(word.len());
    word.iter().for_each(|byte| hasher.write_u8(byte.to_ascii_uppercase()));
}
