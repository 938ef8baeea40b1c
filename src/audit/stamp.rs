//! What can be seen of a value without knowing whose it is: which moment it may name, and what it looks like.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::time::Duration;

use crate::wire::UnixTime;

/// The moment that a value names, if it looks as if it named one: the first number in it that has ten digits or more, seconds
/// with their fraction, or eight bytes that are no text.
pub(super) fn moment(value: &[u8]) -> Option<UnixTime> {
    let value = unmarked(value);
    if value.len() == 8 && value[0] == 0 {
        return UnixTime::from_millis(i64::from_be_bytes(value.try_into().ok()?));
    }
    if value.len() == 8 && value[7] == 0 {
        return UnixTime::from_secs(i64::from_le_bytes(value.try_into().ok()?));
    }
    // Only every tenth byte is looked at: ten digits in a row include one of them.
    let mut place = FEWEST_DIGITS - 1;
    while let Some(byte) = value.get(place) {
        if byte.is_ascii_digit() {
            let begin = place - value[..place].iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
            let end = place + digits(&value[place..]);
            let is_word = begin > 0 && value[begin - 1].is_ascii_alphabetic()
                || value.get(end).is_some_and(u8::is_ascii_alphabetic);
            if !is_word && let Some(moment) = named_by(&value[begin..end], &value[end..]) {
                return Some(moment);
            }
            place = end;
        }
        place += FEWEST_DIGITS;
    }
    None
}

/// Fewer digits name no moment.
const FEWEST_DIGITS: usize = 10;
/// More digits are no number that a client counts in; they are a token in which no letter happens to be.
const MOST_DIGITS: usize = 20;

/// The value without the zero by which a bridge marks a stamp as its own: before the digits of a number, behind its bytes.
pub(super) fn unmarked(value: &[u8]) -> &[u8] {
    match value {
        [b'0', number @ ..] if digits(number) >= 10 => number,
        [bytes @ .., b'0'] if bytes.len() == 8 && (bytes[0] == 0 || bytes[7] == 0) => bytes,
        _ => value,
    }
}

/// The moment that so many digits name: seconds, milliseconds, nanoseconds or ticks.
fn named_by(digits: &[u8], behind: &[u8]) -> Option<UnixTime> {
    let number = || {
        let appended = |number: i64, digit: &u8| number.checked_mul(10)?.checked_add(i64::from(*digit - b'0'));
        digits.iter().try_fold(0, appended)
    };
    match digits.len() {
        10 => Some(UnixTime::from_secs(number()?)?.saturating_add(fraction(behind))),
        13 => UnixTime::from_millis(number()?),
        18 => Some(UnixTime::from_nanos(number()?.checked_sub(621_355_968_000_000_000)?.checked_mul(100)?)),
        19 => Some(UnixTime::from_nanos(number()?)),
        _ => None,
    }
}

/// The fraction of a second that follows its digits.
fn fraction(behind: &[u8]) -> Duration {
    let behind = behind.strip_prefix(b".").unwrap_or_default();
    let digits = behind.iter().map_while(|byte| char::from(*byte).to_digit(10));
    let (nanos, _) = digits.fold((0, 100_000_000), |(nanos, unit), digit| (nanos + digit * unit, unit / 10));
    Duration::from_nanos(u64::from(nanos))
}

/// The unit in which a value counts, if it names a moment: a second, unless it certainly counts finer.
pub(super) fn unit(value: &[u8]) -> Duration {
    let value = unmarked(value);
    match moment(value) {
        Some(_) if value.len() == 13 && value.iter().all(u8::is_ascii_digit) => Duration::from_millis(1),
        // Perhaps whole seconds, with words or zeros around them.
        Some(_) => Duration::from_secs(1),
        None => Duration::ZERO,
    }
}

/// Whether a value looks like a random token, which no other attempt writes.
pub(super) fn looks_like_token(value: &[u8]) -> bool {
    value.len() >= 16 && moment(value).is_none()
}

/// A value, and the moment that it names: found once for all that is compared with it.
#[derive(Clone, Copy, Debug)]
pub(super) struct DatedValue<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) moment: Option<UnixTime>,
}

impl<'a> DatedValue<'a> {
    /// A value whose moment is not known yet.
    pub(super) fn of(bytes: &'a [u8]) -> Self {
        Self { bytes, moment: moment(bytes) }
    }

