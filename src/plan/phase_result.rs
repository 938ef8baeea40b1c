//! What exploring each phase has found.

use std::num::NonZeroUsize;

use super::phase::Phase;
use super::residual::Residual;
use super::rule::RULES;
use super::scenes::Participants;
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
    /// What each phase has, in their order.
    pub phases: Vec<PhaseResult>,
}

/// What exploring a phase has found.
#[derive(Clone, Debug)]
pub struct PhaseResult {
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
const MAX_STATES: usize = 3_000_000;

/// Explores every phase of the way of this fleet to that protocol. `watch` is called with the phase that is being
/// explored, and the progress.
///
/// # Errors
/// [`Unbridgeable`]: there is no such way, and why.
pub fn plan(
    fleet: &[&'static Dialect],
    to: &Choice,
    threads: NonZeroUsize,
    watch: &mut dyn FnMut(Phase, &Progress),
) -> Result<Plan, Unbridgeable> {
    let participants = Participants::new(fleet, to)?;
    let result =
        |phase: Phase| look(phase, &participants.scenes(phase), threads, &mut |progress| watch(phase, progress));
    let phases = Phase::ALL.into_iter().map(result).collect();
    Ok(Plan { fleet: fleet.to_vec(), stamp_of: participants.stamp_of, to: to.to_string(), phases })
}

impl Plan {
    /// Whether every phase was explored to its end, and none has a race that the old clients do not have among themselves.
    pub fn is_safe(&self) -> bool {
        self.phases
            .iter()
            .all(|result| result.exhausted && !result.residuals.iter().any(|residual| self.is_new(residual)))
    }

    /// Whether the old clients do not have this race among themselves: that rule is not broken there, or no rule is broken
    /// there by that cause.
    pub fn is_new(&self, residual: &Residual) -> bool {
        let among_themselves = self.phases.iter().filter(|result| result.phase == Phase::Legacy);
        let known: Vec<&Residual> = among_themselves.flat_map(|result| &result.residuals).collect();
        !known.iter().any(|known| known.property == residual.property)
            || !known.iter().any(|known| known.cause == residual.cause)
    }
}

fn look(phase: Phase, scenes: &[Scene], threads: NonZeroUsize, watch: &mut dyn FnMut(&Progress)) -> PhaseResult {
    let mut result = PhaseResult { phase, residuals: Vec::new(), states: 0, exhausted: true };
    let mut found: Vec<Violation> = Vec::new();
    for scene in scenes {
        let is_asked = |rule: &Property| rule.is_about_the_future() == scene.bounds.afterwards.is_some();
        let rules: Vec<Property> = RULES.into_iter().filter(is_asked).collect();
        let search =
            Search::new(scene).properties(&rules).threads(threads).symmetry(true).max_states(MAX_STATES).apart(true);
        let findings = search.run(watch);
        result.states += findings.states;
        result.exhausted &= findings.end == End::Exhausted;
        found.extend(findings.violations);
    }
    // Of several schedules that break one rule by the same cause the shortest.
    found.sort_by_key(|violation| violation.actions.len());
    for residual in found.into_iter().map(Residual::of) {
        if !result.residuals.iter().any(|known| known.is_like(&residual)) {
            result.residuals.push(residual);
        }
    }
    result.residuals.sort_by_key(|residual| residual.property);
    result
}
