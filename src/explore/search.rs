//! A search: what it is asked, what it finds.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::sync::atomic::AtomicBool;

use super::blame::Cause;
use super::property::{Properties, Property};
use super::scene::Scene;
use super::trace::Trace;
use super::visited;
use super::world::Action;

/// A search, to be run.
///
/// It goes breadth first and compares worlds exactly, unless they are [hashed](Self::hashed_to), so that the first violation met
/// is a shortest one and an exhausted search is a statement about every schedule. Its result depends neither on the number of
/// threads nor on chance.
#[derive(Clone, Copy, Debug)]
pub struct Search<'a> {
    pub(super) scene: &'a Scene,
    pub(super) properties: Properties,
    pub(super) threads: NonZeroUsize,
    pub(super) max_states: usize,
    pub(super) max_bytes: usize,
    pub(super) hashed_to: Option<usize>,
    pub(super) symmetry: bool,
    pub(super) reduced: bool,
    pub(super) by_cause: bool,
    pub(super) suspect: Option<&'a str>,
    pub(super) stop: Stop,
    pub(super) interrupt: Option<&'a AtomicBool>,
}

/// When a search ends before it has seen everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stop {
    /// Only at a bound.
    Never,
    /// When every property asked for has been violated.
    AllViolated,
}

/// How far a search came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum End {
    /// It saw every world: what it did not find is impossible within the bounds of the scene.
    Exhausted,
    /// It saw every world that it did not take for another, by its hash: [`Findings::taken_for_others`].
    Hashed,
    /// It found what it was to find.
    Satisfied,
    /// It met as many worlds as it was allowed.
    StatesBound(usize),
    /// It took as much memory as it was allowed.
    MemoryBound(usize),
    /// Its caller interrupted it.
    Interrupted,
}

/// How far a search is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Distinct states so far.
    pub states: usize,
    /// Steps from the start to those that are being expanded.
    pub depth: u32,
    /// Bytes that the worlds take.
    pub bytes: usize,
}

/// What a search found.
#[derive(Clone, Debug)]
pub struct Findings {
    /// Distinct states.
    pub states: usize,
    /// Steps taken from one to another.
    pub steps: u64,
    /// The greatest distance of a world from the start.
    pub depth: u32,
    /// Bytes that the worlds took.
    pub bytes: usize,
    /// How often a protocol ran, and the server.
    pub runs: (usize, usize),
    /// How it ended.
    pub end: End,
    /// How many worlds were probably taken for others and left out, and with them what only they lead to; 0 unless worlds were
    /// [hashed](Search::hashed_to).
    pub taken_for_others: f64,
    /// Properties that could not be judged. About the future: the search was not exhausted, time stands still at the end
    /// ([`Bounds::afterwards`](super::Bounds::afterwards)), or no client tries without end. Phantoms: a dead owner's lock is
    /// still running at the start of a clock that never ends. All that is not violated: a client sends a command that is not
    /// simulated ([`unknown_commands`](Self::unknown_commands)).
    pub unjudged: Vec<Property>,
    /// The names of commands that clients have sent and that are not simulated: they were answered as unknown.
    pub unknown_commands: BTreeSet<String>,
    /// The violations, one for each property that does not hold, in the order of [`Property::ALL`]; where
    /// violations are reported by cause, one for each cause, the shortest first.
    pub violations: Vec<Violation>,
}

/// A property that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Which.
    pub property: Property,
    /// Which cause is to blame, if violations are reported by cause ([`Search::by_cause`]) and a step breaks the property.
    pub cause: Option<Cause>,
    /// A shortest schedule that violates it: of all shortest ones that with the fewest changes of client, and the clock
    /// ticking as late as possible.
    pub actions: Vec<Action>,
    /// That schedule, step by step.
    pub trace: Trace,
}

impl Findings {
    /// What a reduced search has found, with the schedules by which a whole one breaks the same rules: those are shortest. Where it
    /// has ended too soon to find one, the reduced search's is kept.
    pub(super) fn with_shortest(mut self, whole: Self) -> Self {
        let reduced = self.violations.len();
        self.violations.retain(|known| !whole.violations.iter().any(|it| it.property == known.property));
        let end = if self.violations.is_empty() { self.end } else { whole.end };
        debug_assert!(whole.violations.len() + self.violations.len() == reduced, "the same rules are broken");
        let unjudged = self.unjudged.clone();
        Self { end, unjudged, ..self.merged(whole) }
    }

    /// What two searches for different properties have found. One that has violated all of its own leaves open nothing.
    pub(super) fn with_others(self, others: Self) -> Self {
        let end = match (self.end, others.end) {
            (End::Satisfied, end) | (end, End::Satisfied) => end,
            (one, other) => one.or(other),
        };
        Self { end, ..self.merged(others) }
    }

