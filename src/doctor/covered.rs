//! Names that a pattern of Redis covers: keys or channels on which a permission can be tried.

use std::ops::RangeInclusive;

/// Two names that this pattern covers, as different as it allows; one, if it covers no other. A permission that has one of them
/// by chance does not have both. Of a class that nothing is in, no name is covered; it is left out.
pub(super) fn covered(pattern: &str) -> Vec<Vec<u8>> {
    let mut names = vec![name(pattern, Choice::First), name(pattern, Choice::Last)];
    names.dedup();
    names
}

/// What stands for that which a pattern leaves open.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Choice {
    /// What is easiest to read.
    First,
    /// Something else.
    Last,
}

impl Choice {
    /// Any text.
    fn text(self) -> &'static [u8] {
        match self {
            Self::First => b"x",
            Self::Last => b"7Q:5-a_0",
        }
    }

    /// Any byte.
    fn byte(self) -> u8 {
        self.text()[0]
    }

    /// A byte that is in none of these ranges.
    fn outside(self, ranges: &[RangeInclusive<u8>]) -> Option<u8> {
        let letters = [self.byte()].into_iter().chain(b'a'..=b'z').chain(b'0'..=b'9').chain(b'!'..=b'~');
        letters.chain(0..=u8::MAX).find(|letter| !ranges.iter().any(|range| range.contains(letter)))
    }

    /// A byte that is in one of these ranges.
    fn inside(self, ranges: &[RangeInclusive<u8>]) -> Option<u8> {
        match self {
            Self::First => ranges.first().map(|range| *range.start()),
            Self::Last => ranges.last().map(|range| *range.end()),
        }
    }
}

fn name(pattern: &str, choice: Choice) -> Vec<u8> {
    let mut rest = pattern.as_bytes();
    let mut name = Vec::new();
    while let [first, behind @ ..] = rest {
        rest = behind;
        match (first, behind) {
            // Stars beside each other cover no more than one.
            (b'*', [b'*', ..]) => {}
            (b'*', _) => name.extend(choice.text()),
            (b'?', _) => name.push(choice.byte()),
            (b'\\', [literal, behind @ ..]) => {
                name.push(*literal);
                rest = behind;
            }
            (b'[', [b'^', behind @ ..]) => {
                let (ranges, behind) = class(behind);
                name.extend(choice.outside(&ranges));
                rest = behind;
            }
            (b'[', _) => {
                let (ranges, behind) = class(behind);
                name.extend(choice.inside(&ranges));
                rest = behind;
            }
            (literal, _) => name.push(*literal),
        }
    }
    name
}

/// The bytes of the class that begins here, and what follows it. As Redis reads it: one that is not closed ends with the
/// pattern, and a range may be the wrong way round.
fn class(mut rest: &[u8]) -> (Vec<RangeInclusive<u8>>, &[u8]) {
    let mut ranges = Vec::new();
    loop {
        let (one, other, behind) = match rest {
            [] => return (ranges, rest),
            [b'\\', escaped, behind @ ..] => (escaped, escaped, behind),
            [b']', behind @ ..] => return (ranges, behind),
            [low, b'-', high, behind @ ..] => (low, high, behind),
            [single, behind @ ..] => (single, single, behind),
        };
        ranges.push(*one.min(other)..=*one.max(other));
        rest = behind;
    }
}

#[test]
fn two_names_are_covered_by_their_pattern() {
    for (pattern, names) in [
        ("lock:*", &["lock:x", "lock:7Q:5-a_0"][..]),
        ("**:lock", &["x:lock", "7Q:5-a_0:lock"]),
        ("lock:[ab]?", &["lock:ax", "lock:b7"]),
        ("{lock:[a-c]?}:fence", &["{lock:ax}:fence", "{lock:c7}:fence"]),
        ("[z-p]", &["p", "z"]),
        ("lock:[^x]", &["lock:a", "lock:7"]),
        ("lock:[^a-z]", &["lock:0", "lock:7"]),
        ("lock:[^0-9]", &["lock:x", "lock:a"]),
        ("[\\]^]", &["]", "^"]),
        ("lock\\:\\*\\\\", &["lock:*\\"]),
        ("a[b", &["ab"]),
        ("a[]b", &["ab"]),
        ("a\\", &["a\\"]),
        ("", &[""]),
    ] {
        let covered: Vec<_> = covered(pattern).iter().map(|name| name.escape_ascii().to_string()).collect();
        let expected: Vec<_> = names.iter().map(|name| name.as_bytes().escape_ascii().to_string()).collect();
        assert_eq!(covered, expected, "{pattern}");
    }
}
