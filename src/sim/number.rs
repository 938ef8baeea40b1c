//! Numbers as Redis reads and writes them.

/// The integer that these bytes spell in the one way that Redis accepts: no `+`, no leading zero, no blank.
pub(super) fn integer(bytes: &[u8]) -> Option<i64> {
    let canonical = match bytes {
        b"0" => true,
        [b'-', b'1'..=b'9', rest @ ..] | [b'1'..=b'9', rest @ ..] => rest.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    if canonical { std::str::from_utf8(bytes).ok()?.parse().ok() } else { None }
}
