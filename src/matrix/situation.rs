//! What a newcomer finds on a simulated server: the lock of a living holder, or that of a dead one.

use std::sync::Arc;
use std::time::Duration;

use crate::lock::{Acquired, Locker, Owner, Token};
use crate::rehearsal::Rehearsal;
use crate::sim::{Server, Session};
use crate::wire::UnixTime;

/// What a holder has left in Redis, at the moment at which a newcomer comes.
#[derive(Clone)]
pub struct Situation {
    rehearsal: Rehearsal,
}

/// What comes of an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewcomerAttempt {
    /// What the newcomer found in the key; `None` without a key.
    pub found: Option<String>,
    /// Whether it won.
    pub wins: bool,
    /// Whether the key holds something else now.
    pub changes: bool,
}

/// Attempts of a newcomer: some protocols acquire a lock that is held on the second attempt only.
pub const LAPS: u32 = 3;

/// How long after the lease of a dead holder a newcomer still waits: long enough for any tolerance, and for any TTL that
/// is set in the right unit.
const PATIENCE: Duration = Duration::from_secs(3600);

impl Situation {
    /// In the middle of the lease. One for every kind of owner that makes a difference to what is in the key.
    pub fn living(holder: &Arc<dyn Locker>, arrival: UnixTime) -> impl Iterator<Item = Self> {
        let halfway = holder.lease().length() / 2;
        left_by(holder, before(arrival, halfway)).map(|left| left.living)
    }

    /// Long after the lease of a holder that died with the lock, or after its first write.
    pub fn dead(holder: &Arc<dyn Locker>, arrival: UnixTime) -> impl Iterator<Item = Self> {
        let late = holder.lease().length() + PATIENCE;
        left_by(holder, before(arrival, late)).flat_map(|left| left.dead)
    }

    /// The server, with all that the holder has left on it.
    pub fn server(&self) -> &Server {
        self.rehearsal.server()
    }

    /// Lets this newcomer try to acquire.
    pub fn attempt(&self, newcomer: &dyn Locker) -> NewcomerAttempt {
        let mut rehearsal = self.rehearsal.clone();
        let found = rehearsal.content(newcomer.key());
        let owner = Owner::new(Token::new([0xee; 16]), 2, 2);
        let session = Session(owner.pid);
        let mut lap = || {
            let acquired = rehearsal.run(session, |redis| newcomer.acquire(&owner, redis));
            if acquired.is_none() {
                rehearsal.disconnect(session);
            }
            matches!(acquired, Some(Acquired::Won(_)))
        };
        let wins = (0..LAPS).any(|_| lap());
        let changes = rehearsal.content(newcomer.key()) != found;
        NewcomerAttempt { found, wins, changes }
    }
}

/// What one holder leaves behind: while it lives, and dead in two ways.
pub(super) struct LeftBehind {
    pub(super) living: Situation,
    pub(super) dead: [Situation; 2],
}

/// What a holder leaves behind that acquires at this moment, for every kind of owner that makes a difference.
pub(super) fn left_by(holder: &Arc<dyn Locker>, begin: UnixTime) -> impl Iterator<Item = LeftBehind> {
    let lease = holder.lease().length();
    let mut last = None;
    owners().map_while(move |owner| {
        let session = Session(owner.pid);
        let mut won = Rehearsal::at(begin);
        let has_won = matches!(won.run(session, |redis| holder.acquire(&owner, redis)), Some(Acquired::Won(_)));
        if !has_won || last.as_ref() == Some(won.server()) {
            // Nothing of the owner is in what it writes: all others write the same.
            return None;
        }
        last = Some(won.server().clone());
        let mut died = Rehearsal::at(begin);
        let _outcome = died.run_until_write(holder.key(), session, |redis| holder.acquire(&owner, redis));
        let at = |rehearsal: &Rehearsal, elapsed| Situation { rehearsal: rehearsal.after(elapsed) };
        let living = at(&won, lease / 2);
        Some(LeftBehind { living, dead: [won, died].map(|dead| at(&dead, lease + PATIENCE)) })
    })
}

/// Holders whose tokens begin with every pair of hex digits, because some readers see a number at the head of a token.
fn owners() -> impl Iterator<Item = Owner> {
    (0..=u8::MAX).map(|head| {
        let mut bytes = [0xd7; 16];
        bytes[0] = head;
        Owner::new(Token::new(bytes), 1, 1)
    })
}

fn before(moment: UnixTime, by: Duration) -> UnixTime {
    let nanos = i64::try_from(by.as_nanos()).unwrap_or(i64::MAX);
    UnixTime::from_nanos(moment.as_nanos().saturating_sub(nanos))
}
