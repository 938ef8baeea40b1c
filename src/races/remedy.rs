//! What prevents a race: the same cast with something changed.

use super::cast::{Cast, Guarding};
use super::player::Player;
use super::protocol::{Protocol, names};

/// What prevents a race.
#[derive(Clone, Copy, Debug)]
pub struct Remedy {
    /// What is changed.
    pub changes: &'static [Change],
    /// Why that helps.
    pub because: &'static str,
}

/// One change to a cast.
#[derive(Clone, Copy, Debug)]
pub enum Change {
    /// Everybody speaks this, and so did the dead.
    All(Protocol),
    /// Each player, by place, speaks its own of these.
    Each(&'static [Protocol]),
    /// Everybody who renews does so after so many ticks.
    RenewAfter(u16),
    /// Nobody ends the renewal of others.
    OwnRenewals,
    /// Everybody whose clock is ahead is so by this.
    Skew(i32),
    /// The guarded resource refuses old fences.
    ChecksFence,
}

impl Remedy {
    /// What prevents it, in a few words: the protocol, and what else is different.
    pub fn name(&self) -> String {
        let names: Vec<String> = self.changes.iter().map(|change| change.name()).collect();
        names.join(", ")
    }

    /// The cast and its players with the changes made.
    pub(super) fn apply(&self, cast: &Cast) -> (Cast, Vec<Player>) {
        let (mut cast, mut players) = (*cast, cast.players.to_vec());
        for change in self.changes {
            change.apply(&mut cast, &mut players);
        }
        (cast, players)
    }
}

impl Change {
    fn name(self) -> String {
        match self {
            Self::All(protocol) => protocol.name(),
            Self::Each(protocols) => names(protocols.iter().copied()),
            Self::RenewAfter(ticks) => format!("renewal after {ticks} ticks"),
            Self::OwnRenewals => "a renewal for each lock".to_owned(),
            Self::Skew(ticks) => format!("clocks at most {ticks} ticks apart"),
            Self::ChecksFence => "a resource that checks fences".to_owned(),
        }
    }

    fn apply(self, cast: &mut Cast, players: &mut [Player]) {
        match self {
            Self::All(protocol) => {
                players.iter_mut().for_each(|player| player.protocol = protocol);
                cast.start = cast.start.by(protocol);
            }
            Self::Each(protocols) => {
                for (player, protocol) in players.iter_mut().zip(protocols) {
                    player.protocol = *protocol;
                }
            }
            Self::RenewAfter(ticks) => {
                for renewal in players.iter_mut().filter_map(|player| player.renew_after.as_mut()) {
                    *renewal = ticks;
                }
            }
            Self::OwnRenewals => players.iter_mut().for_each(|player| player.ends_renewal_of = None),
            Self::Skew(ticks) => {
                for skew in players.iter_mut().map(|player| &mut player.skew).filter(|skew| **skew != 0) {
                    *skew = ticks;
                }
            }
            Self::ChecksFence => cast.guard = Some(Guarding::ChecksFence),
        }
    }
}
