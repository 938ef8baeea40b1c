//! A holder of one protocol and a newcomer of another, on one key.

use std::sync::Arc;
use std::time::Duration;

use super::situation::{NewcomerAttempt, left_by};
use crate::lock::{Locker, Mode};
use crate::wire::UnixTime;

/// What happens when a newcomer of one protocol meets what a holder of another wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meeting {
    /// The protocol of the holder, whose value is in the key.
    pub holder: String,
    /// The protocol of the newcomer.
    pub newcomer: String,
    /// What happens.
    pub verdict: PairVerdict,
}

/// What happens. The values are those that show it, as the newcomer found them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PairVerdict {
    /// The newcomer acquires a lock whose lease is running.
    pub steals: Option<String>,
    /// The newcomer never acquires a lock whose holder has died.
    pub starves: Option<String>,
    /// The newcomer changes what a living holder wrote, and does not acquire.
    pub clobbers: Option<String>,
}

impl PairVerdict {
    /// Whether the newcomer is excluded while the holder lives, and acquires once it has died.
    pub fn excludes(&self) -> bool {
        self.steals.is_none() && self.starves.is_none()
    }
}

/// Lets the newcomer try in the middle of the lease, and long after the holder's death. The holder acquires at the beginning of
/// this second, and again near its end, because many protocols count in whole seconds.
pub fn meet(holder: &Arc<dyn Locker>, newcomer: &Arc<dyn Locker>, now: UnixTime) -> PairVerdict {
    const NEAR_ITS_END: Duration = Duration::from_millis(900);
    let mut verdict = PairVerdict::default();
    let may_share = holder.mode() == Mode::Shared && newcomer.mode() == Mode::Shared;
    let second = UnixTime::from_nanos(now.as_nanos().div_euclid(1_000_000_000) * 1_000_000_000);
    let begins = [second, second.saturating_add(NEAR_ITS_END)];
    for left in begins.into_iter().flat_map(|begin| left_by(holder, begin)) {
        if !may_share {
            verdict.living(left.living.attempt(&**newcomer));
        }
        for dead in left.dead {
            verdict.dead(dead.attempt(&**newcomer));
        }
    }
    verdict
}

/// What a newcomer found that looks for the lock under another name than its holder.
const NO_KEY: &str = "(no key)";

impl PairVerdict {
    fn living(&mut self, attempt: NewcomerAttempt) {
        if attempt.wins {
            self.steals = self.steals.take().or(attempt.found).or_else(|| Some(NO_KEY.to_owned()));
        } else if attempt.changes {
            self.clobbers = self.clobbers.take().or(attempt.found);
        }
    }

    fn dead(&mut self, attempt: NewcomerAttempt) {
        if !attempt.wins {
            self.starves = self.starves.take().or(attempt.found);
        }
    }
}
