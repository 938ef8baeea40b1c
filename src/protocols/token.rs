//! The token lock, by name.

use std::sync::Arc;

use super::maker::Maker;
use crate::modern::TokenLock;

pub(super) const SOURCE: &str = "Redis documentation, Distributed Locks with Redis; SET page, Patterns";
pub(super) const ENCODING: &str = "32 hex digits";

pub(super) fn options() -> Vec<String> {
    vec![]
}

/// The first option that it does not have is the error.
pub(super) fn maker<'a>(mut options: impl Iterator<Item = (&'a str, &'a str)>) -> Result<Maker, (&'a str, &'a str)> {
    match options.next() {
        Some(option) => Err(option),
        None => Ok(Arc::new(|key, lease| Arc::new(TokenLock::new(key, lease)))),
    }
}
