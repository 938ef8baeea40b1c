//! What prevents a race: the same scenario with something changed.

use std::time::Duration;

use super::participant::Participant;
use super::protocol::{RaceProtocol, names};
use super::scenario::{Guarding, Scenario};
use crate::legacy::Dialect;
use crate::legacy::catalogue::csharp;

/// What prevents a race: what is changed in its scenario, and why that helps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Remedy {
    /// Which client speaks which protocol.
    pub speaks: Speaks,
    /// Clients that renew do so after so many ticks.
    pub renew_after: Option<u16>,
    /// No release ends the renewal of other locks.
    pub own_renewals: bool,
    /// Clocks that are ahead are ahead by so many milliseconds.
    pub skew_ms: Option<i64>,
    /// The guarded resource refuses a fence older than one it has seen.
    pub checks_fence: bool,
    /// For how many ticks more than its race it is explored, at least.
    pub ticks_beyond: u16,
    /// Why that helps.
    pub because: &'static str,
}

/// For how many ticks more than its race a remedy is explored: the leases of most races have expired by then.
const TICKS_BEYOND: u16 = 3;

/// Which client speaks which protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speaks {
    /// Each what it spoke before.
    AsBefore,
    /// All clients this, and so did the dead one.
    All(RaceProtocol),
    /// Each participant, by place, one of these.
    Each(&'static [RaceProtocol]),
}

impl Remedy {
    /// All clients use the token lock.
    pub(super) const TOKEN: Self = Self::all(
        RaceProtocol::TOKEN,
        "Redis itself ends the lease, no client writes into a key that exists, and each deletes only its own token",
    );

    /// All clients take over by WATCH, MULTI and EXEC.
    pub(super) const WATCHED: Self = Self::old(
        &csharp::SERVICESTACK,
        "the transaction writes only if no client has touched the key since it was read: a loser writes nothing",
    );

    /// Nothing is changed yet.
    pub(super) const fn same(because: &'static str) -> Self {
        let speaks = Speaks::AsBefore;
        let ticks_beyond = TICKS_BEYOND;
        Self {
            speaks,
            renew_after: None,
            own_renewals: false,
            skew_ms: None,
            checks_fence: false,
            ticks_beyond,
            because,
        }
    }

    /// All clients speak this.
    pub(super) const fn all(protocol: RaceProtocol, because: &'static str) -> Self {
        Self { speaks: Speaks::All(protocol), ..Self::same(because) }
    }

    /// All clients speak this old dialect.
    pub(super) const fn old(dialect: &'static Dialect, because: &'static str) -> Self {
        Self::all(RaceProtocol::Dialect(dialect), because)
    }

    /// Each participant, by place, speaks one of these.
    pub(super) const fn each(protocols: &'static [RaceProtocol], because: &'static str) -> Self {
        Self { speaks: Speaks::Each(protocols), ..Self::same(because) }
    }

    /// What prevents it, in a few words: the protocol, and what else is different.
    pub fn name(&self, scenario: &Scenario) -> String {
        let (_, participants) = self.apply(scenario);
        let mut name = names(participants.iter().map(|participant| participant.protocol));
        let renewal = self.renew_after.map(|ticks| format!("renewed after {:?}", scenario.tick * u32::from(ticks)));
        let skew =
            self.skew_ms.map(|ms| format!("clocks at most {:?} apart", Duration::from_millis(ms.unsigned_abs())));
        let own = self.own_renewals.then(|| "a renewal for each lock".to_owned());
        let fence = self.checks_fence.then(|| "a resource that checks the fence".to_owned());
        for more in [renewal, own, skew, fence].into_iter().flatten() {
            name = format!("{name}, {more}");
        }
        name
    }

    /// The scenario and its participants with the changes made.
    pub(super) fn apply(&self, scenario: &Scenario) -> (Scenario, Vec<Participant>) {
        let (mut scenario, mut participants) = (*scenario, scenario.participants.to_vec());
        if self.checks_fence {
            scenario.guard = Some(Guarding::ChecksFence);
        }
        if let Speaks::All(protocol) = self.speaks {
            scenario.setup = scenario.setup.by(protocol);
        }
        for (place, participant) in participants.iter_mut().enumerate() {
            self.change(place, participant);
        }
        (scenario, participants)
    }

    fn change(&self, place: usize, participant: &mut Participant) {
        participant.protocol = match self.speaks {
            Speaks::AsBefore => participant.protocol,
            Speaks::All(protocol) => protocol,
            Speaks::Each(protocols) => protocols.get(place).copied().unwrap_or(participant.protocol),
        };
        participant.renew_after = participant.renew_after.map(|ticks| self.renew_after.unwrap_or(ticks));
        if self.own_renewals {
            participant.ends_renewal_of = None;
        }
        if participant.skew_ms != 0 {
            participant.skew_ms = self.skew_ms.unwrap_or(participant.skew_ms);
        }
    }
}
