//! Numbers as Redis reads and writes them.

use super::flavour::Flavour;

/// The integer that these bytes spell in the one way that Redis accepts: no `+`, no leading zero, no blank.
pub(super) fn integer(bytes: &[u8]) -> Option<i64> {
    let canonical = match bytes {
        b"0" => true,
        [b'-', b'1'..=b'9', rest @ ..] | [b'1'..=b'9', rest @ ..] => rest.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    if canonical { std::str::from_utf8(bytes).ok()?.parse().ok() } else { None }
}

/// The floating-point number that these bytes spell; neither blanks around it nor "not a number" are accepted.
///
/// C's hexadecimal floats, which Redis accepts as well, are not.
pub(super) fn float(bytes: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(bytes).ok()?;
    let number: f64 = text.parse().ok()?;
    let mantissa = text.split(['e', 'E']).next().unwrap_or_default();
    let overflowed = number.is_infinite() && mantissa.contains(|digit: char| digit.is_ascii_digit());
    let underflowed = number == 0.0 && mantissa.contains(|digit| ('1'..='9').contains(&digit));
    if number.is_nan() || overflowed || underflowed { None } else { Some(number) }
}

/// A score, or a number that a script passes to a command, as this server writes it.
pub(super) fn print(flavour: Flavour, number: f64) -> String {
    match flavour {
        Flavour::Redis70 => print_17g(number),
        Flavour::Redis84 | Flavour::Valkey9 => print_shortest(number),
    }
}

/// C's `%.17g`.
fn print_17g(number: f64) -> String {
    if !number.is_finite() {
        return print_infinite(number);
    }
    const DIGITS: i32 = 17;
    let scientific = format!("{number:.16e}");
    let (mantissa, exponent) = scientific.split_once('e').expect("`{:e}` writes an exponent");
    let exponent: i32 = exponent.parse().expect("`{:e}` writes a small integer as exponent");
    if (-4..DIGITS).contains(&exponent) {
        let decimals = usize::try_from(DIGITS - 1 - exponent).expect("the exponent is below the number of digits");
        without_zeros(&format!("{number:.decimals$}")).to_owned()
    } else {
        let sign = if exponent < 0 { '-' } else { '+' };
        format!("{}e{sign}{:02}", without_zeros(mantissa), exponent.abs())
    }
}

/// As many digits as it takes to read the same number again, in the notation of the Grisu code that later servers use.
fn print_shortest(number: f64) -> String {
    if !number.is_finite() {
        return print_infinite(number);
    }
    let is_whole = number.fract() == 0.0 && number.abs() < 2f64.powi(62);
    if is_whole && !(number == 0.0 && number.is_sign_negative()) {
        return format!("{number:.0}");
    }
    let scientific = format!("{:e}", number.abs());
    let (mantissa, exponent) = scientific.split_once('e').expect("`{:e}` writes an exponent");
    let exponent: i32 = exponent.parse().expect("`{:e}` writes a small integer as exponent");
    let digits = i32::try_from(mantissa.chars().filter(char::is_ascii_digit).count()).expect("17 digits at most");
    let decimals = digits - 1 - exponent;
    let is_short = match decimals {
        ..=0 => exponent < digits + 7,
        1..=6 => true,
        7.. => exponent.abs() < 4,
    };
    let sign = if number.is_sign_negative() { "-" } else { "" };
    if is_short { number.to_string() } else { format!("{sign}{mantissa}e{exponent:+}") }
}

fn print_infinite(number: f64) -> String {
    match (number.is_nan(), number.is_sign_negative()) {
        (true, true) => "-nan",
        (true, false) => "nan",
        (false, true) => "-inf",
        (false, false) => "inf",
    }
    .to_owned()
}

/// A decimal fraction without the zeros at its end.
fn without_zeros(decimal: &str) -> &str {
    if decimal.contains('.') { decimal.trim_end_matches('0').trim_end_matches('.') } else { decimal }
}

#[cfg(test)]
mod tests {
    use super::{float, integer, print_17g, print_shortest};

    #[test]
    fn integers_have_one_spelling() {
        for (text, number) in [
            ("0", Some(0)),
            ("7", Some(7)),
            ("-1", Some(-1)),
            ("9223372036854775807", Some(i64::MAX)),
            ("-9223372036854775808", Some(i64::MIN)),
            ("9223372036854775808", None),
            ("99999999999999999999", None),
            ("", None),
            ("-", None),
            ("-0", None),
            ("+1", None),
            ("01", None),
            (" 1", None),
            ("1 ", None),
            ("1.0", None),
            ("1e3", None),
        ] {
            assert_eq!(integer(text.as_bytes()), number, "{text:?}");
        }
    }

    #[test]
    fn floats_are_those_of_strtod() {
        for (text, number) in [
            ("1.5", Some(1.5)),
            ("+1", Some(1.0)),
            ("1e3", Some(1000.0)),
            (".5", Some(0.5)),
            ("-inf", Some(f64::NEG_INFINITY)),
            ("0e5", Some(0.0)),
            ("1e999", None),
            ("1e-999", None),
            ("nan", None),
            ("", None),
            (" 1", None),
            ("1x", None),
        ] {
            assert_eq!(float(text.as_bytes()), number, "{text:?}");
        }
    }

    #[test]
    fn numbers_are_written_like_printf() {
        for (number, text) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (3.0, "3"),
            (0.1, "0.10000000000000001"),
            (1e16, "10000000000000000"),
            (1e17, "1e+17"),
            (1.5e-7, "1.4999999999999999e-07"),
            (0.0001, "0.0001"),
            (1_795_245_592_123.0, "1795245592123"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
        ] {
            assert_eq!(print_17g(number), text);
        }
    }

    #[test]
    fn later_servers_write_numbers_shortly() {
        for (number, text) in [
            (0.0, "0"),
            (3.0, "3"),
            (0.1, "0.1"),
            (-0.25, "-0.25"),
            (123_456_789.123, "123456789.123"),
            (1e17, "100000000000000000"),
            (1e20, "1e+20"),
            (1.234_567_890_123_456_8e20, "123456789012345680000"),
            (1e-7, "1e-7"),
            (1.5e-7, "1.5e-7"),
            (0.000_123, "0.000123"),
            (f64::INFINITY, "inf"),
        ] {
            assert_eq!(print_shortest(number), text);
        }
    }
}