    /// What two searches have found: of several schedules that break one rule by one cause the shortest.
    #[must_use]
    pub fn merged(mut self, other: Self) -> Self {
        let is_longer = |one: &Violation, than: &Violation| {
            (one.property, &one.cause) == (than.property, &than.cause) && one.actions.len() >= than.actions.len()
        };
        self.violations.retain(|known| {
            !other.violations.iter().any(|new| is_longer(known, new) && new.actions.len() < known.actions.len())
        });
        let news = other.violations.into_iter();
        let news: Vec<Violation> =
            news.filter(|new| !self.violations.iter().any(|known| is_longer(new, known))).collect();
        self.violations.extend(news);
        self.violations.sort_by(|one, other| one.order().cmp(&other.order()));
        self.unjudged
            .extend(other.unjudged.into_iter().filter(|rule| !self.unjudged.contains(rule)).collect::<Vec<_>>());
        self.unknown_commands.extend(other.unknown_commands);
        Self {
            states: self.states + other.states,
            steps: self.steps + other.steps,
            depth: self.depth.max(other.depth),
            bytes: self.bytes.max(other.bytes),
            runs: (self.runs.0 + other.runs.0, self.runs.1 + other.runs.1),
            end: self.end.or(other.end),
            taken_for_others: self.taken_for_others + other.taken_for_others,
            ..self
        }
    }
}

impl End {
    /// How two searches ended together: exhausted only if both were.
    fn or(self, other: Self) -> Self {
        match self {
            Self::Exhausted => other,
            Self::Hashed if other != Self::Exhausted => other,
            _ => self,
        }
    }
}

impl Violation {
    /// By its property, the shortest first.
    pub(super) fn order(&self) -> impl Ord {
        (self.property, self.actions.len(), &self.cause)
    }
}

impl<'a> Search<'a> {
    /// A search for a breach of mutual exclusion, on one thread.
    pub fn new(scene: &'a Scene) -> Self {
        Self {
            scene,
            properties: Properties::of(&[Property::MutualExclusion]),
            threads: NonZeroUsize::MIN,
            max_states: 100_000_000,
            max_bytes: 4 << 30,
            hashed_to: None,
            symmetry: false,
            reduced: false,
            by_cause: false,
            suspect: None,
            stop: Stop::Never,
            interrupt: None,
        }
    }

    /// For a breach of these.
    #[must_use]
    pub fn properties(mut self, properties: &[Property]) -> Self {
        self.properties = Properties::of(properties);
        self
    }

    /// On so many threads. The result does not depend on it.
    #[must_use]
    pub fn threads(mut self, threads: NonZeroUsize) -> Self {
        self.threads = threads;
        self
    }

    /// Of so many states at most; there can be four billion.
    #[must_use]
    pub fn max_states(mut self, states: usize) -> Self {
        self.max_states = states.min(visited::MOST);
        self
    }

    /// In so much memory at most, what is in hand for one batch and a [table of bits](Self::hashed_to) not counted.
    #[must_use]
    pub fn max_bytes(mut self, bytes: usize) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// Whether of each state only six bits are kept, in a table of so many bytes, and how it was reached: for spaces that do not
    /// fit. The table is allocated at once, 1 KiB at least.
    ///
    /// A state whose bits are all set is taken for one that was met, and left out. [`Findings::taken_for_others`] says how many
    /// that were, probably; what only they lead to was not seen either. So each violation that is found is one, though perhaps
    /// on a longer schedule than necessary, and no property is proved. Properties of the future are not judged.
    #[must_use]
    pub fn hashed_to(mut self, bytes: Option<usize>) -> Self {
        self.hashed_to = bytes;
        self
    }

    /// Whether clients that differ only in their names are interchangeable. If they are, there are fewer
    /// worlds; what is found is the same.
    #[must_use]
    pub fn symmetry(mut self, symmetry: bool) -> Self {
        self.symmetry = symmetry;
        self
    }

    /// Whether fewer worlds are seen, with the same verdict. Replies are received at once where nothing else depends on when they
    /// are; what can be violated so is searched for with replies at any time as well, for the shortest schedule. What no
    /// later step of a client looks at is forgotten, as far as it is found by running the clients of the scene alone; where a
    /// client receives a reply in the search that was not tried so, the search starts again with that reply tried as well.
    /// Properties that ask the server about what a client holds then have a search of their
    /// own. It makes no difference for round trips that are one step, for violations by cause, and for
    /// [`Property::EveryWaiterAcquires`].
    #[must_use]
    pub fn reduced(mut self, reduced: bool) -> Self {
        self.reduced = reduced;
        self
    }

    /// Each way to break a property for itself, rather than the shortest of all: one violation for each [`Cause`] that is to
    /// blame. That is the step which breaks the rule; where a lease is broken, or mutual exclusion, the last step by which
    /// another client changed what the loser had, whenever that was. There are more worlds then: each remembers who was
    /// harmed by which cause.
    #[must_use]
    pub fn by_cause(mut self, by_cause: bool) -> Self {
        self.by_cause = by_cause;
        self
    }

    /// Only violations for which a client of this protocol is to blame, reported by cause as by [`by_cause`](Self::by_cause).
    #[must_use]
    pub fn caused_by(self, protocol: &'a str) -> Self {
        Self { by_cause: true, suspect: Some(protocol), ..self }
    }

    /// Until this is set. It is looked at after every batch of states.
    #[must_use]
    pub fn interrupted_by(mut self, interrupt: &'a AtomicBool) -> Self {
        self.interrupt = Some(interrupt);
        self
    }

    /// When to stop early.
    #[must_use]
    pub fn stop(mut self, stop: Stop) -> Self {
        self.stop = stop;
        self
    }
}
