//! What a search has found, once it has ended.

use super::Run;
use crate::explore::expand::Hit;
use crate::explore::forgetting::Untried;
use crate::explore::found::FoundViolation;
use crate::explore::property::Property;
use crate::explore::route::StateGraph;
use crate::explore::search::{End, Findings, Progress, Search, Violation};
use crate::explore::starvation::Starvation;
use crate::explore::trace::{Cycle, Trace};

impl Run<'_> {
    /// Runs to the end.
    pub(super) fn findings(mut self, watch: &mut dyn FnMut(&Progress)) -> Findings {
        let end = self.go_on(watch);
        self.findings_at(end)
    }

    /// Runs to the end, unless a client receives what was not tried before: then that.
    pub(super) fn findings_if_tried(mut self, watch: &mut dyn FnMut(&Progress)) -> Result<Findings, Vec<Untried>> {
        let end = self.go_on(watch);
        if self.memo.untried().is_empty() { Ok(self.findings_at(end)) } else { Err(self.memo.untried().to_vec()) }
    }

    fn findings_at(mut self, end: End) -> Findings {
        let mut unjudged = self.judge_the_future(end);
        let violations = self.violations();
        let unknown_commands = self.memo.unknown_commands().clone();
        if !unknown_commands.is_empty() {
            // What clients do after an error that a server would not send proves nothing.
            let is_broken = |rule: &Property| violations.iter().any(|violation| violation.property == *rule);
            unjudged = self.asked.iter().filter(|rule| !is_broken(rule)).collect();
        }
        Findings {
            states: self.visited.len(),
            steps: self.steps,
            depth: self.levels.count() - 1,
            bytes: self.visited.bytes(),
            runs: self.memo.runs(),
            end,
            taken_for_others: self.visited.taken_for_others(),
            unjudged,
            unknown_commands,
            violations,
        }
    }

    /// Notes what a level has brought, if the protocol in question is its cause.
    pub(super) fn note(&mut self, hits: &[Hit], depth: u32) {
        let Self { search, memo, met, .. } = self;
        let whose = |hit: &Hit| memo.cause_of(hit.cause?).by.as_deref();
        met.note(hits.iter().filter(|hit| search.suspect.is_none() || whose(hit) == search.suspect), depth);
    }

    fn violations(&self) -> Vec<Violation> {
        let mut violations: Vec<Violation> = self.met.all().iter().map(|met| self.violation(met)).collect();
        violations.sort_by(|one, other| one.order().cmp(&other.order()));
        violations
    }

    /// Judges the properties that ask for a way into the future, and hands back those that cannot be judged.
    fn judge_the_future(&mut self, end: End) -> Vec<Property> {
        let Search { scene, properties, .. } = self.search;
        let unjudged = self.asked.iter().filter(|property| !properties.has(*property));
        if end != End::Exhausted || !scene.has_a_future() {
            return unjudged.chain(properties.iter().filter(|property| property.is_about_the_future())).collect();
        }
        let unjudged = unjudged.collect();
        for (depth, hits) in self.graph().lost_for_ever(properties) {
            self.note(&hits, depth);
        }
        if properties.has(Property::EveryWaiterAcquires) {
            self.find_starvation();
        }
        unjudged
    }

    fn find_starvation(&mut self) {
        let Some(starvation) = self.graph().starvation() else { return };
        let Starvation { at, depth, .. } = starvation;
        self.note(&[Hit { property: Property::EveryWaiterAcquires, cause: None, at, by: None }], depth);
        self.starvation = Some(starvation);
    }

    pub(super) fn graph(&self) -> StateGraph<'_> {
        let Self { search, symmetry, memo, visited, levels, first, .. } = self;
        StateGraph { search, memo, symmetry, visited, levels, first: *first }
    }

    fn violation(&self, met: &FoundViolation) -> Violation {
        let search = self.search;
        let mut actions = match search.hashed_to {
            None => self.graph().route(&met.hits, met.length),
            Some(_) => self.graph().way_taken(met.hits[0], met.length),
        };
        let starvation = self.starvation.as_ref().filter(|_| met.property == Property::EveryWaiterAcquires);
        let from = actions.len();
        actions.extend(starvation.into_iter().flat_map(|starvation| &starvation.cycle));
        let places = search.scene.in_order_of_appearance(&mut actions);
        let cause = met.cause.map(|cause| self.memo.cause_of(cause).clone());
        let trace = search.scene.narrate_cause(met.property, cause.as_ref(), &actions);
        let cycle = starvation.map(|starvation| Cycle { from, starving: places.of(starvation.client) });
        let trace = Trace { cycle, ..trace };
        Violation { property: met.property, cause, actions, trace }
    }
}
