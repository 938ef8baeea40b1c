//! From a name to a lock protocol on a key.

use std::sync::Arc;
use std::time::Duration;

use super::error::ChooseError;
use crate::bridge::Bridge;
use crate::legacy;
use crate::lock::{Lease, Locker};
use crate::modern::{FairLock, Publish, TokenLock};
use crate::protocols::{Choice, Unsuitable, find};
use crate::wire::Key;

/// A lock protocol, or why there is none.
pub(super) type Chosen = Result<Arc<dyn Locker>, ChooseError>;

pub(super) fn token(key: Key, lease: Duration) -> Chosen {
    Ok(Arc::new(TokenLock::new(key, Lease::new(lease)?).announced(Publish::Everywhere)))
}

pub(super) fn fair(key: Key, lease: Duration) -> Chosen {
    Ok(Arc::new(FairLock::new(key, Lease::new(lease)?)))
}

pub(super) fn protocol(name: &str, key: Key, lease: Duration) -> Chosen {
    let choice: Choice = name.parse()?;
    if choice.spans_servers() {
        return Err(ChooseError::SeveralServers(name.to_owned()));
    }
    Ok(chosen(&choice, key, Lease::new(lease)?))
}

pub(super) fn legacy(name: &str, key: Key, lease: Duration) -> Chosen {
    let choice: Choice = name.parse()?;
    if choice.protocol().dialect().is_none() {
        return Err(ChooseError::NotLegacy(name.to_owned()));
    }
    Ok(chosen(&choice, key, Lease::new(lease)?))
}

pub(super) fn bridge(fleet: &[&str], key: Key, lease: Duration) -> Chosen {
    let row = |name: &&str| match legacy::find(name) {
        Some(dialect) => Ok(dialect),
        None => Err(find(name).err().map_or_else(|| ChooseError::NotLegacy((*name).to_owned()), unsuitable)),
    };
    let fleet: Vec<_> = fleet.iter().map(row).collect::<Result<_, _>>()?;
    Ok(Arc::new(Bridge::new(&fleet, key, Lease::new(lease)?)?))
}

/// A lock that fails on a key of another type, even where its old clients would acquire and delete what stands there. Only
/// those locks ask for the type: the commands of the others are refused, or leave it alone.
fn chosen(choice: &Choice, key: Key, lease: Lease) -> Arc<dyn Locker> {
    if choice.mistakes_types() { choice.typed_locker(key, lease) } else { choice.locker(key, lease) }
}

fn unsuitable(error: Unsuitable) -> ChooseError {
    error.into()
}
