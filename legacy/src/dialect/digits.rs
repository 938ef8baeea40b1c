//! How a stamp's number becomes bytes, and back.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::{self, Write as _};
use core::str;

use crate::{Number, Reader};

/// How a number becomes bytes. The float rules are those of the languages' own conversions to text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Digits {
    /// An integer in decimal.
    Decimal,
    /// Eight bytes, most significant first: Java's `ByteBuffer.putLong`.
    BigEndian,
    /// Eight bytes, least significant first: C#'s `BitConverter.GetBytes` on x86.
    LittleEndian,
    /// `str(x)` of Python 2: 12 significant digits, so a timestamp keeps hundredths. `1371234567.89`, `1371234567.0`.
    Python2Str,
    /// `repr(x)` of Python 2.7 and 3: the shortest digits that read back as the same float. `1371234567.891234`.
    PythonRepr,
    /// `x.to_s` of Ruby 1.9 and later: the shortest digits as well; only its exponents look otherwise.
    RubyToS,
    /// `'%f' % x`: always six decimals. `1371234567.891234`.
    Fixed6,
    /// `2023-11-14 22:13:20.123` out of milliseconds: a `DateTime` of .NET, in local time; here, as on a host set to UTC.
    DateTime,
    /// A float as a string in PHP where `precision` is 14, its default: `1700000000.1235`, `1700000000`.
    Php14,
}

impl Digits {
    /// Whether they are those of a float.
    pub const fn is_float(self) -> bool {
        match self {
            Self::Decimal | Self::BigEndian | Self::LittleEndian | Self::DateTime => false,
            Self::Python2Str | Self::PythonRepr | Self::RubyToS | Self::Fixed6 | Self::Php14 => true,
        }
    }

    /// The number as bytes. An integer beyond 64 bits becomes the largest (smallest) of 64 bits where eight bytes are
    /// all there is.
    pub fn write(self, number: Number) -> Vec<u8> {
        match self {
            Self::Decimal => in_decimal(int(number)).into_bytes(),
            Self::BigEndian => int64(number).to_be_bytes().to_vec(),
            Self::LittleEndian => int64(number).to_le_bytes().to_vec(),
            Self::Python2Str => PYTHON2_STR.write(float(number)).into_bytes(),
            Self::PythonRepr => PYTHON_REPR.write(float(number)).into_bytes(),
            Self::RubyToS => RUBY_TO_S.write(float(number)).into_bytes(),
            Self::Fixed6 => format!("{:.6}", float(number)).into_bytes(),
            Self::Php14 => PHP14.write(float(number)).into_bytes(),
            Self::DateTime => date_time(int64(number)).into_bytes(),
        }
    }

    /// The number in bytes that these digits have written; `None` for bytes that they do not write.
    pub fn read(self, bytes: &[u8]) -> Option<Number> {
        match self {
            Self::Decimal => decimal(bytes).map(Number::Int),
            Self::BigEndian => Some(Number::Int(i64::from_be_bytes(bytes.try_into().ok()?).into())),
            Self::LittleEndian => Some(Number::Int(i64::from_le_bytes(bytes.try_into().ok()?).into())),
            Self::DateTime => {
                let number = Reader::CSharpDateTime.number(bytes)?;
                (self.write(number) == bytes).then_some(number)
            }
            Self::Python2Str | Self::PythonRepr | Self::RubyToS | Self::Fixed6 | Self::Php14 => {
                // All but PHP write a point or an exponent in every float.
                let is_whole = bytes.iter().all(|byte| !matches!(byte, b'.' | b'e'));
                if is_whole && self != Self::Php14 {
                    return None;
                }
                let float: f64 = str::from_utf8(bytes).ok()?.parse().ok()?;
                // `inf`, `nan` and whatever is too large for a float are no stamps, and are not written with digits.
                let number = Number::Float(Some(float).filter(|float| float.is_finite())?);
                (self.write(number) == bytes).then_some(number)
            }
        }
    }
}

/// What tells the languages' float texts apart.
struct FloatText {
    /// So many significant digits; the fewest that are exact, if `None`.
    significant: Option<usize>,
    /// From this power of ten on, the text has an exponent.
    exponent_from: i32,
    /// Whether `.0` stands behind a whole number.
    point_zero: bool,
    /// Whether `.0` stands between a whole number and its exponent.
    point_zero_exponent: bool,
    /// The exponent's sign.
    e: char,
    /// The exponent's least number of digits.
    exponent_digits: usize,
}

const PYTHON_REPR: FloatText = FloatText {
    significant: None,
    exponent_from: 16,
    point_zero: true,
    point_zero_exponent: false,
    e: 'e',
    exponent_digits: 2,
};
const PYTHON2_STR: FloatText = FloatText { significant: Some(12), exponent_from: 11, ..PYTHON_REPR };
const RUBY_TO_S: FloatText = FloatText { exponent_from: 15, point_zero_exponent: true, ..PYTHON_REPR };
const PHP14: FloatText = FloatText {
    significant: Some(14),
    exponent_from: 14,
    point_zero: false,
    point_zero_exponent: true,
    e: 'E',
    exponent_digits: 1,
};

