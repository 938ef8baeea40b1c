//! A holder of one protocol and a newcomer of another, on one key.

use std::sync::Arc;

use super::situation::{Coming, left_by};
use crate::lock::{Locker, Mode};
use crate::wire::UnixTime;

/// What happens when a newcomer of one protocol meets what a holder of another wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meeting {
    /// Whose value is in the key.
    pub holder: String,
    /// Who comes.
    pub newcomer: String,
    /// What happens.
    pub verdict: Verdict,
}

/// What happens. The values are those that show it, as the newcomer found them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// It takes a lock whose lease is running.
    pub steals: Option<String>,
    /// It never gets a lock whose holder has died.
    pub starves: Option<String>,
    /// It changes what a living holder wrote, and does not win.
    pub clobbers: Option<String>,
}

impl Verdict {
    /// Whether the two may share a key: nothing is stolen, nobody starves.
    pub fn is_safe(&self) -> bool {
        self.steals.is_none() && self.starves.is_none()
    }
}

/// Lets the newcomer come in the middle of the lease, and long after the holder's death.
pub fn meet(holder: &Arc<dyn Locker>, newcomer: &Arc<dyn Locker>, now: UnixTime) -> Verdict {
    let mut verdict = Verdict::default();
    let may_share = holder.mode() == Mode::Shared && newcomer.mode() == Mode::Shared;
    for left in left_by(holder, now) {
        if !may_share {
            verdict.living(left.living.come(&**newcomer));
        }
        for dead in left.dead {
            verdict.dead(dead.come(&**newcomer));
        }
    }
    verdict
}

/// What a newcomer found that looks for the lock under another name than its holder.
const NO_KEY: &str = "(no key)";

impl Verdict {
    fn living(&mut self, coming: Coming) {
        if coming.wins {
            self.steals = self.steals.take().or(coming.found).or_else(|| Some(NO_KEY.to_owned()));
        } else if coming.changes {
            self.clobbers = self.clobbers.take().or(coming.found);
        }
    }

    fn dead(&mut self, coming: Coming) {
        if !coming.wins {
            self.starves = self.starves.take().or(coming.found);
        }
    }
}
