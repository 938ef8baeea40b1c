//! Values against what the originals' own expressions write.

use std::collections::BTreeSet;
use std::time::Duration;

use lockshift_legacy::{Digits, Form, Number, Part, Reader, Stamp, catalogue};
use lockshift_wire::UnixTime;

use crate::ME;

/// Every line of the table: a dialect, the clock, the lease, and the bytes that its interpreter came to.
fn measured() -> impl Iterator<Item = (&'static str, UnixTime, Duration, &'static str)> {
    include_str!("../data/stamps.tsv").lines().filter(|line| !line.starts_with(['#', 'd'])).map(|line| {
        let [dialect, now_ns, lease_ms, value_hex] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("four columns: {line}");
        };
        let now = UnixTime::from_nanos(now_ns.parse().expect("nanoseconds"));
        (dialect, now, Duration::from_millis(lease_ms.parse().expect("milliseconds")), value_hex)
    })
}

#[test]
fn every_value_is_the_originals_byte_for_byte() {
    for (name, now, lease, expected) in measured() {
        let form = catalogue::find(name).unwrap_or_else(|| panic!("no row {name}")).form;
        let value = form.write(form.stamp.at(now, lease), &ME);
        let hex: String = value.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, expected, "{name} at {now:?} for {lease:?}: {}", value.escape_ascii());
    }
}

#[test]
fn every_form_of_value_has_been_measured() {
    let measured: BTreeSet<_> = measured().map(|(name, ..)| name).collect();
    let forms: Vec<_> = measured.iter().filter_map(|name| catalogue::find(name)).map(|row| row.form).collect();
    let missing: Vec<_> = catalogue::catalogue()
        .filter(|row| row.form.is_stamped() && !forms.contains(&row.form))
        .map(|row| row.name)
        .collect();
    assert_eq!(missing, [] as [&str; 0], "stamped values that no interpreter has vouched for");
}

/// `repr(x)` of Python, `echo $x` of PHP and `x.to_s` of Ruby as measured; `str(x)` of Python 2, and the zeros of Ruby, after
/// their sources.
#[test]
fn large_and_small_floats_have_the_exponents_of_their_languages() {
    for (float, [python, python2, ruby, php]) in [
        (0.0, ["0.0", "0.0", "0.0", "0"]),
        (-0.0, ["-0.0", "-0.0", "-0.0", "-0"]),
        (1e20, ["1e+20", "1e+20", "1.0e+20", "1.0E+20"]),
        (1.5e20, ["1.5e+20", "1.5e+20", "1.5e+20", "1.5E+20"]),
        (-2.5e-7, ["-2.5e-07", "-2.5e-07", "-2.5e-07", "-2.5E-7"]),
        (3e-5, ["3e-05", "3e-05", "3.0e-05", "3.0E-5"]),
        (0.000_25, ["0.00025", "0.00025", "0.00025", "0.00025"]),
        (1e10, ["10000000000.0", "10000000000.0", "10000000000.0", "10000000000"]),
        (1e11, ["100000000000.0", "1e+11", "100000000000.0", "100000000000"]),
        (1e13, ["10000000000000.0", "1e+13", "10000000000000.0", "10000000000000"]),
        (1e14, ["100000000000000.0", "1e+14", "100000000000000.0", "1.0E+14"]),
        (1e15, ["1000000000000000.0", "1e+15", "1.0e+15", "1.0E+15"]),
        (1e16, ["1e+16", "1e+16", "1.0e+16", "1.0E+16"]),
    ] {
        let digits = [Digits::PythonRepr, Digits::Python2Str, Digits::RubyToS, Digits::Php14];
        for (digits, expected) in digits.into_iter().zip([python, python2, ruby, php]) {
            let written = digits.write(Number::Float(float));
            assert_eq!(String::from_utf8_lossy(&written), expected, "{float} by {digits:?}");
        }
    }
}

/// The last day of a month in the Gregorian calendar.
fn last_day(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 400 == 0 => 29,
        2 if year % 100 == 0 => 28,
        2 if year % 4 == 0 => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// The calendar repeats itself after 400 years. 1999 began 10,592 days after 1970.
#[test]
fn every_day_of_four_centuries_is_written_and_read() {
    let mut days = 10_592_i64;
    for year in 1999..2400 {
        for month in 1..=12 {
            for day in 1..=last_day(year, month) {
                let text = format!("{year}-{month:02}-{day:02} 23:59:58.007");
                let number = Number::Int(i128::from(days) * 86_400_000 + 86_398_007);
                assert_eq!(String::from_utf8(Digits::DateTime.write(number)).as_deref(), Ok(text.as_str()));
                assert_eq!(Reader::CSharpDateTime.number(text.as_bytes()), Some(number), "{text}");
                days += 1;
            }
        }
    }
    assert_eq!(days, 157_054, "1999-01-01 and 401 years");
}

#[test]
fn the_first_and_the_last_moment_of_a_date_time_are_written() {
    for (millis, text) in [
        (-62_135_596_800_000, "0001-01-01 00:00:00.000"),
        (-62_135_510_400_000, "0001-01-02 00:00:00.000"),
        (-1, "1969-12-31 23:59:59.999"),
        (0, "1970-01-01 00:00:00.000"),
        (253_402_300_799_999, "9999-12-31 23:59:59.999"),
    ] {
        assert_eq!(String::from_utf8(Digits::DateTime.write(Number::Int(millis))).as_deref(), Ok(text));
        assert_eq!(Reader::CSharpDateTime.number(text.as_bytes()), Some(Number::Int(millis)), "{text}");
    }
}

#[test]
fn a_quoted_value_is_restamped_between_what_stands_around_its_stamp() {
    let form = Form::of(&[Part::Text("<"), Part::Stamp, Part::Text("->")], Stamp::SECONDS).quoted_when_taken();
    let restamped =
        |value: &[u8]| form.restamp(value, Number::Int(1_800_000_000)).map(|value| form.read(&value).zip(Some(value)));
    for (value, expected) in
        [(&b"<1700000000->"[..], &b"<1800000000->"[..]), (b"\"<1700000000->\"", b"\"<1800000000->\"")]
    {
        assert_eq!(restamped(value), Some(Some((Number::Int(1_800_000_000), expected.to_vec()))));
    }
}

/// What .NET refuses becomes `DateTime.MinValue`, as everything else that is not a date.
#[test]
fn a_date_that_does_not_exist_is_the_year_1() {
    let minimum = Some(Number::Int(-62_135_596_800_000));
    for text in [
        "2023-11-14 24:13:20",
        "2023-11-14 22:60:20",
        "2023-11-14 22:13:60",
        "2023-02-29 22:13:20",
        "2023-011-14 22:13:20",
        "2023-11-14 +2:13:20",
        "0000-12-31 22:13:20",
        "2023-11-14 22:13:20.12345678",
        "2023-11-14 22:13:20.1234567890123456789",
        "2023-11-14 22:13:20.99999999999999999999999",
        &format!("2023-11-14 22:13:20.{}", "0".repeat(64)),
    ] {
        assert_eq!(Reader::CSharpDateTime.number(text.as_bytes()), minimum, "{text}");
    }
    assert_ne!(Reader::CSharpDateTime.number(b"2023-11-14 22:13:20.1234567"), minimum);
}
