//! A client behind a guard by its name: the guard's mode and the old dialect that the client speaks, `guard:php-getset` or
//! `bridge-guard:php-getset`. Other dialects on the same key follow: `guard:php-getset+jedis-lock` is a client of `php-getset`.

use std::sync::Arc;

use super::maker::Maker;
use super::protocol::Protocol;
use super::unsuitable::Unsuitable;
use crate::guard::{Guarded, Lifetime, Rule, Unguardable};
use crate::legacy::Lock;

/// What the guard of a client does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ModeOfGuard {
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

impl ModeOfGuard {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Protect, Self::Bridge];

    /// The name of a client of the first of these dialects behind a guard whose rule names all of them.
    pub fn client_of(self, dialects: &[&str]) -> String {
        format!("{}{}", self.prefix(), dialects.join("+"))
    }
}

/// The mode, and the dialects of the guard's rule, the client's first, if this is the name of a client behind a guard.
pub(super) fn client(name: &str) -> Option<(ModeOfGuard, Vec<&str>)> {
    ModeOfGuard::ALL.into_iter().find_map(|mode| Some((mode, name.strip_prefix(mode.prefix())?.split('+').collect())))
}

/// A function that creates a client of the first of these protocols behind a guard whose rule names all of them.
///
/// # Errors
/// [`Unsuitable::Unguardable`].
pub(super) fn maker(mode: ModeOfGuard, protocols: &[Protocol]) -> Result<Maker, Unsuitable> {
    let names: Vec<_> = protocols.iter().map(|protocol| protocol.name()).collect();
    let refused = |because| Unsuitable::Unguardable { name: names.join("+"), because };
    let dialects: Option<Vec<_>> = protocols.iter().map(|protocol| protocol.dialect()).collect();
    let dialects = dialects.ok_or_else(|| refused(Unguardable::NotOld))?;
    let rule = Rule::new(&dialects, Lifetime::BeyondStamp).and_then(|rule| match mode {
        ModeOfGuard::Protect => Ok(rule),
        ModeOfGuard::Bridge => rule.bridged(),
    });
    let rule = Arc::new(rule.map_err(refused)?);
    let client = dialects[0];
    Ok(Arc::new(move |key, lease| Arc::new(Guarded::new(Lock::new(client, key, lease), rule.clone()))))
}
