//! What a newcomer finds: a holder who lives, or one who has died, on a simulated server.

use std::sync::Arc;
use std::time::Duration;

use super::stage::{Stage, Until};
use crate::lock::{Acquired, Locker, Owner, Token};
use crate::sim::Server;
use crate::wire::UnixTime;

/// What a holder has left in Redis, at the moment at which a newcomer comes.
#[derive(Clone)]
pub struct Situation {
    stage: Stage,
}

/// What comes of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coming {
    /// What the newcomer found in the key; `None` without a key.
    pub found: Option<String>,
    /// Whether it won.
    pub wins: bool,
    /// Whether the key holds something else now.
    pub changes: bool,
}

/// Tries that a newcomer makes: some walk in on the second lap only.
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

    /// Long after the lease of a holder who has died with the lock, or after the first thing that it wrote.
    pub fn dead(holder: &Arc<dyn Locker>, arrival: UnixTime) -> impl Iterator<Item = Self> {
        let late = holder.lease().length() + PATIENCE;
        left_by(holder, before(arrival, late)).flat_map(|left| left.dead)
    }

    /// The server, with all that the holder has left on it.
    pub fn server(&self) -> &Server {
        self.stage.server()
    }

    /// Lets this newcomer try.
    pub fn come(&self, newcomer: &dyn Locker) -> Coming {
        let mut stage = self.stage.clone();
        let found = stage.content(newcomer.key());
        let owner = Owner::new(Token::new([0xee; 16]), 2, 2);
        let mut lap = || matches!(stage.try_acquire(newcomer, &owner, Until::End), Some(Acquired::Won(_)));
        let wins = (0..LAPS).any(|_| lap());
        let changes = stage.content(newcomer.key()) != found;
        Coming { found, wins, changes }
    }
}

/// What one holder leaves: while it lives, and dead in two ways.
pub(super) struct Left {
    pub(super) living: Situation,
    pub(super) dead: [Situation; 2],
}

/// What a holder leaves who begins at this moment, for every kind of owner that makes a difference.
pub(super) fn left_by(holder: &Arc<dyn Locker>, begin: UnixTime) -> impl Iterator<Item = Left> {
    let lease = holder.lease().length();
    let mut last = None;
    owners().map_while(move |owner| {
        let mut won = Stage::new(begin);
        let has_won = matches!(won.try_acquire(&**holder, &owner, Until::End), Some(Acquired::Won(_)));
        if !has_won || last.as_ref() == Some(won.server()) {
            // Nothing of the owner is in what it writes: all others write the same.
            return None;
        }
        last = Some(won.server().clone());
        let mut died = Stage::new(begin);
        died.try_acquire(&**holder, &owner, Until::FirstWrite);
        let living = Situation { stage: won.at(lease / 2) };
        Some(Left { living, dead: [won, died].map(|dead| Situation { stage: dead.at(lease + PATIENCE) }) })
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
