//! Moments in what clients write: found in any text, and moved.
//!
//! A scene's clock begins at a moment that no other number comes near, so that a stamp is known by its value, whatever
//! its unit: decimal seconds, with or without a fraction, milli-, micro- and nanoseconds, .NET's ticks, eight bytes of
//! milliseconds or of seconds.

use crate::wire::UnixTime;

/// Which numbers are moments.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stamps {
    /// The moment that all others are counted from.
    pub(super) begin: UnixTime,
    /// How far from it a number can be and still be a moment.
    pub(super) reach_ns: i64,
}

/// One way to write a moment as a number: its unit, and the number of 1970.
#[derive(Clone, Copy, Debug)]
struct Scale {
    unit_ns: i64,
    of_1970: i128,
}

const SECONDS: Scale = Scale { unit_ns: 1_000_000_000, of_1970: 0 };
const MILLIS: Scale = Scale { unit_ns: 1_000_000, of_1970: 0 };
const SCALES: [Scale; 5] = [
    SECONDS,
    MILLIS,
    Scale { unit_ns: 1_000, of_1970: 0 },
    Scale { unit_ns: 1, of_1970: 0 },
    Scale { unit_ns: 100, of_1970: 621_355_968_000_000_000 },
];

impl Stamps {
    /// The text with every moment in it moved: `to` gets it in nanoseconds from the beginning and returns where it goes.
    pub(super) fn moved(&self, text: &[u8], to: &dyn Fn(i64) -> i64) -> Vec<u8> {
        if let Some(bytes) = self.moved_bytes(text, to) {
            return bytes;
        }
        let mut moved = Vec::with_capacity(text.len());
        let mut rest = text;
        while !rest.is_empty() {
            let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
            let (run, behind) = rest.split_at(digits.max(1));
            match self.moved_digits(run, behind, to) {
                Some(digits) => moved.extend_from_slice(digits.as_bytes()),
                None => moved.extend_from_slice(run),
            }
            rest = behind;
        }
        moved
    }

    /// The number, moved if it is a moment.
    pub(super) fn moved_number(&self, number: i64, to: &dyn Fn(i64) -> i64) -> i64 {
        let moment = |scale: &Scale| Some((scale.unit_ns, self.moment(*scale, number.into())?));
        let Some((unit_ns, moment)) = SCALES.iter().find_map(moment) else { return number };
        number + (to(moment) - moment) / unit_ns
    }

    fn moved_digits(&self, run: &[u8], behind: &[u8], to: &dyn Fn(i64) -> i64) -> Option<String> {
        let number: i128 = std::str::from_utf8(run).ok()?.parse().ok()?;
        let (scale, mut moment) = SCALES.iter().find_map(|scale| Some((scale, self.moment(*scale, number)?)))?;
        if scale.unit_ns == SECONDS.unit_ns {
            moment += fraction_ns(behind);
        }
        let units = (to(moment) - moment) / scale.unit_ns;
        Some(format!("{:0width$}", number + i128::from(units), width = run.len()))
    }

    fn moved_bytes(&self, text: &[u8], to: &dyn Fn(i64) -> i64) -> Option<Vec<u8>> {
        let bytes = <[u8; 8]>::try_from(text).ok()?;
        let big = self.moment(MILLIS, i64::from_be_bytes(bytes).into());
        let little = self.moment(SECONDS, i64::from_le_bytes(bytes).into());
        let shift = |moment: i64, scale: Scale| (to(moment) - moment) / scale.unit_ns;
        match (big, little) {
            (Some(moment), _) => Some((i64::from_be_bytes(bytes) + shift(moment, MILLIS)).to_be_bytes().to_vec()),
            (None, Some(moment)) => Some((i64::from_le_bytes(bytes) + shift(moment, SECONDS)).to_le_bytes().to_vec()),
            (None, None) => None,
        }
    }

    /// Whether a clock that reads this reads a moment.
    pub(super) fn has(&self, wall: UnixTime) -> bool {
        (wall.as_nanos() - self.begin.as_nanos()).abs() <= self.reach_ns
    }

    /// The moment that this number is, in nanoseconds from the beginning, if it is one.
    fn moment(&self, scale: Scale, number: i128) -> Option<i64> {
        let since_1970 = (number - scale.of_1970).checked_mul(scale.unit_ns.into())?;
        let moment = i64::try_from(since_1970 - i128::from(self.begin.as_nanos())).ok()?;
        (moment.abs() <= self.reach_ns).then_some(moment)
    }
}

/// `.25` and whatever comes behind it, in nanoseconds.
fn fraction_ns(behind: &[u8]) -> i64 {
    let Some((b'.', digits)) = behind.split_first() else { return 0 };
    let digits = digits.iter().take_while(|byte| byte.is_ascii_digit()).chain(std::iter::repeat(&b'0'));
    digits.take(9).fold(0, |sum, digit| sum * 10 + i64::from(digit - b'0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_of_every_kind_are_moved_and_nothing_else() {
        let begin = UnixTime::from_secs(1_700_000_000).unwrap();
        let stamps = Stamps { begin, reach_ns: 10_000_000_000_000 };
        let later = |text: &[u8]| stamps.moved(text, &|moment| moment + 3_000_000_000);
        for (before, after) in [
            (&b"1700000002"[..], &b"1700000005"[..]),
            (b"1699999999", b"1700000002"),
            (b"1700000002.89", b"1700000005.89"),
            (b"1700000002001", b"1700000005001"),
            (b"1700000002001000", b"1700000005001000"),
            (b"1700000002000000001", b"1700000005000000001"),
            (b"638355968020000000", b"638355968050000000"),
            (b"{\"expire\":1700000002,\"guid\":\"1\"}", b"{\"expire\":1700000005,\"guid\":\"1\"}"),
            (b"1700000002-4100001-1", b"1700000005-4100001-1"),
            (b"\x00\x00\x01\x8b\xcf\xe5\x70\xd0", b"\x00\x00\x01\x8b\xcf\xe5\x7c\x88"),
            (b"2000", b"2000"),
            (b"1800000002", b"1800000002"),
            (b"e75a0000000000000000c11e9db70100", b"e75a0000000000000000c11e9db70100"),
            (b"", b""),
        ] {
            assert_eq!(later(before), after, "{}", String::from_utf8_lossy(before));
        }
        for (before, after) in [(1_700_000_002, 1_700_000_005), (1_700_000_002_000_001, 1_700_000_005_000_001), (7, 7)]
        {
            assert_eq!(stamps.moved_number(before, &|moment| moment + 3_000_000_000), after);
        }
    }
}
