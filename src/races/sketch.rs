//! What a finding must look like to be this race and no neighbour of it.

use crate::explore::{Action, Step, Trace};

/// The steps that make a race what it is, in order; whatever lies between them does not matter.
#[derive(Clone, Copy, Debug)]
pub struct Sketch {
    /// The steps.
    pub marks: &'static [Mark],
    /// Which of them breaks the rule.
    pub blame: usize,
}

/// One step of a sketch: who, and what: the name of a command, or of a mishap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark(pub &'static str, pub &'static str);

impl Sketch {
    /// Whether the trace goes this way, and the same step is to blame. Clients of one kind may have each other's names.
    pub fn fits(&self, trace: &Trace) -> bool {
        renamings(trace).iter().any(|names| self.fits_with(trace, names))
    }

    fn fits_with(&self, trace: &Trace, names: &[&str]) -> bool {
        let Some(blamed) = trace.blame.filter(|blamed| *blamed < trace.steps.len()) else { return false };
        let named = |step: &Step| match step.actor {
            Some(actor) => names[actor],
            None => trace.name_of(step),
        };
        let is = |mark: &Mark, step: &Step| mark.0 == named(step) && mark.happens_in(step);
        let (before, after) = (&trace.steps[..blamed], &trace.steps[blamed + 1..]);
        let (marks_before, marks_after) = (&self.marks[..self.blame], &self.marks[self.blame + 1..]);
        is(&self.marks[self.blame], &trace.steps[blamed])
            && is_within(marks_before, before, is)
            && is_within(marks_after, after, is)
    }
}

/// Whether these marks are found among the steps, in order.
fn is_within(marks: &[Mark], steps: &[Step], is: impl Fn(&Mark, &Step) -> bool) -> bool {
    let mut steps = steps.iter();
    marks.iter().all(|mark| steps.any(|step| is(mark, step)))
}

/// Every way to name the actors so that nobody gets the name of one of another kind.
fn renamings(trace: &Trace) -> Vec<Vec<&str>> {
    let kind =
        |actor: usize| (&trace.actors[actor].protocol, trace.actors[actor].lease_ms, trace.actors[actor].skew_ms);
    let mut ways: Vec<Vec<usize>> = vec![Vec::new()];
    for actor in 0..trace.actors.len() {
        let others = |way: &Vec<usize>| {
            let free = (0..trace.actors.len()).filter(|other| kind(*other) == kind(actor) && !way.contains(other));
            free.map(|other| [way.as_slice(), &[other]].concat()).collect::<Vec<_>>()
        };
        ways = ways.iter().flat_map(others).collect();
    }
    ways.iter().map(|way| way.iter().map(|other| trace.actors[*other].name.as_str()).collect()).collect()
}

impl Mark {
    fn happens_in(self, step: &Step) -> bool {
        let Self(_, what) = self;
        match step.action {
            Action::Crash(_) => what == "dies",
            Action::FailOver(_) => what == "fails over",
            Action::Tick | Action::Leap => what == "passes",
            Action::LoseReply(_) | Action::LoseReplyOn(..) | Action::Step(_) | Action::StepOn(..) => {
                step.exchange.as_ref().is_some_and(|exchange| exchange.command.is(what)) || step.note == what
            }
        }
    }
}
