//! Attempts that may have acted and could not be disclaimed, because no reply arrived to that either: the next attempt
//! disclaims them first, so that it does not meet its own value as another client's.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lockshift_lock::{Locker, Owner};

use super::error::Error;
use super::events::ACQUIRE;
use super::interrupted::{Cause, Interrupted};

/// How many are remembered. Older ones are left to their leases.
const MOST: usize = 64;

/// The owners of such attempts, oldest first.
#[derive(Clone, Debug, Default)]
pub(super) struct Undisclaimed(Arc<Mutex<Vec<Owner>>>);

impl Undisclaimed {
    /// Notes how a disclaim of this owner's attempt ended. A disclaim that was refused is not repeated.
    ///
    /// # Errors
    /// No reply arrived: the next attempt repeats the disclaim.
    pub(super) fn note(
        &self,
        locker: &dyn Locker,
        owner: &Owner,
        disclaimed: Result<(), Interrupted>,
    ) -> Result<(), Error> {
        let Err(Interrupted { cause, .. }) = disclaimed else { return Ok(()) };
        log::warn!(target: ACQUIRE, "lock key `{}`: could not disclaim an interrupted attempt: {cause}", locker.key());
        match cause {
            Cause::Fault(_) | Cause::NoSuchServer { .. } => Ok(()),
            Cause::NoReply { .. } => {
                let mut owners = self.owners();
                if owners.len() == MOST {
                    owners.remove(0);
                }
                owners.push(*owner);
                Err(Error::because(locker.key(), cause))
            }
        }
    }

    /// Removes and returns an attempt that `owner` may disclaim. The entries of a re-entrant owner are disclaimed by its own
    /// thread only: another could count them while the thread enters once more.
    pub(super) fn take(&self, locker: &dyn Locker, owner: &Owner) -> Option<Owner> {
        self.take_by(|owner| locker.reentrant_name(owner), owner)
    }

    fn take_by(&self, name_of: impl Fn(&Owner) -> Option<String>, owner: &Owner) -> Option<Owner> {
        let may_disclaim = |earlier: &Owner| {
            let name = name_of(earlier);
            name.is_none() || name == name_of(owner)
        };
        let mut owners = self.owners();
        let place = owners.iter().rposition(may_disclaim)?;
        Some(owners.remove(place))
    }

    fn owners(&self) -> MutexGuard<'_, Vec<Owner>> {
        // Each change is one step.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[test]
fn an_entry_is_disclaimed_by_its_own_thread_only() {
    use lockshift_lock::Token;

    let [one, other] = [1, 2].map(|thread| Owner::new(Token::new([0; 16]), 1, thread));
    let undisclaimed = Undisclaimed::default();
    undisclaimed.owners().push(one);
    let by_thread = |owner: &Owner| Some(owner.thread.to_string());
    assert_eq!(undisclaimed.take_by(by_thread, &other), None);
    assert_eq!(undisclaimed.take_by(by_thread, &one), Some(one));
    undisclaimed.owners().push(one);
    assert_eq!(undisclaimed.take_by(|_| None, &other), Some(one), "a token is of no thread");
}
