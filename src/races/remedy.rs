//! What prevents a race: the same cast with something changed.

use super::cast::{Cast, Guarding};
use super::player::Player;
use super::protocol::{Protocol, names};
use crate::legacy::Dialect;
use crate::legacy::catalogue::csharp;

/// What prevents a race: what is changed in its cast, and why that helps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Remedy {
    /// Who speaks what.
    pub speaks: Speaks,
    /// Everybody who renews does so after so many ticks.
    pub renew_after: Option<u16>,
    /// Nobody's release ends the renewal of others.
    pub own_renewals: bool,
    /// Whose clock is ahead is so by this.
    pub skew: Option<i32>,
    /// The guarded resource refuses a fence older than one it has seen.
    pub checks_fence: bool,
    /// Why that helps.
    pub because: &'static str,
}

/// Who speaks what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speaks {
    /// Everybody what he spoke before.
    AsBefore,
    /// Everybody this, and so did the dead.
    All(Protocol),
    /// Each player, by place, one of these.
    Each(&'static [Protocol]),
}

impl Remedy {
    /// Everybody uses the token lock.
    pub(super) const TOKEN: Self = Self::all(
        Protocol::Token,
        "Redis itself ends the lease, nobody writes into a key that is there, and only the own token is deleted",
    );

    /// Everybody takes over by WATCH, MULTI and EXEC.
    pub(super) const WATCHED: Self = Self::old(
        &csharp::SERVICESTACK,
        "the transaction writes only if nobody has touched the key since it was read: a loser writes nothing",
    );

    /// Nothing is changed yet.
    pub(super) const fn same(because: &'static str) -> Self {
        let speaks = Speaks::AsBefore;
        Self { speaks, renew_after: None, own_renewals: false, skew: None, checks_fence: false, because }
    }

    /// Everybody speaks this.
    pub(super) const fn all(protocol: Protocol, because: &'static str) -> Self {
        Self { speaks: Speaks::All(protocol), ..Self::same(because) }
    }

    /// Everybody speaks this old dialect.
    pub(super) const fn old(dialect: &'static Dialect, because: &'static str) -> Self {
        Self::all(Protocol::Dialect(dialect), because)
    }

    /// Each player, by place, speaks one of these.
    pub(super) const fn each(protocols: &'static [Protocol], because: &'static str) -> Self {
        Self { speaks: Speaks::Each(protocols), ..Self::same(because) }
    }

    /// What prevents it, in a few words: the protocol, and what else is different.
    pub fn name(&self, cast: &Cast) -> String {
        let (_, players) = self.apply(cast);
        let mut name = names(players.iter().map(|player| player.protocol));
        let renewal = self.renew_after.map(|ticks| format!("renewed after {:?}", cast.tick * u32::from(ticks)));
        let skew = self.skew.map(|ticks| format!("clocks at most {:?} apart", cast.tick * ticks.unsigned_abs()));
        let own = self.own_renewals.then(|| "a renewal for each lock".to_owned());
        let fence = self.checks_fence.then(|| "a resource that checks the fence".to_owned());
        for more in [renewal, own, skew, fence].into_iter().flatten() {
            name = format!("{name}, {more}");
        }
        name
    }

    /// The cast and its players with the changes made.
    pub(super) fn apply(&self, cast: &Cast) -> (Cast, Vec<Player>) {
        let (mut cast, mut players) = (*cast, cast.players.to_vec());
        if self.checks_fence {
            cast.guard = Some(Guarding::ChecksFence);
        }
        if let Speaks::All(protocol) = self.speaks {
            cast.start = cast.start.by(protocol);
        }
        for (place, player) in players.iter_mut().enumerate() {
            self.change(place, player);
        }
        (cast, players)
    }

    fn change(&self, place: usize, player: &mut Player) {
        player.protocol = match self.speaks {
            Speaks::AsBefore => player.protocol,
            Speaks::All(protocol) => protocol,
            Speaks::Each(protocols) => protocols.get(place).copied().unwrap_or(player.protocol),
        };
        player.renew_after = player.renew_after.map(|ticks| self.renew_after.unwrap_or(ticks));
        if self.own_renewals {
            player.ends_renewal_of = None;
        }
        if player.skew != 0 {
            player.skew = self.skew.unwrap_or(player.skew);
        }
    }
}