/// Enough bytes for most floats: a sign, 17 digits, a point, an exponent.
const LONGEST: usize = 24;

impl FloatText {
    fn write(&self, x: f64) -> String {
        // Its memory is taken at once: `format!` would take some for each part of a number.
        let mut digits = String::with_capacity(LONGEST);
        let written = match self.significant {
            Some(count) => write!(digits, "{:.*e}", count - 1, x.abs()),
            None => write!(digits, "{:e}", x.abs()),
        };
        written.expect("a string can be written to");
        let end = digits.bytes().position(|byte| byte == b'e').expect("`{:e}` writes an exponent");
        let exponent: i32 = digits[end + 1..].parse().expect("Rust writes the exponent in decimal");
        digits.truncate(end);
        // The point stands behind the first digit.
        digits.drain(1..digits.len().min(2));
        let digits = match digits.trim_end_matches('0') {
            "" => "0",
            significant => significant,
        };
        let mut text = String::with_capacity(LONGEST);
        if x.is_sign_negative() {
            text.push('-');
        }
        if (-4..self.exponent_from).contains(&exponent) {
            self.positional(&mut text, digits, exponent);
        } else {
            self.scientific(&mut text, digits, exponent);
        }
        text
    }

    fn positional(&self, text: &mut String, digits: &str, exponent: i32) {
        let Ok(exponent) = usize::try_from(exponent) else {
            text.push_str("0.");
            text.extend((1..exponent.unsigned_abs()).map(|_| '0'));
            return text.push_str(digits);
        };
        if digits.len() > exponent + 1 {
            text.push_str(&digits[..=exponent]);
            text.push('.');
            return text.push_str(&digits[exponent + 1..]);
        }
        text.push_str(digits);
        text.extend((digits.len()..=exponent).map(|_| '0'));
        if self.point_zero {
            text.push_str(".0");
        }
    }

    fn scientific(&self, text: &mut String, digits: &str, exponent: i32) {
        let (first, rest) = digits.split_at(1);
        text.push_str(first);
        match rest {
            "" if self.point_zero_exponent => text.push_str(".0"),
            "" => {}
            rest => {
                text.push('.');
                text.push_str(rest);
            }
        }
        text.push(self.e);
        text.push(if exponent < 0 { '-' } else { '+' });
        let exponent = exponent.unsigned_abs().to_string();
        text.extend((exponent.len()..self.exponent_digits).map(|_| '0'));
        text.push_str(&exponent);
    }
}

/// Digits, at most a minus before them, and no zero in front.
fn decimal(bytes: &[u8]) -> Option<i128> {
    let digits = bytes.strip_prefix(b"-").unwrap_or(bytes);
    let is_as_written = match digits {
        [] => false,
        [b'0', ..] => bytes == b"0",
        _ => digits.iter().all(u8::is_ascii_digit),
    };
    let text = str::from_utf8(bytes).ok().filter(|_| is_as_written)?;
    if digits.len() <= DIGITS_OF_64_BITS { text.parse::<i64>().ok().map(i128::from) } else { text.parse().ok() }
}

/// So many digits always fit.
const DIGITS_OF_64_BITS: usize = 18;

/// The number in decimal. Nearly all fit 64 bits, and divisions of 128 are slow.
fn in_decimal(number: i128) -> String {
    i64::try_from(number).map_or_else(|_| number.to_string(), |number| number.to_string())
}

/// The day of the Gregorian calendar by its eras of 400 years, which are 146,097 days and here begin in March.
fn date_time(millis: i64) -> String {
    let (days, ms) = (millis.div_euclid(86_400_000), millis.rem_euclid(86_400_000));
    let (era, day) = ((days + 719_468).div_euclid(146_097), (days + 719_468).rem_euclid(146_097));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (year, month) = if month < 10 { (year, month + 3) } else { (year + 1, month - 9) };
    let (hour, minute, second) = (ms / 3_600_000, ms / 60_000 % 60, ms / 1_000 % 60);
    format!("{:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{:03}", year + era * 400, ms % 1_000)
}

fn int(number: Number) -> i128 {
    match number {
        Number::Int(int) => int,
        Number::Float(float) => float as i128,
    }
}

fn int64(number: Number) -> i64 {
    let clamped = int(number).clamp(i128::from(i64::MIN), i128::from(i64::MAX));
    i64::try_from(clamped).expect("clamped to 64 bits")
}

fn float(number: Number) -> f64 {
    match number {
        Number::Int(int) => int as f64,
        Number::Float(float) => float,
    }
}

impl fmt::Display for Digits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Decimal => "decimal",
            Self::BigEndian => "8 bytes big-endian",
            Self::LittleEndian => "8 bytes little-endian",
            Self::Python2Str => "float of 12 digits",
            Self::PythonRepr | Self::RubyToS => "shortest float",
            Self::Fixed6 => "float of 6 decimals",
            Self::Php14 => "float of 14 digits",
            Self::DateTime => "local date and time of",
        })
    }
}
