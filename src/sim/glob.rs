//! Patterns as KEYS, SCAN and PSUBSCRIBE take them: `*`, `?`, `[a-c]`, `[^a]`, `\*`.

/// Whether a name matches a pattern.
pub(crate) fn matches(mut pattern: &[u8], mut name: &[u8]) -> bool {
    // Where to go on if the pattern fails: behind the last star, which then swallows one byte more.
    let mut retry: Option<(&[u8], &[u8])> = None;
    loop {
        if let [b'*', rest @ ..] = pattern {
            retry = Some((rest, name));
            pattern = rest;
            continue;
        }
        let Some((&byte, behind)) = name.split_first() else { return pattern.is_empty() };
        match after_one(pattern, byte) {
            Some(rest) => (pattern, name) = (rest, behind),
            None => {
                let Some((after_star, [_, swallowed @ ..])) = retry else { return false };
                retry = Some((after_star, swallowed));
                (pattern, name) = (after_star, swallowed);
            }
        }
    }
}

/// What follows the first element of the pattern, if that element matches the byte.
fn after_one(pattern: &[u8], byte: u8) -> Option<&[u8]> {
    match pattern {
        [] => None,
        [b'?', rest @ ..] => Some(rest),
        [b'[', b'^', rest @ ..] => {
            let (within, rest) = class(rest, byte);
            (!within).then_some(rest)
        }
        [b'[', rest @ ..] => {
            let (within, rest) = class(rest, byte);
            within.then_some(rest)
        }
        [b'\\', literal, rest @ ..] | [literal, rest @ ..] => (*literal == byte).then_some(rest),
    }
}

/// Whether a byte is in the class that starts here, and what follows the class. An unclosed one ends with the pattern.
fn class(mut pattern: &[u8], byte: u8) -> (bool, &[u8]) {
    let mut within = false;
    loop {
        let (low, high, rest) = match pattern {
            [] => return (within, &[]),
            [b']', rest @ ..] => return (within, rest),
            [b'\\', escaped, rest @ ..] => (escaped, escaped, rest),
            [low, b'-', high, rest @ ..] => (low.min(high), low.max(high), rest),
            [single, rest @ ..] => (single, single, rest),
        };
        within |= (*low..=*high).contains(&byte);
        pattern = rest;
    }
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn patterns() {
        for (pattern, name, expected) in [
            ("*", "", true),
            ("lock:*", "lock:a", true),
            ("lock:*", "lock", false),
            ("*:*:x", "a:b:c:x", true),
            ("*a*b", "xaxbxbx", false),
            ("h?llo", "hello", true),
            ("h?llo", "hllo", false),
            ("h[ae]llo", "hallo", true),
            ("h[^e]llo", "hello", false),
            ("h[a-c]llo", "hbllo", true),
            ("h[c-a]llo", "hbllo", true),
            ("a\\*", "a*", true),
            ("a\\*", "ab", false),
            ("a[b", "ab", true),
            ("", "a", false),
        ] {
            assert_eq!(matches(pattern.as_bytes(), name.as_bytes()), expected, "{pattern} {name}");
        }
    }
}
