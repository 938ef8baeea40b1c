//! What a run has shown, judged by what the witness has seen and against what the row promises.

use std::time::Duration;

use lockshift::driver::Loss;
use lockshift::lock::{Mode, Released};

use crate::history::{self, Verdict};
use crate::nature::Nature;
use crate::promise::Promise;
use crate::witness::{Ending, Log, Outcome, Visit};

/// What a run has shown.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Shown {
    /// How often two were inside at once.
    pub(crate) double_holds: u32,
    /// How often a holder learned of a loss while its lease ran and no other client could have had the lock.
    pub(crate) false_losses: u32,
    /// Whether the lock could not be had when its last lease had ended.
    pub(crate) is_stuck: bool,
    /// Whether a lock can have such a history at all.
    pub(crate) history: Verdict,
    /// From the fault until the lock was next acquired.
    pub(crate) recovery: Option<Duration>,
}

/// What became of the lock when all clients had gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Afterwards {
    Free,
    Stuck,
}

/// What the run has shown.
pub(crate) fn shown(log: &Log, afterwards: Afterwards) -> Shown {
    let recovery = log.struck.and_then(|struck| {
        let won = log.visits.iter().filter(|visit| visit.outcome == Outcome::Won && visit.asked.1 > struck);
        Some(won.map(|visit| visit.asked.1).min()? - struck)
    });
    let count = |many: usize| u32::try_from(many).expect("a run has not that many visits");
    Shown {
        double_holds: count(double_holds(log).count()),
        false_losses: count(log.visits.iter().filter(|visit| is_told_falsely(visit, log)).count()),
        history: history::judge(log),
        is_stuck: afterwards == Afterwards::Stuck,
        recovery,
    }
}

/// What is not as it was promised, in words.
///
/// `delay` is how long the fault may keep a command back that has been sent.
pub(crate) fn broken(log: &Log, shown: &Shown, nature: &Nature, promise: &Promise, delay: Duration) -> Vec<String> {
    let mut broken = Vec::new();
    // A release that was sent in time and ran late is the protocol's own race, where it does not compare.
    let is_excused = nature.frees_others && log.visits.iter().any(|visit| may_be_released_late(visit, delay));
    if promise.double_hold.is_none() && !is_excused {
        let both = double_holds(log).map(|(one, other)| format!("{} and {}", one.client, other.client));
        broken.extend(both.map(|clients| format!("two hold at once: {clients}")));
        let may_lose = promise.false_loss.is_some();
        if broken.is_empty() && !may_lose && shown.history == Verdict::Impossible {
            broken.push("no lock has such a history".to_owned());
        }
    }
    // They judge by different means.
    if shown.double_holds > 0 && shown.history == Verdict::Possible {
        broken.push("two hold at once, in a history that passes as possible".to_owned());
    }
    if promise.false_loss.is_none() && !is_excused && shown.false_losses > 0 {
        broken.push(format!("{} learned of a loss that had not happened", shown.false_losses));
    }
    if promise.free_after.is_some() && shown.is_stuck {
        broken.push("the lock is stuck".to_owned());
    }
    broken
}

/// Pairs that were inside at once, and may not be.
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

/// Whether a holder learned of a loss while its lease ran, and no other client can have had the lock.
fn is_told_falsely(visit: &Visit, log: &Log) -> bool {
    let learned = match (visit.lost, visit.released) {
        (Some((at, Loss::Taken | Loss::Intruded)), _) => at,
        (None, Some((_, at, Ending::Known(Released::Lost | Released::Intruded)))) => at,
        _ => return false,
    };
    let may_have_had = |other: &Visit| {
        let is_other = other.asked != visit.asked || other.client != visit.client;
        is_other
            && other.outcome != Outcome::Refused
            && other.asked.0 <= learned
            && may_have_held_until(other) >= visit.asked.0
    };
    learned < visit.until && !log.visits.iter().any(may_have_had)
}

fn may_have_held_until(visit: &Visit) -> Duration {
    match (visit.outcome, visit.released) {
        (Outcome::Won, Some((_, ended, Ending::Known(_)))) => ended,
        (Outcome::Failed, None) => visit.asked.1,
        _ => Duration::MAX,
    }
}

/// On its way through a machine that has other things to do as well.
const PASSAGE: Duration = Duration::from_millis(150);

/// Whether its release was sent while it held, and may have run when its lease had ended.
fn may_be_released_late(visit: &Visit, delay: Duration) -> bool {
    visit.released.is_some_and(|(began, ended, ending)| {
        let ran_until = match ending {
            Ending::Known(_) => ended,
            Ending::Failed | Ending::Unknown | Ending::Unasked => began + delay + PASSAGE,
        };
        began < visit.until && ran_until >= visit.until
    })
}
