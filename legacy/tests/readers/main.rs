//! The readers against the languages that they stand for.
//!
//! - `vectors`: every reader against what its interpreter made of some hundred values
//! - `php_compare`: `"value" < time()` in PHP 7.4 and 8.2
//! - `foreign_values`: who takes over, respects or chokes on whose value
//! - `properties`: no reader panics, and stamps come back as they were written

mod foreign_values;
mod php_compare;
mod properties;
mod vectors;

/// The bytes that `hex` spells.
fn bytes(hex: &str) -> Vec<u8> {
    assert!(hex.len().is_multiple_of(2), "odd hex: {hex}");
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hex")).collect()
}

/// The lines of a measured table without its comments, each split at its tabs.
fn lines(table: &str) -> impl Iterator<Item = Vec<&str>> {
    table.lines().filter(|line| !line.starts_with('#')).map(|line| line.split('\t').collect())
}
