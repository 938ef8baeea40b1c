//! A name that a pattern of Redis covers: a key or channel on which a permission can be tried.

/// A name that this pattern covers. Of a class that nothing is in, no name is covered; it is left out.
pub(super) fn covered(pattern: &str) -> Vec<u8> {
    let mut rest = pattern.as_bytes();
    let mut name = Vec::new();
    while let [first, behind @ ..] = rest {
        rest = behind;
        match (first, behind) {
            // Stars beside each other cover no more than one.
            (b'*', [b'*', ..]) => {}
            (b'*' | b'?', _) => name.push(ANY),
            (b'\\', [literal, behind @ ..]) => {
                name.push(*literal);
                rest = behind;
            }
            (b'[', [b'^', behind @ ..]) => {
                let (ranges, behind) = class(behind);
                name.extend(letters().find(|letter| !ranges.iter().any(|range| range.contains(letter))));
                rest = behind;
            }
            (b'[', _) => {
                let (ranges, behind) = class(behind);
                name.extend(ranges.first().map(|range| *range.start()));
                rest = behind;
            }
            (literal, _) => name.push(*literal),
        }
    }
    name
}

/// What stands for any text.
const ANY: u8 = b'x';

/// What can stand for a byte that is not in a class: that which is easiest to read first.
fn letters() -> impl Iterator<Item = u8> {
    std::iter::once(ANY).chain(b'a'..=b'z').chain(b'0'..=b'9').chain(b'!'..=b'~').chain(0..=u8::MAX)
}

/// The bytes of the class that begins here, and what follows it. As Redis reads it: one that is not closed ends with the
/// pattern, and a range may be the wrong way round.
fn class(mut rest: &[u8]) -> (Vec<std::ops::RangeInclusive<u8>>, &[u8]) {
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
fn a_name_is_covered_by_its_pattern() {
    for (pattern, name) in [
        ("lock:*", "lock:x"),
        ("**:lock", "x:lock"),
        ("lock:[ab]*", "lock:ax"),
        ("{lock:[a-c]?}:fence", "{lock:ax}:fence"),
        ("[z-p]", "p"),
        ("lock:[^x]", "lock:a"),
        ("lock:[^a-z]", "lock:0"),
        ("[\\]^]", "]"),
        ("lock\\:\\*\\\\", "lock:*\\"),
        ("a[b", "ab"),
        ("a[]b", "ab"),
        ("a\\", "a\\"),
        ("", ""),
    ] {
        assert_eq!(covered(pattern).escape_ascii().to_string(), name.escape_debug().to_string(), "{pattern}");
    }
}
