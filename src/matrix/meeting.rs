//! A holder of one protocol and a newcomer of another, on one key.

use std::sync::Arc;
use std::time::Duration;

use super::stage::{Stage, Until};
use crate::lock::{Acquired, Locker, Owner, Token};
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

/// Tries that a newcomer makes: some walk in on the second lap only.
const LAPS: u32 = 3;

/// How long after the lease of a dead holder a newcomer still waits: long enough for any tolerance, and for any TTL that
/// is set in the right unit.
const PATIENCE: Duration = Duration::from_secs(3600);

/// Lets the newcomer come in the middle of the lease, and long after the holder's death.
pub fn meet(holder: &Arc<dyn Locker>, newcomer: &Arc<dyn Locker>, now: UnixTime) -> Verdict {
    let mut verdict = Verdict::default();
    let mut last = None;
    for owner in owners() {
        let mut won = Stage::new(now);
        let has_won = matches!(won.try_acquire(&**holder, &owner, Until::End), Some(Acquired::Won(_)));
        let written = won.content(holder.key());
        if !has_won || written == last {
            // Nothing of the owner is in the value: all others write the same.
            break;
        }
        last = written;
        let mut died = Stage::new(now);
        died.try_acquire(&**holder, &owner, Until::FirstWrite);
        verdict.living(&won.at(holder.lease().length() / 2), &**newcomer);
        for dead in [won, died] {
            verdict.dead(&dead.at(holder.lease().length() + PATIENCE), &**newcomer);
        }
    }
    verdict
}

impl Verdict {
    fn living(&mut self, stage: &Stage, newcomer: &dyn Locker) {
        let mut stage = stage.clone();
        let found = stage.content(newcomer.key());
        let wins = (0..LAPS).any(|_| comes(&mut stage, newcomer));
        if wins {
            self.steals = self.steals.take().or(found);
        } else if stage.content(newcomer.key()) != found {
            self.clobbers = self.clobbers.take().or(found);
        }
    }

    fn dead(&mut self, stage: &Stage, newcomer: &dyn Locker) {
        let mut stage = stage.clone();
        let found = stage.content(newcomer.key());
        if !(0..LAPS).any(|_| comes(&mut stage, newcomer)) {
            self.starves = self.starves.take().or(found);
        }
    }
}

fn comes(stage: &mut Stage, newcomer: &dyn Locker) -> bool {
    let owner = Owner { token: Token::new([0xee; 16]), pid: 2, thread: 2 };
    matches!(stage.try_acquire(newcomer, &owner, Until::End), Some(Acquired::Won(_)))
}

/// Holders whose tokens begin with every pair of hex digits, because some readers see a number at the head of a token.
fn owners() -> impl Iterator<Item = Owner> {
    (0..=u8::MAX).map(|head| {
        let mut bytes = [0xd7; 16];
        bytes[0] = head;
        Owner { token: Token::new(bytes), pid: 1, thread: 1 }
    })
}
