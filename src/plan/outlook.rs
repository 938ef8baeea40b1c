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
    /// The one of them in whose form a bridge writes its stamp.
    pub stamp_of: &'static Dialect,
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
    let outlooks = Phase::ALL.into_iter().map(outlook).collect();
    Ok(Plan { fleet: fleet.to_vec(), stamp_of: cast.stamp_of, to: to.to_string(), outlooks })
}

impl Plan {
    /// Whether every phase was explored to its end, and none has a race that the old clients do not have among themselves.
    pub fn is_safe(&self) -> bool {
        self.outlooks
            .iter()
            .all(|outlook| outlook.exhausted && !outlook.residuals.iter().any(|residual| self.is_new(residual)))
    }

    /// Whether the old clients do not have this race among themselves: nobody breaks that rule there, or no rule is broken
    /// there by that deed.
    pub fn is_new(&self, residual: &Residual) -> bool {
        let among_themselves = self.outlooks.iter().filter(|outlook| outlook.phase == Phase::Legacy);
        let known: Vec<&Residual> = among_themselves.flat_map(|outlook| &outlook.residuals).collect();
        !known.iter().any(|known| known.property == residual.property)
            || !known.iter().any(|known| known.deed == residual.deed)
    }
}

fn look(phase: Phase, scenes: &[Scene], threads: NonZeroUsize, watch: &mut dyn FnMut(&Progress)) -> Outlook {
    let mut outlook = Outlook { phase, residuals: Vec::new(), states: 0, exhausted: true };
    let mut found: Vec<Violation> = Vec::new();
    for scene in scenes {
        let is_asked = |rule: &Property| rule.is_about_the_future() == scene.bounds.afterwards.is_some();
        let rules: Vec<Property> = RULES.into_iter().filter(is_asked).collect();
        let search =
            Search::new(scene).properties(&rules).threads(threads).symmetry(true).most_worlds(MOST_STATES).apart(true);
        let findings = search.run(watch);
        outlook.states += findings.worlds;
        outlook.exhausted &= findings.end == End::Exhausted;
        found.extend(findings.violations);
    }
    // Of several schedules that break one rule by the same deed the shortest.
    found.sort_by_key(|violation| violation.actions.len());
    for residual in found.into_iter().map(Residual::of) {
        if !outlook.residuals.iter().any(|known| known.is_like(&residual)) {
            outlook.residuals.push(residual);
        }
    }
    outlook.residuals.sort_by_key(|residual| residual.property);
    outlook
}