    /// How the moment that it names stands to this one, both in the unit in which it counts: `Less` has expired.
    pub(super) fn over(self, at: UnixTime) -> Option<Ordering> {
        self.moment.map(|moment| order_in_unit(self.bytes, moment, at))
    }

    /// How the moment that it names stands to this one, to clients that count as it does and to clients that count seconds.
    pub(super) fn beside(self, at: UnixTime) -> Option<[Ordering; 2]> {
        let moment = self.moment?;
        Some([order_in_unit(self.bytes, moment, at), moment.as_secs().cmp(&at.as_secs())])
    }

    /// Which of two values is the larger number, if both are numbers of one variant, and which is the larger in whole
    /// seconds; else whether they are the same.
    pub(super) fn order(self, other: Self) -> Option<[Ordering; 2]> {
        match (self.moment, other.moment) {
            (Some(one), Some(other)) => Some([one.cmp(&other), one.as_secs().cmp(&other.as_secs())]),
            _ if self.bytes == other.bytes => Some([Ordering::Equal; 2]),
            _ => None,
        }
    }
}

/// The same as [`DatedValue::over`] of a value that is compared once.
pub(super) fn over(value: &[u8], at: UnixTime) -> Option<Ordering> {
    DatedValue::of(value).over(at)
}

/// How the moment that this value names stands to another one, both in the unit in which the value counts.
fn order_in_unit(value: &[u8], moment: UnixTime, at: UnixTime) -> Ordering {
    let value = unmarked(value);
    match value.len() {
        10 => moment.as_secs().cmp(&at.as_secs()),
        _ if value.get(10) == Some(&b'.') => moment.cmp(&at),
        _ => moment.as_millis().cmp(&at.as_millis()),
    }
}

/// Whether nothing but the moments that they name tells two values apart: one client has written both.
pub(super) fn is_of_one_hand(one: &[u8], other: &[u8]) -> bool {
    let is_long = |run: &&[u8]| run.len() >= 10 && run.iter().all(u8::is_ascii_digit);
    let rest = |value| {
        let runs = <[u8]>::split(value, |byte: &u8| !byte.is_ascii_alphanumeric());
        runs.filter(|run| !is_long(run))
    };
    one.len() == other.len() && rest(one).eq(rest(other))
}

/// What a value looks like at this moment: how many digits, how many letters, which signs between them.
pub(super) fn shape(value: &[u8], at: UnixTime, hasher: &mut impl Hasher) {
    if value.len() == 8 && (value[0] == 0 || value[7] == 0) {
        return (value[0] == 0).hash(hasher);
    }
    let mut rest = value;
    if let Some(uuid) = uuid(value) {
        let first = &uuid[..8];
        // What follows an exponent that is cut off here begins with a minus.
        (b'u', first.ends_with(b"e")).hash(hasher);
        beginning(first, at, hasher);
        rest = &value[uuid.len()..];
    }
    let mut is_fraction = false;
    while let Some(first) = rest.first() {
        let AlphanumericRun { length, is_decimal, is_hex } = AlphanumericRun::at_start_of(rest);
        let (run, after) = rest.split_at(length.max(1));
        rest = after;
        if length == 0 {
            first.hash(hasher);
            is_fraction &= *first == b'.';
        } else if is_decimal && (length <= MOST_DIGITS || is_fraction) {
            // What a short number begins with can make it sort before or behind others.
            (b'd', length, !is_fraction && run[0] == b'0', (length < 10 && !is_fraction).then_some(run)).hash(hasher);
            // Some write as many digits of a fraction as it takes, and some always as many.
            (is_fraction && run.ends_with(b"0")).hash(hasher);
            is_fraction = length >= 10;
        } else if length < 12 {
            capitals(run, hasher);
        } else {
            (b'a', length, is_hex).hash(hasher);
            beginning(run, at, hasher);
        }
    }
}

/// Letters and digits in a row.
struct AlphanumericRun {
    length: usize,
    is_decimal: bool,
    is_hex: bool,
}

impl AlphanumericRun {
    /// The one that a text begins with; its length is 0 if it begins with a sign.
    fn at_start_of(text: &[u8]) -> Self {
        let mut seen = 0;
        let mut length = 0;
        for byte in text {
            let class = CLASSES[usize::from(*byte)];
            if class == 0 {
                break;
            }
            seen |= class;
            length += 1;
        }
        Self { length, is_decimal: seen & !DIGIT == 0, is_hex: seen & LETTER == 0 }
    }
}

