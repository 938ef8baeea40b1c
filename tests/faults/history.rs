//! Whether a history is one that a lock can have: an order of its operations, each somewhere between its call and its
//! return, in which everything is as a lock with leases would have answered (Wing and Gong's search, remembering what
//! has been tried).
//!
//! An operation whose outcome is unknown may have taken effect at any time after its call, or never. A lease may end by
//! itself when its holder may no longer rely on it, not before.

use std::collections::HashSet;
use std::time::Duration;

use lockshift::lock::{Mode, Released};

use crate::witness::{Ending, Log, Outcome, Stamp};

/// One operation; `who` is the visit that it belongs to.
#[derive(Clone, Debug)]
struct Operation {
    who: usize,
    does: Does,
    began: Stamp,
    /// `None`: it may have no effect at all, and if it has, then at any time.
    ended: Option<Stamp>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Does {
    /// Acquires for a lease that ends at this moment or later.
    Acquire(Stamp),
    /// Goes by the lock that it holds.
    Rely,
    /// Frees it.
    Free,
    /// Finds that it does not hold it any more.
    MissIt,
}

/// The lock, at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct State {
    /// Who holds, and when the lease may end.
    holder: Option<(usize, Stamp)>,
    /// The operations until here took effect at this moment or later.
    now: Stamp,
}

/// How far the search goes: a history that it cannot judge within that many states passes.
const MOST_STATES: usize = 200_000;

/// Whether there is such an order. Histories of shared locks, and of more operations than fit a word, are not judged.
pub(crate) fn is_possible(log: &Log) -> bool {
    if log.visits.iter().any(|visit| visit.mode == Mode::Shared) {
        return true;
    }
    let operations = operations(log);
    operations.len() > 128 || Search { operations: &operations, tried: HashSet::new() }.goes_on(0, START)
}

const START: State = State { holder: None, now: Duration::ZERO };

