//! Judges whether a history is linearizable for a lock with leases: whether its operations, each at some moment between its
//! call and its return, have an order in which a lock would have answered the same. The search is Wing and Gong's with a
//! memory of visited states.
//!
//! An operation whose outcome is unknown may have taken effect at any time after its call, or never. A lease may end by
//! itself when its holder may no longer rely on it, not before.

use std::collections::HashSet;
use std::time::Duration;

use lockshift::lock::{Mode, Released};

use crate::witness::{Ending, Log, Outcome, Stamp};

/// One operation of a visit.
#[derive(Clone, Debug)]
struct Operation {
    visit: usize,
    kind: OperationKind,
    began: Stamp,
    /// `None`: it may take effect at any later time, or never.
    ended: Option<Stamp>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OperationKind {
    /// Acquires for a lease that ends at this moment or later, exclusively or shared.
    Acquire { until: Stamp, is_shared: bool },
    /// Relies on holding.
    Rely,
    /// Releases.
    Free,
    /// Finds that it no longer holds.
    FindsLost,
}

/// The lock at a moment.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    /// The visits that hold, each with the earliest end of its lease; several only if they share the lock.
    holders: Vec<(usize, Stamp)>,
    is_shared: bool,
    /// The operations so far took effect at this moment or earlier ones.
    now: Stamp,
}

/// The verdict on a history.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Such an order exists.
    Possible,
    /// No such order exists.
    Impossible,
    /// The history has too many operations or orders to decide.
    #[default]
    Undecided,
}

/// The search ends undecided after this many states.
const MOST_STATES: usize = 200_000;

/// Judges a history. Refusals are not judged, because another waiter may have caused them.
pub(crate) fn judge(log: &Log) -> Verdict {
    let operations = operations(log);
    if operations.len() > 128 {
        return Verdict::Undecided;
    }
    let mut search = Search { operations: &operations, tried: HashSet::new() };
    match search.can_continue(0, &START) {
        Some(true) => Verdict::Possible,
        Some(false) => Verdict::Impossible,
        None => Verdict::Undecided,
    }
}

const START: State = State { holders: Vec::new(), is_shared: false, now: Duration::ZERO };

fn operations(log: &Log) -> Vec<Operation> {
    let mut operations = Vec::new();
    for (index, visit) in log.visits.iter().enumerate() {
        let mut add = |kind, began, ended| operations.push(Operation { visit: index, kind, began, ended });
        let (attempted, answered) = visit.attempted;
        let is_shared = visit.mode == Mode::Shared;
        match visit.outcome {
            Outcome::Won => add(OperationKind::Acquire { until: visit.until, is_shared }, attempted, Some(answered)),
            Outcome::Unknown => {
                add(OperationKind::Acquire { until: attempted + visit.lease, is_shared }, attempted, None);
                // The driver removes what the attempt may have acquired.
                add(OperationKind::Free, attempted, None);
            }
            // What a failed attempt may have left is removed, and no client relies on it.
            Outcome::Refused | Outcome::Failed => {}
        }
        for at in visit.inside.into_iter().flat_map(|(since, last)| [since, last]) {
            add(OperationKind::Rely, at, Some(at));
        }
        match visit.released {
            // After its lease has ended any answer is possible: the driver need not have asked the server.
            Some((began, ..)) if began >= visit.until => add(OperationKind::Free, began, None),
            Some((began, ended, Ending::Known(Released::Freed | Released::StillHeld))) => {
                add(OperationKind::Free, began, Some(ended));
            }
            Some((began, ended, Ending::Known(Released::Lost))) => add(OperationKind::FindsLost, began, Some(ended)),
            Some((began, _, Ending::Failed | Ending::Unknown | Ending::Unasked)) => {
                add(OperationKind::Free, began, None)
            }
            Some((_, _, Ending::Known(Released::LeftAlone | Released::Intruded))) | None => {}
        }
    }
    operations.sort_by_key(|operation| operation.began);
    operations
}

struct Search<'a> {
    operations: &'a [Operation],
    tried: HashSet<(u128, State)>,
}

impl Search<'_> {
    /// Whether the remaining operations can follow; `None`: undecided.
    fn can_continue(&mut self, done: u128, state: &State) -> Option<bool> {
        let is_open = |place: &usize| done & 1 << place == 0;
        let open: Vec<usize> = (0..self.operations.len()).filter(is_open).collect();
        let Some(first_return) = open.iter().filter_map(|place| self.operations[*place].ended).min() else {
            return Some(true);
        };
        if self.tried.len() == MOST_STATES {
            return None;
        }
        if !self.tried.insert((done, state.clone())) {
            return Some(false);
        }
        for place in open {
            let operation = &self.operations[place];
            if operation.began > first_return {
                continue;
            }
            if let Some(next) = step(state, operation) {
                match self.can_continue(done | 1 << place, &next) {
                    Some(false) => {}
                    known => return known,
                }
            }
        }
        Some(false)
    }
}