/// A decimal digit, one that only hexadecimal numbers have, another letter; 0 for a sign.
const CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        classes[byte] = match byte as u8 {
            b'0'..=b'9' => DIGIT,
            b'a'..=b'f' => HEX_DIGIT,
            b'g'..=b'z' | b'A'..=b'Z' => LETTER,
            _ => 0,
        };
        byte += 1;
    }
    classes
};
const DIGIT: u8 = 1;
const HEX_DIGIT: u8 = 2;
const LETTER: u8 = 4;

/// The UUID that a value begins with.
pub(super) fn uuid(value: &[u8]) -> Option<&[u8]> {
    let is_part =
        |(place, byte): (usize, &u8)| if matches!(place, 8 | 13 | 18 | 23) { *byte == b'-' } else { is_hex(byte) };
    value.get(..36).filter(|uuid| uuid.iter().enumerate().all(is_part))
}

fn is_hex(byte: &u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'a'..=b'f')
}

/// A word, in whatever case it was written.
pub(super) fn capitals(word: &[u8], hasher: &mut impl Hasher) {
    hasher.write_usize(word.len());
    for bytes in word.chunks(8) {
        let written = bytes.iter().fold(0, |all, byte| all << 8 | u64::from(byte.to_ascii_uppercase()));
        hasher.write_u64(written);
    }
}

/// What a long word begins with. Some read a number as far as there is one, with an exponent or without: `2e7c…` is small
/// and `2e618…` infinite. Some compare it with a moment as text, and sort every letter behind it. What is near this moment is
/// kept as it is.
fn beginning(run: &[u8], at: UnixTime, hasher: &mut impl Hasher) {
    run[0].hash(hasher);
    let digits = digits(run);
    if digits == 0 {
        return;
    }
    let exponent = match run.get(digits) {
        Some(b'e' | b'E') => &run[digits + 1..][..self::digits(&run[digits + 1..])],
        Some(_) | None => &[],
    };
    let number = |digits: &[u8]| digits.iter().fold(0.0, |number, digit| number * 10.0 + f64::from(digit - b'0'));
    let (plain, power) = (number(&run[..digits]), number(exponent));
    // Raising to a power is slow, and most words have no exponent.
    let raised = if exponent.is_empty() { plain } else { plain * 10_f64.powf(power) };
    let sizes = [plain, raised].map(|number| Size::of(number, at));
    sizes.each_ref().map(|size| size.above).hash(hasher);
    sizes.iter().any(|size| size.is_near).then(|| (&run[..digits], exponent)).hash(hasher);
    let (order, near) = beside_as_text(run, at);
    order.hash(hasher);
    near.hash(hasher);
}

/// How a word is sorted beside the seconds of a moment as text, and what it begins with if that is near.
fn beside_as_text(run: &[u8], at: UnixTime) -> (Ordering, Option<&[u8]>) {
    const TEN_DIGITS: std::ops::Range<i64> = 1_000_000_000..10_000_000_000;
    let secs = at.as_secs();
    // Text is made only for the few words that begin with the same digit.
    let first = TEN_DIGITS.contains(&secs).then(|| b'0' + (secs / TEN_DIGITS.start) as u8);
    if let Some(first) = first.filter(|first| *first != run[0]) {
        return (run[0].cmp(&first), None);
    }
    let now = secs.to_string();
    let is_near = run.starts_with(&now.as_bytes()[..now.len().min(3)]);
    (run.cmp(now.as_bytes()), is_near.then(|| &run[..run.len().min(10)]))
}

/// How large a number is beside a moment.
struct Size {
    /// How many of the units it is above in which the moment can be counted; one more for infinity, none for zero.
    above: usize,
    /// Whether it may name a moment of this century.
    is_near: bool,
}

impl Size {
    fn of(number: f64, at: UnixTime) -> Self {
        let nanos = at.as_nanos() as f64;
        let moments = [nanos / 1e9, nanos / 1e6, nanos, (nanos / 100.0) + 621_355_968_000_000_000.0];
        let steps = [0.0].into_iter().chain(moments).chain([f64::MAX]);
        Self {
            above: steps.filter(|step| number > *step).count(),
            is_near: moments.iter().any(|moment| (0.7..1.3).contains(&(number / moment))),
        }
    }
}