fn operations(log: &Log) -> Vec<Operation> {
    let mut operations = Vec::new();
    for (who, visit) in log.visits.iter().enumerate() {
        let mut add = |does, began, ended| operations.push(Operation { who, does, began, ended });
        let (asked, answered) = visit.asked;
        match visit.outcome {
            Outcome::Won => add(Does::Acquire(visit.until), asked, Some(answered)),
            Outcome::Unknown => {
                add(Does::Acquire(asked + visit.lease), asked, None);
                // The driver takes back what it may have won.
                add(Does::Free, asked, None);
            }
            // What may be left of an error is taken back, and nobody goes by it.
            Outcome::Refused | Outcome::Failed => {}
        }
        for at in visit.inside.into_iter().flat_map(|(since, last)| [since, last]) {
            add(Does::Rely, at, Some(at));
        }
        match visit.released {
            // It may say what it likes when its lease has ended: it need not have asked the server.
            Some((began, ..)) if began >= visit.until => add(Does::Free, began, None),
            Some((began, ended, Ending::Known(Released::Freed | Released::StillHeld))) => {
                add(Does::Free, began, Some(ended));
            }
            Some((began, ended, Ending::Known(Released::Lost))) => add(Does::MissIt, began, Some(ended)),
            Some((began, _, Ending::Failed | Ending::Unknown | Ending::Unasked)) => add(Does::Free, began, None),
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
    /// Whether what is not done yet can follow.
    fn goes_on(&mut self, done: u128, state: State) -> bool {
        let is_open = |place: &usize| done & 1 << place == 0;
        let open: Vec<usize> = (0..self.operations.len()).filter(is_open).collect();
        let Some(first_return) = open.iter().filter_map(|place| self.operations[*place].ended).min() else {
            return true;
        };
        if self.tried.len() == MOST_STATES {
            return true;
        }
        if !self.tried.insert((done, state)) {
            return false;
        }
        open.into_iter().any(|place| {
            let operation = &self.operations[place];
            operation.began <= first_return
                && step(state, operation).is_some_and(|state| self.goes_on(done | 1 << place, state))
        })
    }
}

/// The lock after this operation, if it can be the next.
fn step(state: State, operation: &Operation) -> Option<State> {
    let now = state.now.max(operation.began);
    let latest = operation.ended.unwrap_or(Stamp::MAX);
    if now > latest {
        return None;
    }
    let is_mine = state.holder.is_some_and(|(who, _)| who == operation.who);
    match operation.does {
        Does::Acquire(until) => {
            let now = state.holder.map_or(now, |(_, ends)| now.max(ends));
            (now <= latest).then_some(State { holder: Some((operation.who, until)), now })
        }
        Does::Rely => is_mine.then_some(State { now, ..state }),
        Does::Free if is_mine => Some(State { holder: None, now }),
        // What may have no effect need not be in the order.
        Does::Free => None,
        Does::MissIt => match state.holder {
            Some((_, ends)) if is_mine => {
                (now.max(ends) <= latest).then_some(State { holder: None, now: now.max(ends) })
            }
            _ => Some(State { now, ..state }),
        },
    }
}

/// These are judged before anything else is: a judge that lets everything pass would make every run a success.
pub(crate) fn assert_judges() {
    use crate::witness::{Event, Visit, Witness};

    let ms = Duration::from_millis;
    let visit =
        |client, asked: (u64, u64), outcome, inside: Option<(u64, u64)>, released: Option<(u64, u64, Ending)>| {
            let witness = Witness::default();
            let visit = witness.begin(client, Mode::Exclusive, ms(100));
            witness.note(visit, Event::Asks(ms(asked.0)));
            witness.note(visit, Event::Answered(ms(asked.1), outcome));
            for at in inside.into_iter().flat_map(|(since, last)| [since, last]) {
                witness.note(visit, Event::Inside(ms(at), ms(asked.0 + 100).saturating_sub(ms(at))));
            }
            if let Some((began, ended, ending)) = released {
                witness.note(visit, Event::Releases(ms(began)));
                witness.note(visit, Event::Released(ms(ended), ending));
            }
            witness.log(|log| log.visits.remove(0))
        };
    let freed = Ending::Known(Released::Freed);
    let lost = Ending::Known(Released::Lost);
    let won = |client, asked, inside, released| visit(client, asked, Outcome::Won, Some(inside), released);
    let possible = |visits: Vec<Visit>| is_possible(&Log { visits, struck: None });

    let one = won(1, (0, 10), (11, 20), Some((21, 30, freed)));
    assert!(possible(vec![one.clone(), won(2, (5, 40), (41, 50), Some((51, 60, freed)))]), "one after the other");
    assert!(!possible(vec![one.clone(), won(2, (5, 14), (15, 18), None)]), "both inside");
    assert!(!possible(vec![won(1, (0, 10), (11, 50), None), won(2, (60, 70), (71, 80), None)]), "the lease runs");
    assert!(possible(vec![won(1, (0, 10), (11, 50), None), won(2, (60, 130), (131, 132), None)]), "it has ended");
    assert!(!possible(vec![won(1, (0, 10), (11, 20), Some((21, 30, lost)))]), "nobody else had it");
    assert!(possible(vec![won(1, (0, 10), (11, 20), Some((21, 130, lost)))]), "its lease may have ended meanwhile");
    let unknown = visit(3, (0, 10), Outcome::Unknown, None, None);
    assert!(possible(vec![unknown, won(1, (20, 30), (31, 40), Some((41, 50, freed)))]), "it had no effect");
    let unknown = won(1, (0, 10), (11, 20), Some((21, 30, Ending::Unknown)));
    assert!(possible(vec![unknown.clone(), won(2, (31, 40), (41, 50), None)]), "its release had effect");
    assert!(possible(vec![unknown.clone(), won(2, (121, 140), (141, 150), None)]), "or had none");
    assert!(
        !possible(vec![
            won(1, (0, 10), (11, 20), Some((21, 30, Ending::Unknown))),
            won(2, (31, 40), (41, 60), None),
            won(3, (50, 55), (56, 58), None)
        ]),
        "it can only have freed its own"
    );
}
