//! What exploring each phase has found.

use std::time::Duration;

use super::effort::{Effort, PhaseBounds, PhaseVerdict};
use super::no_plan::NoPlan;
use super::phase::{Phase, Way};
use super::residual::Residual;
use super::rule::RULES;
use super::scenes::{A_CRASH, Participants};
use crate::bridge::StolenStamp;
use crate::explore::{Action, Encounters, End, Progress, Property, Scene, Search, Violation};
use crate::legacy::Dialect;
use crate::protocols::Choice;

/// The way of a fleet to a new protocol.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The old dialects.
    pub fleet: Vec<&'static Dialect>,
    /// The one of them in whose form a bridge writes its stamp.
    pub stamp_of: &'static Dialect,
    /// The values by which its dialects take over each other's locks while they are held: none, if they exclude each other.
    pub stolen: Vec<StolenStamp>,
    /// The new protocol.
    pub to: String,
    /// What stands between the two.
    pub way: Way,
    /// What each phase has, in their order.
    pub phases: Vec<PhaseResult>,
}

/// What exploring a phase has found.
#[derive(Clone, Debug)]
pub struct PhaseResult {
    /// Which.
    pub phase: Phase,
    /// How far it was explored.
    pub bounds: PhaseBounds,
    /// The races that it has, a rule each.
    pub residuals: Vec<Residual>,
    /// How many distinct states were seen.
    pub states: usize,
    /// Whether those are all that there are within the bounds.
    pub exhausted: bool,
}

/// Seconds by which the time is widened at most.
const MAX_WIDENINGS: u16 = 4;

/// Explores every phase of this way of this fleet to that protocol. `watch` is called with the phase that is being
/// explored, and the progress, also before a phase is begun.
///
/// # Errors
/// [`NoPlan`]: there is no such way, and why.
pub fn plan(
    fleet: &[&'static Dialect],
    to: &Choice,
    way: Way,
    effort: &Effort<'_>,
    watch: &mut dyn FnMut(Phase, &Progress),
) -> Result<Plan, NoPlan> {
    let participants = Participants::new(fleet, to, way)?;
    let mut phases: Vec<PhaseResult> = Vec::new();
    let mut encounters = Encounters::default();
    for &phase in way.phases() {
        // A guard that observes sends what its client sends, so what was found without it holds with it.
        let observed = phases.last().filter(|_| phase == Phase::LegacyObserved);
        let result = match observed {
            Some(unguarded) => PhaseResult { phase, ..unguarded.clone() },
            None => {
                watch(phase, &Progress::default());
                Look::of(phase, &participants, effort, &mut encounters).run(&mut |progress| watch(phase, progress))
            }
        };
        phases.push(result);
    }
    let Participants { stamp_of, stolen, .. } = participants;
    Ok(Plan { fleet: fleet.to_vec(), stamp_of, stolen, to: to.to_string(), way, phases })
}

impl Plan {
    /// Whether the old clients exclude each other, every phase was explored to its end, and none has a race that the old
    /// clients do not have among themselves.
    pub fn is_safe(&self) -> bool {
        self.excludes_itself()
            && self.phases.iter().all(|result| self.verdict(result) == PhaseVerdict::SafeWithinBounds)
    }

    /// Whether no dialect of the fleet takes over a lock that another holds.
    pub fn excludes_itself(&self) -> bool {
        self.stolen.is_empty()
    }

    /// What is known of a phase.
    pub fn verdict(&self, result: &PhaseResult) -> PhaseVerdict {
        let is_known = result.residuals.iter().all(|residual| self.is_among_old(residual));
        match () {
            () if result.residuals.iter().any(|residual| self.is_new(residual)) => PhaseVerdict::Unsafe,
            () if is_known && result.exhausted => PhaseVerdict::SafeWithinBounds,
            () => PhaseVerdict::NotExhausted,
        }
    }

    /// Whether the old clients do not have this race among themselves: all that they do was seen, and that rule is not broken
    /// there by that cause.
    pub fn is_new(&self, residual: &Residual) -> bool {
        self.legacy().all(|result| result.exhausted) && !self.is_among_old(residual)
    }

    /// Whether the old clients were seen to have this race among themselves.
    fn is_among_old(&self, residual: &Residual) -> bool {
        self.legacy().any(|result| {
            let are_apart = !result.bounds.clocks_within.is_zero();
            let is_like = |known: &Residual| {
                known.breaks_like(residual)
                    || known.misreports_like(residual)
                    || are_apart && known.acquires_early_like(residual)
            };
            result.residuals.iter().any(is_like)
        })
    }

    fn legacy(&self) -> impl Iterator<Item = &PhaseResult> {
        self.phases.iter().filter(|result| result.phase == Phase::Legacy)
    }
}

/// A phase being explored.
struct Look<'a> {
    participants: &'a Participants,
    effort: &'a Effort<'a>,
    encounters: &'a mut Encounters,
    result: PhaseResult,
    /// What it has, and how little time each race needs.
    found: Vec<(Residual, Duration)>,
}