fn digits(text: &[u8]) -> usize {
    text.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

#[test]
fn the_mark_of_a_bridge_changes_no_moment() {
    let marked: [(&[u8], &[u8]); 4] = [
        (b"01700000000", b"1700000000"),
        (b"01700000000123:7", b"1700000000123:7"),
        (b"\0\0\x01\x8b\xcf\xe5\x68\x000", b"\0\0\x01\x8b\xcf\xe5\x68\0"),
        (b"0badc0de0badc0de", b"0badc0de0badc0de"),
    ];
    for (marked, plain) in marked {
        assert_eq!(moment(marked), moment(plain), "{}", crate::wire::Printable(marked));
    }
}

#[test]
fn values_are_distinguished_by_what_they_are_as_numbers() {
    let shape_of = |value: &str| {
        let mut hasher = rustc_hash::FxHasher::default();
        shape(value.as_bytes(), UnixTime::from_nanos(1_700_000_000_000_000_000), &mut hasher);
        hasher.finish()
    };
    for [one, other] in [
        ["2e7c6e8ce5b311f1bf8502fc00000001", "2e6b4a9ee5b311f1bf8502fc00000001"],
        ["2e7c6e8ce5b311f1bf8502fc00000001", "2abcdef0e5b311f1bf8502fc00000001"],
        ["46642246988a11f1bf8502fc00000001", "40000000001b11f1bf8502fc00000001"],
        ["18642246988a11f1bf8502fc00000001", "19999999999b11f1bf8502fc00000001"],
        ["bb457df5-e3c8-4338-bfa3-f71e8bcfec79:7", "be3b9e12-c344-4318-9ca3-671e8bcfec70:7"],
        ["1700000004.16496", "1700000004.23887"],
    ] {
        assert_eq!(shape_of(one), shape_of(other), "{one} {other}");
    }
    for [one, other] in [
        ["2e7c6e8ce5b311f1bf8502fc00000001", "2e618496e5b311f1a04902fc00000001"],
        ["2e7c6e8ce5b311f1bf8502fc00000001", "2e9b4a9ee5b311f1bf8502fc00000001"],
        ["2e7c6e8ce5b311f1bf8502fc00000001", "fe7c6e8ce5b311f1bf8502fc00000001"],
        ["2e30ad9ee5b311f1a04902fc00000001", "2e618496e5b311f1a04902fc00000001"],
        ["10000000e5b311f1bf8502fc00000001", "1f000000e5b311f1bf8502fc00000001"],
        ["1700000008a311f1bf8502fc00000001", "1700000009a311f1bf8502fc00000001"],
        ["bb457df5-e3c8-4338-bfa3-f71e8bcfec79:7", "bb457df5-e3c8-4338-bfa3-f71e8bcfec79:8"],
        ["bb457df5-e3c8-4338-bfa3-f71e8bcfec79", "12e457df-e3c8-4338-bfa3-f71e8bcfec79"],
        ["1234567e-e3c8-4338-bfa3-f71e8bcfec79", "12345678-e3c8-4338-bfa3-f71e8bcfec79"],
        ["1700000004.16496", "1700000004.1649"],
        ["17.16496", "17.23887"],
    ] {
        assert_ne!(shape_of(one), shape_of(other), "{one} {other}");
    }
}

#[test]
fn a_moment_has_its_fraction() {
    let at = |nanos: i64| Some(UnixTime::from_nanos(1_700_000_004_000_000_000 + nanos));
    assert_eq!(moment(b"1700000004"), at(0));
    assert_eq!(moment(b"1700000004.16496"), at(164_960_000));
    assert_eq!(moment(b"1700000004.1649601459503174"), at(164_960_145));
    assert_eq!(moment(b"{\"expire\":1700000004.5,\"id\":7}"), at(500_000_000));
    let noon = UnixTime::from_nanos(1_700_000_004_100_000_000);
    assert_eq!(over(b"1700000004.16496", noon), Some(Ordering::Greater));
    assert_eq!(over(b"1700000004.09999", noon), Some(Ordering::Less));
    assert_eq!(over(b"1700000004", noon), Some(Ordering::Equal));
}
