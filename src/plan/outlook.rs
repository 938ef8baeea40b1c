//! What each phase has in store.

use std::num::NonZeroUsize;

use super::phase::Phase;
use super::residual::Residual;
use super::rule::RULES;
use super::scenes::Cast;
use crate::bridge::Unbridgeable;
use crate::explore::{End, Progress, Property, Scene, Search, Violation};
use crate::legacy::Dialect;
use crate::protocols::Choice;

/// The way of a fleet to a new protocol.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The old dialects.
    pub fleet: Vec<&'static Dialect>,
    /// The new protocol.
    pub to: String,
    /// What each phase has in store, in their order.
    pub outlooks: Vec<Outlook>,
}

/// What a phase has in store.
#[derive(Clone, Debug)]
pub struct Outlook {
    /// Which.
    pub phase: Phase,
    /// The races that it has, a rule each.
    pub residuals: Vec<Residual>,
    /// How many distinct states were seen.
    pub states: usize,
    /// Whether those are all that there are within the bounds.
    pub exhausted: bool,
}

/// More states than this in one scene would take longer than a reader waits.
const MOST_STATES: usize = 3_000_000;

/// Explores every phase of the way of this fleet to that protocol. `watch` is told what is being explored, and how far that
/// is.
///
/// # Errors
/// [`Unbridgeable`]: there is no such way, and why.
pub fn plan(
    fleet: &[&'static Dialect],
    to: &Choice,
    threads: NonZeroUsize,
    watch: &mut dyn FnMut(Phase, &Progress),
) -> Result<Plan, Unbridgeable> {
    let cast = Cast::new(fleet, to)?;
    let outlook = |phase: Phase| look(phase, &cast.scenes(phase), threads, &mut |progress| watch(phase, progress));
    Ok(Plan { fleet: fleet.to_vec(), to: to.to_string(), outlooks: Phase::ALL.into_iter().map(outlook).collect() })
}

impl Plan {
    /// Whether no phase has a race that the old clients do not have among themselves, and those without old clients have
    /// none; and whether every phase was explored to its end.
    pub fn is_safe(&self) -> bool {
        let [legacy, others @ ..] = self.outlooks.as_slice() else { return false };
        legacy.exhausted && others.iter().all(|outlook| outlook.exhausted && outlook.adds_nothing_to(legacy))
    }
}

impl Outlook {
    /// The races that it has and `before` has not.
    pub fn new_since<'a>(&'a self, before: &'a Self) -> impl Iterator<Item = &'a Residual> {
        let known = |property: Property| before.residuals.iter().any(|residual| residual.property == property);
        self.residuals.iter().filter(move |residual| !known(residual.property))
    }

    fn adds_nothing_to(&self, legacy: &Self) -> bool {
        match self.phase.has_legacy() {
            true => self.new_since(legacy).next().is_none(),
            false => self.residuals.is_empty(),
        }
    }
}

fn look(phase: Phase, scenes: &[Scene], threads: NonZeroUsize, watch: &mut dyn FnMut(&Progress)) -> Outlook {
    let mut outlook = Outlook { phase, residuals: Vec::new(), states: 0, exhausted: true };
    let mut found: Vec<Violation> = Vec::new();
    for scene in scenes {
        let rules: Vec<Property> =
            RULES.into_iter().filter(|rule| !rule.is_about_the_future() || scene.bounds.afterwards.is_some()).collect();
        let search = Search::new(scene).properties(&rules).threads(threads).symmetry(true).most_worlds(MOST_STATES);
        let findings = search.run(watch);
        outlook.states += findings.worlds;
        outlook.exhausted &= findings.end == End::Exhausted;
        found.extend(findings.violations);
    }
    // Of several ways to break one rule the shortest.
    found.sort_by_key(|violation| (violation.property, violation.actions.len()));
    found.dedup_by_key(|violation| violation.property);
    outlook.residuals = found.into_iter().map(Residual::of).collect();
    outlook
}
