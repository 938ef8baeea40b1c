//! What a lock promises under a fault: follows from what the fault damages and from the traits of the protocol.

use std::time::Duration;

use crate::client::Stay;
use crate::protocol_traits::ProtocolTraits;

/// A fault, as a row of the table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FaultRow {
    /// Its name.
    pub(crate) name: &'static str,
    /// What it damages of that which every lock relies on.
    pub(crate) damage: Damage,
    /// How long it may delay a command that was sent.
    pub(crate) delay: Duration,
    /// How the client that it strikes behaves while it holds the lock.
    pub(crate) stay: Stay,
}

impl FaultRow {
    /// A fault that delays no command, with a client that holds the lock for a fixed time.
    pub(crate) const fn new(name: &'static str, damage: Damage) -> Self {
        Self { name, damage, delay: Duration::ZERO, stay: Stay::Fixed }
    }
}

/// What a fault damages of that which every lock relies on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Damage {
    /// Nothing: commands and replies are lost, or late by less than a lease; clients die or stop; the server refuses
    /// commands. Stored data is kept, and clocks run.
    Nothing,
    /// The server loses stored data.
    StoredData,
    /// The server refuses a command, within scripts as well; what a script did before that command is kept.
    Permissions,
    /// The wall clock of a client is stepped.
    WallClock,
}

/// What a lock promises.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Promise {
    /// Why two clients may hold at once; `None`: they never do.
    pub(crate) double_hold: Option<&'static str>,
    /// Why a holder may be notified of a loss that did not happen; `None`: it never is.
    pub(crate) false_loss: Option<&'static str>,
    /// How long after its last holder the lock is free at the latest; `None`: a lock that was not released may never
    /// become free.
    pub(crate) free_after: Option<Duration>,
}

/// What a lock with these traits promises.
pub(crate) fn promise(traits: &ProtocolTraits, damage: Damage) -> Promise {
    let by_nature = [
        (traits.admits_two_winners, "two clients that try at once can both win"),
        (traits.ends_early, "a newcomer may win before the lease has ended"),
    ];
    let by_damage = [
        (damage == Damage::StoredData, "a single server that loses its keys loses its locks"),
        (damage == Damage::WallClock && traits.trusts_clients_clocks, "its clients judge a stamp by their own clocks"),
    ];
    let overwritten = [
        (traits.release_frees_nothing, "its release deletes nothing"),
        (traits.losers_overwrite_winner, "a client that fails to acquire may overwrite the holder's value"),
    ];
    let first = |reasons: &[(bool, &'static str)]| reasons.iter().find(|(is_so, _)| *is_so).map(|(_, why)| *why);
    let double_hold = first(&by_nature).or(first(&by_damage));
    let is_mistimed = damage == Damage::WallClock && traits.trusts_clients_clocks;
    let is_half_done = damage == Damage::Permissions && !traits.disclaims;
    let free_after = traits.free_after_crash.filter(|_| !is_mistimed && !is_half_done);
    Promise { double_hold, false_loss: double_hold.or(first(&overwritten)), free_after }
}
