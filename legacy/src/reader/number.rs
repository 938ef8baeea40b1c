//! Numbers as the languages have them, and the two ways in which they compare an integer with a float.

use core::cmp::Ordering;

/// A number as the languages have them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// An integer of any width that they use. Ruby's and Python's have no bounds: beyond 128 bits they stop at the end.
    Int(i128),
    /// A 64-bit float.
    Float(f64),
}

/// How a stored value compares with the present time, in the eyes of one language.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// The value is less than now.
    Less,
    /// The value equals now.
    Equal,
    /// The value is greater than now.
    Greater,
    /// Neither: the value became NaN, and every comparison is false.
    Unordered,
    /// The language raises an error, or its parser reports failure.
    Unreadable,
}

impl Number {
    /// The nearest 64-bit float.
    pub fn as_f64(self) -> f64 {
        match self {
            Self::Int(int) => int as f64,
            Self::Float(float) => float,
        }
    }

    /// Compares as PHP, Java, C#, Go and JavaScript do: beside a float, an integer becomes a float first.
    pub(super) fn promoted(self, now: Self) -> Comparison {
        match (self, now) {
            (Self::Int(value), Self::Int(now)) => value.cmp(&now).into(),
            (value, now) => value.as_f64().partial_cmp(&now.as_f64()).into(),
        }
    }

    /// Compares as Python and Ruby do: by the exact values, however large the integer is.
    pub(super) fn exactly(self, now: Self) -> Comparison {
        match (self, now) {
            (Self::Int(value), Self::Int(now)) => value.cmp(&now).into(),
            (Self::Float(value), Self::Float(now)) => value.partial_cmp(&now).into(),
            (Self::Int(value), Self::Float(now)) => int_beside_float(value, now).into(),
            (Self::Float(value), Self::Int(now)) => int_beside_float(now, value).map(Ordering::reverse).into(),
        }
    }
}

/// The integer part first, and the fraction where that ties.
fn int_beside_float(int: i128, float: f64) -> Option<Ordering> {
    let whole = float as i128;
    let fraction = float - whole as f64;
    Some(int.cmp(&whole).then(0.0_f64.partial_cmp(&fraction)?))
}

impl From<Ordering> for Comparison {
    fn from(ordering: Ordering) -> Self {
        match ordering {
            Ordering::Less => Self::Less,
            Ordering::Equal => Self::Equal,
            Ordering::Greater => Self::Greater,
        }
    }
}

impl From<Option<Ordering>> for Comparison {
    /// `None` is what a comparison with NaN gives.
    fn from(ordering: Option<Ordering>) -> Self {
        ordering.map_or(Self::Unordered, Self::from)
    }
}
