//! A client behind a guard by its name: `guard:` and the old dialect that it speaks, `guard:php-getset`.

use std::sync::Arc;

use super::maker::Maker;
use super::protocol::Protocol;
use super::unsuitable::Unsuitable;
use crate::guard::{Guarded, Lifetime, Rule, Unguardable};
use crate::legacy::Lock;

/// The prefix of every guarded client's name.
const PREFIX: &str = "guard:";

/// The protocol of the client, if this is the name of a client behind a guard.
pub(super) fn client(name: &str) -> Option<&str> {
    name.strip_prefix(PREFIX)
}

/// The name of a client of this protocol behind a guard.
pub(super) fn name(client: &str) -> String {
    format!("{PREFIX}{client}")
}

/// A function that creates a client of this protocol behind a guard.
///
/// # Errors
/// [`Unsuitable::Unguardable`].
pub(super) fn maker(protocol: Protocol) -> Result<Maker, Unsuitable> {
    let refused = |because| Unsuitable::Unguardable { name: protocol.name().to_owned(), because };
    let dialect = protocol.dialect().ok_or_else(|| refused(Unguardable::NotOld))?;
    let rule = Arc::new(Rule::new(&[dialect], Lifetime::BeyondStamp).map_err(refused)?);
    Ok(Arc::new(move |key, lease| Arc::new(Guarded::new(Lock::new(dialect, key, lease), rule.clone()))))
}
