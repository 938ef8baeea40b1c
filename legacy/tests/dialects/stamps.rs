//! Values against what the originals' own expressions write.

use std::collections::BTreeSet;
use std::time::Duration;

use lockshift_legacy::{Digits, Number, catalogue};
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

/// `repr(x)` of Python and `echo $x` of PHP as measured; `str(x)` of Python 2 and `x.to_s` of Ruby after their manuals.
#[test]
fn large_and_small_floats_have_the_exponents_of_their_languages() {
    for (float, [python, python2, ruby, php]) in [
        (1e20, ["1e+20", "1e+20", "1.0e+20", "1.0E+20"]),
        (1.5e20, ["1.5e+20", "1.5e+20", "1.5e+20", "1.5E+20"]),
        (-2.5e-7, ["-2.5e-07", "-2.5e-07", "-2.5e-07", "-2.5E-7"]),
        (3e-5, ["3e-05", "3e-05", "3.0e-05", "3.0E-5"]),
        (0.000_25, ["0.00025", "0.00025", "0.00025", "0.00025"]),
    ] {
        let digits = [Digits::PythonRepr, Digits::Python2Str, Digits::RubyToS, Digits::Php14];
        for (digits, expected) in digits.into_iter().zip([python, python2, ruby, php]) {
            let written = digits.write(Number::Float(float));
            assert_eq!(String::from_utf8_lossy(&written), expected, "{float} by {digits:?}");
        }
    }
}