impl<'a> Look<'a> {
    fn of(
        phase: Phase,
        participants: &'a Participants,
        effort: &'a Effort<'a>,
        encounters: &'a mut Encounters,
    ) -> Self {
        let bounds = PhaseBounds {
            time: Duration::ZERO,
            nothing_new_at_last: false,
            tick: participants.tick(effort.clocks_within),
            clocks_within: effort.clocks_within,
            crashes: A_CRASH.faults.crashes,
            lost_replies: 1,
            clients: 3,
        };
        let result = PhaseResult { phase, bounds, residuals: Vec::new(), states: 0, exhausted: true };
        Self { participants, effort, encounters, result, found: Vec::new() }
    }

    /// Explores it for a second more than the fleet asks for, and for longer until the last second brings nothing new.
    fn run(mut self, watch: &mut dyn FnMut(&Progress)) -> PhaseResult {
        let phase = self.result.phase;
        for scene in self.participants.scenes_with_a_crash(phase, self.effort) {
            self.explore(&scene, watch);
        }
        let seconds = match self.effort.seconds {
            Some(seconds) => seconds..=seconds,
            None => self.participants.seconds() + 1..=self.participants.seconds() + 1 + MAX_WIDENINGS,
        };
        for seconds in seconds {
            for scene in self.participants.scenes(phase, seconds, self.effort) {
                self.explore(&scene, watch);
            }
            self.result.bounds.time = Duration::from_secs(seconds.into());
            let last = Duration::from_secs(seconds.saturating_sub(1).into());
            let is_nothing_new = self.found.iter().all(|(_, earliest)| *earliest <= last);
            self.result.bounds.nothing_new_at_last = is_nothing_new && self.result.exhausted;
            if is_nothing_new || !self.result.exhausted {
                break;
            }
        }
        let mut residuals: Vec<Residual> = self.found.into_iter().map(|(residual, _)| residual).collect();
        residuals.sort_by_key(|residual| residual.property);
        PhaseResult { residuals, ..self.result }
    }

    fn explore(&mut self, scene: &Scene, watch: &mut dyn FnMut(&Progress)) {
        for scene in scene.by_token_class_with(self.encounters) {
            if self.effort.is_interrupted() {
                self.result.exhausted = false;
                return;
            }
            let is_asked = |rule: &Property| rule.is_about_the_future() == scene.bounds.afterwards.is_some();
            let rules: Vec<Property> = RULES.into_iter().filter(is_asked).collect();
            let search = Search::new(&scene).properties(&rules).threads(self.effort.threads).symmetry(true);
            let rules_only = self.effort.rules_only;
            let search = search.max_states(self.effort.max_states).max_bytes(self.effort.max_bytes);
            let search = search.by_cause(!rules_only).reduced(rules_only);
            let search = self.effort.interrupt.map_or(search, |interrupt| search.interrupted_by(interrupt));
            let findings = search.run(watch);
            self.result.states += findings.states;
            self.result.exhausted &= findings.end == End::Exhausted && findings.unknown_commands.is_empty();
            findings.violations.into_iter().for_each(|violation| self.add(violation, scene.tick));
        }
    }

    /// Of several schedules that break one rule by the same cause it keeps the shortest, and the least time that one needs.
    fn add(&mut self, violation: Violation, tick: Duration) {
        let ticks = violation.actions.iter().filter(|action| **action == Action::Tick).count();
        let time = tick * u32::try_from(ticks).unwrap_or(u32::MAX);
        let new = Residual::of(violation);
        match self.found.iter_mut().find(|(known, _)| known.is_like(&new)) {
            Some((known, earliest)) => {
                *earliest = time.min(*earliest);
                if known.trace.steps.len() > new.trace.steps.len() {
                    *known = new;
                }
            }
            None => self.found.push((new, time)),
        }
    }
}
