//! What a lock promises under a fault: a table of what the fault does to the ground that locks stand on, and of what
//! the protocol is by nature.

use std::time::Duration;

use crate::client::Stay;
use crate::nature::Nature;

/// A fault as its row in the table has it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    /// Its name.
    pub(crate) name: &'static str,
    /// What it does to the ground that locks stand on.
    pub(crate) harm: Harm,
    /// How long it may keep a command back that has been sent.
    pub(crate) delay: Duration,
    /// How the client stays inside that it strikes.
    pub(crate) stay: Stay,
}

impl Row {
    /// A fault that keeps no command back, of a client that stays inside as long as it is asked to.
    pub(crate) const fn new(name: &'static str, harm: Harm) -> Self {
        Self { name, harm, delay: Duration::ZERO, stay: Stay::Fixed }
    }
}

/// What a fault does to the ground that every lock stands on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Harm {
    /// Nothing: commands and replies are lost or late, by less than a lease; clients die or stand still; the server
    /// refuses. What was written stays, and clocks run.
    None,
    /// The server loses what was written.
    State,
    /// The server refuses a command, within scripts as well: what a script did before stays.
    Rights,
    /// The wall clock of a client is stepped.
    WallClock,
}

/// What a lock promises.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Promise {
    /// Why two may hold at once; `None`: they never do.
    pub(crate) double_hold: Option<&'static str>,
    /// Why a holder may learn of a loss that has not happened; `None`: it never does.
    pub(crate) false_loss: Option<&'static str>,
    /// How long after its last holder the lock is free at the latest; `None`: a lock that was not released may stay for
    /// ever.
    pub(crate) free_after: Option<Duration>,
}

/// What a lock of this nature promises.
pub(crate) fn promise(nature: &Nature, harm: Harm) -> Promise {
    let by_nature = [
        (nature.admits_two, "two that try at once can both win"),
        (nature.ends_early, "a newcomer may win before the lease has ended"),
    ];
    let by_harm = [
        (harm == Harm::State, "one server that forgets its keys has no lock any more"),
        (harm == Harm::WallClock && nature.trusts_clients_clocks, "its clients judge a stamp by their own clocks"),
    ];
    let spoilt = [
        (nature.never_frees, "its release deletes nothing"),
        (nature.is_spoilt_by_losers, "who tries in vain may overwrite the holder's value"),
    ];
    let first = |reasons: &[(bool, &'static str)]| reasons.iter().find(|(is_so, _)| *is_so).map(|(_, why)| *why);
    let double_hold = first(&by_nature).or(first(&by_harm));
    let is_mistimed = harm == Harm::WallClock && nature.trusts_clients_clocks;
    let is_half_done = harm == Harm::Rights && !nature.disclaims;
    let free_after = nature.frees_after.filter(|_| !is_mistimed && !is_half_done);
    Promise { double_hold, false_loss: double_hold.or(first(&spoilt)), free_after }
}
