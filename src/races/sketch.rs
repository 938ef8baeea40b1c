//! What a finding must look like to be this race and no neighbour of it.

use crate::explore::{Event, Outcome, Step, Trace};

/// The steps that make a race what it is, in order; whatever lies between them does not matter.
#[derive(Clone, Copy, Debug)]
pub struct Sketch {
    /// The steps.
    pub marks: &'static [Mark],
    /// Which of them breaks the rule.
    pub blame: usize,
}

/// One step of a sketch: what happens, and the client that does it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// The server runs this command of this client.
    Runs(&'static str, &'static str),
    /// This client crashes.
    Crashes(&'static str),
    /// The reply to this client is lost.
    LosesReply(&'static str),
    /// This client writes to the guarded resource.
    Writes(&'static str),
    /// This client's operation ends so.
    Ends(&'static str, Outcome),
    /// Time passes.
    TimePasses,
    /// A replica takes the server's place.
    FailsOver,
}

impl Sketch {
    /// Whether the trace goes this way, and the same step is to blame. Clients of one kind may have each other's names.
    pub fn fits(&self, trace: &Trace) -> bool {
        renamings(trace).iter().any(|names| self.fits_with(trace, names))
    }

    fn fits_with(&self, trace: &Trace, names: &[&str]) -> bool {
        let Some(blamed) = trace.blame.filter(|blamed| *blamed < trace.steps.len()) else { return false };
        let is = |mark: &Mark, step: &Step| mark.happens_in(step, step.actor.map(|actor| names[actor]));
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

/// Every way to name the actors so that each keeps a name of its own kind.
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
    /// Whether the step is this, taken by a client of this name.
    fn happens_in(self, step: &Step, actor: Option<&str>) -> bool {
        match self {
            Self::Runs(client, name) => {
                actor == Some(client) && step.exchange.as_ref().is_some_and(|exchange| exchange.command.is(name))
            }
            Self::Crashes(client) => actor == Some(client) && step.event == Event::Crashed,
            Self::LosesReply(client) => actor == Some(client) && step.event == Event::ReplyLost,
            Self::Writes(client) => actor == Some(client) && step.event == Event::Wrote,
            Self::Ends(client, outcome) => {
                actor == Some(client) && matches!(step.event, Event::Ended { outcome: ended, .. } if ended == outcome)
            }
            Self::TimePasses => matches!(step.event, Event::TimePassed | Event::AllLeasesExpired),
            Self::FailsOver => matches!(step.event, Event::FailedOver { .. }),
        }
    }
}
