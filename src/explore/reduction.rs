//! Partial-order reduction: a reply that no other step depends on is received at once, and nothing else happens before.
//!
//! A client that receives a reply changes nothing but its own state, and neither the time nor another client changes what it
//! becomes by that. So its receipt can be moved to the front of every schedule (such steps alone are a persistent set: Godefroid,
//! 1996), and what the rest of the schedule breaks it still breaks: by the receipt a client may begin to believe that it holds,
//! never cease to. A crash in between makes no difference either, because a dead client is the same whatever it had received,
//! unless it starts anew: one that has received its last reply has ended, and does not. A receipt follows a command, so no
//! schedule is postponed for ever.
//!
//! This does not hold, and nothing is left out, where a reply can be lost instead; where a client can crash and start anew; where
//! a pause or the work begins with the receipt; where a lease is extended, which it may turn out to have been lost; where clocks
//! are set, clients wait for the clock or end each other's renewals. When time stands still, a clock reading in the middle of an
//! operation is such a step as well.
//!
//! What can still be acquired is the same before such a receipt and after it: a way to a win that does not contain the receipt goes
//! on being one after it, and the receipt alone can be the win of none but its own client. So a lock that is lost for good is
//! so in both.
//!
//! What can be violated is the same. The shortest schedules are not: they would contain receipts that they do not need.

use super::client::Client;
use super::faults::FaultBudget;
use super::parts::{Activity, ClientView, Next, Parts};
use super::property::Property;
use super::scene::{Grain, Scene};
use super::search::Search;
use super::world::{Action, World};

impl Search<'_> {
    /// Whether a reduction keeps what is asked: in single steps, about what can be violated, by whomever.
    pub(super) fn can_be_reduced(&self) -> bool {
        let Self { scene, properties, by_cause, .. } = *self;
        let is_plain = |client: &Client| !client.prompt && client.ends_renewal_of.is_empty();
        scene.grain == Grain::Fine
            && !by_cause
            && scene.clients.iter().all(is_plain)
            // Its schedules are fair to every step, also to those that are left out.
            && !properties.has(Property::EveryWaiterAcquires)
    }
}

/// The step that can be taken before all others, if there is one: the first receipt that nothing else depends on.
pub(super) fn receipt<P: Parts>(
    scene: &Scene,
    parts: &P,
    world: &World<P::Node, P::Actor>,
) -> Result<Option<Action>, P::Miss> {
    let FaultBudget { lost_replies, clock_steps, crashes, client_restarts, .. } = world.faults;
    if lost_replies > 0 || clock_steps > 0 || crashes > 0 && client_restarts > 0 {
        return Ok(None);
    }
    for (who, actor) in (0..).zip(&world.actors) {
        let view = parts.view(usize::from(who), actor)?;
        if scene.commutes(usize::from(who), &view, world.clock.tick) {
            return Ok(Some(Action::Step(who)));
        }
    }
    Ok(None)
}

impl Scene {
    /// Whether no other step depends on the next one of this client, nor that on another.
    fn commutes<C>(&self, who: usize, view: &ClientView<C>, tick: u16) -> bool {
        let time_stands_still = self.next_of_clock(tick).is_none();
        let client = &self.clients[who];
        let is_in_the_middle = matches!(view.activity, Activity::Trying | Activity::Releasing) && view.at <= tick;
        is_in_the_middle
            && match view.next {
                Next::Receive => time_stands_still || client.work == 0 && client.pause == 0,
                Next::ReadClock => time_stands_still,
                Next::Nothing | Next::Send(_) | Next::Round(_) | Next::Conclude | Next::Write => false,
            }
    }
}
