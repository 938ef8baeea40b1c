//! A client behind a guard by its name: the guard's mode and the old dialect that the client speaks, `guard:php-getset` or
//! `bridge-guard:php-getset`.

use std::sync::Arc;

use super::maker::Maker;
use super::protocol::Protocol;
use super::unsuitable::Unsuitable;
use crate::guard::{Guarded, Lifetime, Rule, Unguardable};
use crate::legacy::Lock;

/// What the guard of a client does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ModeOfGuard {
    /// It holds the client's own key.
    Protect,
    /// It holds the new key as well.
    Bridge,
}

impl ModeOfGuard {
    /// The prefix of the names of its clients.
    const fn prefix(self) -> &'static str {
        match self {
            Self::Protect => "guard:",
            Self::Bridge => "bridge-guard:",
        }
    }
}

/// The mode and the protocol of the client, if this is the name of a client behind a guard.
pub(super) fn client(name: &str) -> Option<(ModeOfGuard, &str)> {
    [ModeOfGuard::Protect, ModeOfGuard::Bridge]
        .into_iter()
        .find_map(|mode| Some((mode, name.strip_prefix(mode.prefix())?)))
}

/// The name of a client of this protocol behind a guard.
pub(super) fn name(mode: ModeOfGuard, client: &str) -> String {
    format!("{}{client}", mode.prefix())
}

/// A function that creates a client of this protocol behind a guard.
///
/// # Errors
/// [`Unsuitable::Unguardable`].
pub(super) fn maker(mode: ModeOfGuard, protocol: Protocol) -> Result<Maker, Unsuitable> {
    let refused = |because| Unsuitable::Unguardable { name: protocol.name().to_owned(), because };
    let dialect = protocol.dialect().ok_or_else(|| refused(Unguardable::NotOld))?;
    let rule = Rule::new(&[dialect], Lifetime::BeyondStamp).and_then(|rule| match mode {
        ModeOfGuard::Protect => Ok(rule),
        ModeOfGuard::Bridge => rule.bridged(),
    });
    let rule = Arc::new(rule.map_err(refused)?);
    Ok(Arc::new(move |key, lease| Arc::new(Guarded::new(Lock::new(dialect, key, lease), rule.clone()))))
}