/// The lock after this operation, if it can be the next.
fn step(state: &State, operation: &Operation) -> Option<State> {
    let now = state.now.max(operation.began);
    let latest = operation.ended.unwrap_or(Stamp::MAX);
    if now > latest {
        return None;
    }
    let mine = state.holders.iter().position(|(visit, _)| *visit == operation.visit);
    let without = |place: usize, now| {
        let mut holders = state.holders.clone();
        holders.remove(place);
        State { holders, now, ..*state }
    };
    match operation.kind {
        OperationKind::Acquire { until, is_shared } if is_shared && state.is_shared => {
            let mut holders = state.holders.clone();
            holders.push((operation.visit, until));
            Some(State { holders, is_shared, now })
        }
        OperationKind::Acquire { until, is_shared } => {
            let now = state.holders.iter().fold(now, |now, (_, ends)| now.max(*ends));
            (now <= latest).then(|| State { holders: vec![(operation.visit, until)], is_shared, now })
        }
        OperationKind::Rely => mine.map(|_| State { now, ..state.clone() }),
        // Operations that may have no effect can be left out of the order.
        OperationKind::Free => mine.map(|place| without(place, now)),
        OperationKind::FindsLost => match mine {
            Some(place) => {
                let now = now.max(state.holders[place].1);
                (now <= latest).then(|| without(place, now))
            }
            None => Some(State { now, ..state.clone() }),
        },
    }
}

/// Checks the judge with possible and impossible histories: a judge that accepts everything would let every run pass.
pub(crate) fn assert_judges() {
    use crate::witness::{Event, Visit, Witness};

    let ms = Duration::from_millis;
    type Inside = Option<(u64, u64)>;
    let visit_in =
        |mode, client, attempted: (u64, u64), outcome, inside: Inside, released: Option<(u64, u64, Ending)>| {
            let witness = Witness::default();
            let visit = witness.begin(client, mode, ms(100));
            witness.note(visit, Event::Attempts(ms(attempted.0)));
            witness.note(visit, Event::Answered(ms(attempted.1), outcome));
            for at in inside.into_iter().flat_map(|(since, last)| [since, last]) {
                witness.note(visit, Event::Inside(ms(at), ms(attempted.0 + 100).saturating_sub(ms(at))));
            }
            if let Some((began, ended, ending)) = released {
                witness.note(visit, Event::Releases(ms(began)));
                witness.note(visit, Event::Released(ms(ended), ending));
            }
            witness.log(|log| log.visits.remove(0))
        };
    let freed = Ending::Known(Released::Freed);
    let lost = Ending::Known(Released::Lost);
    let won = |client, attempted, inside, released| {
        visit_in(Mode::Exclusive, client, attempted, Outcome::Won, Some(inside), released)
    };
    let reads = |client, attempted, inside, released| {
        visit_in(Mode::Shared, client, attempted, Outcome::Won, Some(inside), released)
    };
    let unknown = |client, attempted| visit_in(Mode::Exclusive, client, attempted, Outcome::Unknown, None, None);
    let assert_is = |verdict: Verdict, visits: Vec<Visit>, why: &str| {
        assert_eq!(judge(&Log { visits, struck: None }), verdict, "{why}");
    };
    let possible = |visits, why: &str| assert_is(Verdict::Possible, visits, why);
    let impossible = |visits, why: &str| assert_is(Verdict::Impossible, visits, why);

    let one = won(1, (0, 10), (11, 20), Some((21, 30, freed)));
    possible(vec![one.clone(), won(2, (5, 40), (41, 50), Some((51, 60, freed)))], "one after the other");
    impossible(vec![one.clone(), won(2, (5, 14), (15, 18), None)], "both inside");
    impossible(vec![won(1, (0, 10), (11, 50), None), won(2, (60, 70), (71, 80), None)], "the lease runs");
    possible(vec![won(1, (0, 10), (11, 50), None), won(2, (60, 130), (131, 132), None)], "it has ended");
    impossible(vec![won(1, (0, 10), (11, 20), Some((21, 30, lost)))], "no other client had it");
    possible(vec![won(1, (0, 10), (11, 20), Some((21, 130, lost)))], "its lease may have ended meanwhile");
    possible(vec![unknown(3, (0, 10)), won(1, (20, 30), (31, 40), Some((41, 50, freed)))], "it had no effect");
    impossible(
        vec![unknown(3, (0, 10)), won(1, (5, 30), (31, 40), Some((41, 50, lost)))],
        "no late command wins while a lease runs",
    );
    let unsure = won(1, (0, 10), (11, 20), Some((21, 30, Ending::Unknown)));
    possible(vec![unsure.clone(), won(2, (31, 40), (41, 50), None)], "its release had effect");
    possible(vec![unsure.clone(), won(2, (121, 140), (141, 150), None)], "or had none");
    let second = won(2, (31, 40), (41, 60), None);
    impossible(vec![unsure, second, won(3, (50, 55), (56, 58), None)], "it can only have freed its own");
    let reader = reads(1, (0, 10), (11, 50), Some((51, 60, freed)));
    possible(vec![reader.clone(), reads(2, (5, 15), (16, 40), Some((41, 45, freed)))], "two share it");
    impossible(vec![reader.clone(), won(2, (5, 15), (16, 40), None)], "a writer beside a reader");
    let both = [reader, reads(2, (5, 15), (16, 70), Some((71, 75, freed)))];
    let and = |writer: Visit| both.iter().cloned().chain([writer]).collect::<Vec<_>>();
    impossible(and(won(3, (52, 65), (66, 68), None)), "one of two readers has left");
    possible(and(won(3, (52, 80), (81, 85), None)), "both readers have left");
    let crowd = (0..60).map(|number| won(number, (0, 10_000), (5_000, 5_001), None));
    assert_is(Verdict::Undecided, crowd.collect(), "too many operations");
}
