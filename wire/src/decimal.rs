//! A number in decimal, in place: commands are made by the million, and most of them have one.

/// A number in decimal digits.
pub(crate) struct Decimal {
    text: [u8; LONGEST],
    first: usize,
}

const LONGEST: usize = "-9223372036854775808".len();

impl Decimal {
    /// The digits of this number, behind a sign if it is negative.
    pub(crate) fn of(number: i64) -> Self {
        let mut decimal = Self::of_length(number.unsigned_abs());
        if number < 0 {
            decimal.push_front(b'-');
        }
        decimal
    }

    /// The digits of this number.
    pub(crate) fn of_length(number: u64) -> Self {
        let mut decimal = Self { text: [0; LONGEST], first: LONGEST };
        let mut rest = number;
        loop {
            decimal.push_front(b'0' + (rest % 10) as u8);
            rest /= 10;
            if rest == 0 {
                return decimal;
            }
        }
    }

    fn push_front(&mut self, letter: u8) {
        self.first -= 1;
        self.text[self.first] = letter;
    }
}

impl AsRef<[u8]> for Decimal {
    fn as_ref(&self) -> &[u8] {
        &self.text[self.first..]
    }
}

#[test]
fn a_number_is_written_as_the_standard_library_does() {
    use alloc::string::ToString;

    for number in [0, 7, -7, 10, 30_000, -30_000, i64::MAX, i64::MIN] {
        assert_eq!(Decimal::of(number).as_ref(), number.to_string().as_bytes());
    }
    assert_eq!(Decimal::of_length(u64::MAX).as_ref(), u64::MAX.to_string().as_bytes());
}
