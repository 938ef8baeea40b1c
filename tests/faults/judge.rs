//! Judges a run: what the witness recorded, compared with what the lock promises under that fault.

use std::time::Duration;

use lockshift::driver::Loss;
use lockshift::lock::{Mode, Released};

use crate::history::{self, Verdict};
use crate::promise::Promise;
use crate::protocol_traits::ProtocolTraits;
use crate::witness::{Ending, Log, Outcome, Visit};

/// What was observed in a run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Observations {
    /// Pairs of clients that held at once and exclude each other.
    pub(crate) double_holds: u32,
    /// Holders that were notified of a loss while their lease ran and no other client could have held the lock.
    pub(crate) false_losses: u32,
    /// Whether the lock could not be acquired after its last lease had ended.
    pub(crate) is_stuck: bool,
    /// Whether such a history is possible for a lock.
    pub(crate) history: Verdict,
    /// From the fault to the next acquisition.
    pub(crate) recovery: Option<Duration>,
}

/// The lock after all clients have ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FinalState {
    Free,
    Stuck,
}

/// What was observed, according to the witness.
pub(crate) fn observations(log: &Log, final_state: FinalState) -> Observations {
    let recovery = log.struck.and_then(|struck| {
        let won = log.visits.iter().filter(|visit| visit.outcome == Outcome::Won && visit.attempted.1 > struck);
        Some(won.map(|visit| visit.attempted.1).min()? - struck)
    });
    let count = |many: usize| u32::try_from(many).expect("a run has not that many visits");
    Observations {
        double_holds: count(double_holds(log).count()),
        false_losses: count(log.visits.iter().filter(|visit| is_false_loss(visit, log)).count()),
        history: history::judge(log),
        is_stuck: final_state == FinalState::Stuck,
        recovery,
    }
}

/// The promises that were broken, as sentences.
///
/// `delay` is how long the fault may delay a command that was sent.
pub(crate) fn broken_promises(
    log: &Log,
    observations: &Observations,
    traits: &ProtocolTraits,
    promise: &Promise,
    delay: Duration,
) -> Vec<String> {
    let mut broken_promises = Vec::new();
    // If a release does not compare the owner, one that was sent in time and executed late is a race of the protocol.
    let is_excused =
        traits.late_release_frees_next && log.visits.iter().any(|visit| may_be_released_late(visit, delay));
    if promise.double_hold.is_none() && !is_excused {
        let both = double_holds(log).map(|(one, other)| format!("{} and {}", one.client, other.client));
        broken_promises.extend(both.map(|clients| format!("two hold at once: {clients}")));
        let may_lose = promise.false_loss.is_some();
        if broken_promises.is_empty() && !may_lose && observations.history == Verdict::Impossible {
            broken_promises.push("such a history is impossible for a lock".to_owned());
        }
    }
    // The two judges use different means and must agree.
    if observations.double_holds > 0 && observations.history == Verdict::Possible {
        broken_promises.push("two hold at once, in a history that is judged possible".to_owned());
    }
    if promise.false_loss.is_none() && !is_excused && observations.false_losses > 0 {
        broken_promises.push(format!("{} were notified of a loss that did not happen", observations.false_losses));
    }
    if promise.free_after.is_some() && observations.is_stuck {
        broken_promises.push("the lock is stuck".to_owned());
    }
    broken_promises
}

/// Pairs of clients that held at once and exclude each other.
fn double_holds(log: &Log) -> impl Iterator<Item = (&Visit, &Visit)> {
    let exclude = |one: &Visit, other: &Visit| !(one.mode == Mode::Shared && other.mode == Mode::Shared);
    let meet = |one: &Visit, other: &Visit| match (one.inside, other.inside) {
        (Some(one), Some(other)) => one.0.max(other.0) <= one.1.min(other.1),
        _ => false,
    };
    let pairs = log
        .visits
        .iter()
        .enumerate()
        .flat_map(|(place, one)| log.visits[place + 1..].iter().map(move |other| (one, other)));
    pairs.filter(move |(one, other)| exclude(one, other) && meet(one, other))
}

/// Whether a holder was notified of a loss while its lease ran and no other client can have held the lock.
fn is_false_loss(visit: &Visit, log: &Log) -> bool {
    let learned = match (visit.lost, visit.released) {
        (Some((at, Loss::Taken | Loss::Intruded)), _) => at,
        (None, Some((_, at, Ending::Known(Released::Lost | Released::Intruded)))) => at,
        _ => return false,
    };
    let may_have_had = |other: &Visit| {
        let is_other = other.attempted != visit.attempted || other.client != visit.client;
        is_other
            && other.outcome != Outcome::Refused
            && other.attempted.0 <= learned
            && may_have_held_until(other) >= visit.attempted.0
    };
    learned < visit.until && !log.visits.iter().any(may_have_had)
}

fn may_have_held_until(visit: &Visit) -> Duration {
    match (visit.outcome, visit.released) {
        (Outcome::Won, Some((_, ended, Ending::Known(_)))) => ended,
        (Outcome::Failed, None) => visit.attempted.1,
        _ => Duration::MAX,
    }
}

/// Time that a command may need on a busy machine.
const BUSY_MACHINE_DELAY: Duration = Duration::from_millis(150);

/// Whether its release was sent while it held, and may have been executed after its lease had ended.
fn may_be_released_late(visit: &Visit, delay: Duration) -> bool {
    visit.released.is_some_and(|(began, ended, ending)| {
        let ran_until = match ending {
            Ending::Known(_) => ended,
            Ending::Failed | Ending::Unknown | Ending::Unasked => began + delay + BUSY_MACHINE_DELAY,
        };
        began < visit.until && ran_until >= visit.until
    })
}
