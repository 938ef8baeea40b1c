//! What a client goes on with, once an operation is over or its reply is lost.

use super::Ended;
use crate::explore::actor::{Actor, Doing, Talk, Work};
use crate::explore::scene::Scene;
use crate::lock::{Acquired, Extended};

impl Scene {
    pub(super) fn after(&self, who: usize, actor: &Actor, ended: Ended, tick: u16) -> Actor {
        match (ended, &actor.doing) {
            (Ended::Acquired(Acquired::Won(hold)), _) => {
                let client = &self.clients[who];
                let until = if client.work == 0 { 0 } else { tick.saturating_add(client.work) };
                let work = Work { until, wrote: false, renews: client.renew_after.is_some() };
                Actor { tries_left: client.tries, ..actor.now(Doing::Holding(hold, work)) }
            }
            (Ended::Extended(Extended::Until(hold)), Doing::Extending(_, work, _)) => {
                Actor { harmed_by: None, ..actor.now(Doing::Holding(hold, *work)) }
            }
            // As a driver has it: whoever learns of an intrusion stops, and gives back what is its own.
            (Ended::Extended(Extended::Intruded(hold)), _) => actor.now(Doing::Releasing(hold, Talk::default())),
            (Ended::Extended(Extended::Unsupported) | Ended::Failed(_), Doing::Extending(hold, work, _)) => {
                actor.now(Doing::Holding(hold.clone(), Work { renews: false, ..*work }))
            }
            (Ended::Extended(_) | Ended::Released(_), _) | (_, Doing::Releasing(..)) => self.round_over(who, actor),
            (Ended::Acquired(Acquired::Held(_)) | Ended::Disclaimed | Ended::Failed(_), _) => {
                self.try_over(who, actor, tick)
            }
        }
    }

    fn try_over(&self, who: usize, actor: &Actor, tick: u16) -> Actor {
        let tries_left = actor.tries_left.less_one();
        if tries_left.is_over() {
            return self.round_over(who, actor);
        }
        let pause = self.clients[who].pause;
        let until = if pause == 0 { 0 } else { tick.saturating_add(pause) };
        Actor { tries_left, ..actor.now(Doing::Resting { until }) }
    }

    fn round_over(&self, who: usize, actor: &Actor) -> Actor {
        let rounds_left = actor.rounds_left.less_one();
        let doing = if rounds_left.is_over() { Doing::Done } else { Doing::Resting { until: 0 } };
        Actor { rounds_left, tries_left: self.clients[who].tries, ..actor.now(doing) }
    }

    /// The connection broke: nobody knows whether the command ran.
    pub(super) fn without_reply(&self, who: usize, actor: &Actor, tick: u16) -> Actor {
        match &actor.doing {
            Doing::Acquiring(_) | Doing::Disclaiming(_) => {
                self.settled(who, actor.now(Doing::Disclaiming(Talk::default())), tick).0
            }
            Doing::Extending(hold, work, _) => actor.now(Doing::Holding(hold.clone(), *work)),
            Doing::Releasing(..) => self.round_over(who, actor),
            Doing::Resting { .. } | Doing::Holding(..) | Doing::Done | Doing::Crashed => actor.clone(),
        }
    }
}
