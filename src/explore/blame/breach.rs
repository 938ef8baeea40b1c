//! Which cause breaks a property in a step, and which clients it harms.

use super::super::judge::{Change, Judge};
use super::super::memo::{Memo, Question};
use super::super::parts::{Activity, Input, Next, Parts};
use super::super::property::{Properties, Property};
use super::super::world::{Action, World};
use super::attribution::Attribution;
use super::cause::CauseId;

/// A property that was broken in a step, and what caused it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Breach {
    pub(in super::super) property: Property,
    pub(in super::super) cause: CauseId,
}

/// Judges steps by their causes.
pub(in super::super) struct Blame<'a> {
    pub(in super::super) judge: Judge<'a, Memo<'a>>,
    pub(in super::super) before: &'a World<u32, u32>,
    pub(in super::super) action: Action,
    /// The acting client right after the server ran its command, if one ran.
    pub(in super::super) exchanged: Option<u32>,
}

impl Blame<'_> {
    /// Adds the properties that the step to `after` breaks, each with its cause, and returns the step's own cause. A client
    /// that is harmed remembers it.
    pub(in super::super) fn attribute(
        &self,
        after: &mut World<u32, u32>,
        breaches: &mut Vec<Breach>,
    ) -> Result<CauseId, Question> {
        let Self { judge, before, action, exchanged } = self;
        let of_exchange = exchanged.map_or_else(|| self.received(), |actor| Ok(Some(actor)))?;
        let cause = judge.parts.cause(Attribution::of(*action, of_exchange, before.clock.tick))?;
        let change = Change { before, action: *action, exchanged: exchanged.as_ref(), after };
        let by_step = judge.change(&change)?;
        breaches.extend(by_step.iter().map(|property| Breach { property, cause }));
        for victim in 0..after.actors.len() {
            if let Some(cause) = self.harms(victim, cause, after)? {
                breaches.extend(self.asked(Property::LeaseHonoured).map(|property| Breach { property, cause }));
            }
        }
        self.clashes(cause, after, breaches)?;
        Ok(cause)
    }

    /// The acting client before this step, if it only receives a reply, loses it, looks at its clock or concludes. The cause is
    /// then that of its last exchange, so that finer steps find the same causes.
    fn received(&self) -> Result<Option<u32>, Question> {
        let Some(who) = self.action.client() else { return Ok(None) };
        let actor = self.before.actors[who];
        let receives = is_before_a_conclusion(self.judge.parts.view(who, &actor)?.next);
        Ok(Some(actor).filter(|_| receives))
    }

    /// What caused the loss, if this client's lock is lost with this step. A change by another client of a lock that was not
    /// lost before is remembered.
    fn harms(&self, victim: usize, cause: CauseId, after: &mut World<u32, u32>) -> Result<Option<CauseId>, Question> {
        let judge = &self.judge;
        if judge.has_lost_its_lock(victim, self.before)? {
            return Ok(None);
        }
        let has_lost_its_lock = judge.has_lost_its_lock(victim, after)?;
        let Some(actor) = self.action.client() else {
            return if has_lost_its_lock { self.cause_of_loss(victim, after).map(Some) } else { Ok(None) };
        };
        let is_another = actor != victim;
        let is_harmed_before = judge.parts.harmed_by(after.actors[victim]).is_some();
        if has_lost_its_lock
            && is_another
            && !judge.parts.refuses_newcomer(victim, &self.before.node, after.clock.tick)?
        {
            // By the victim's own protocol the lock had expired: it kept no client out.
            let cause = self.cause_of_loss(victim, after)?;
            after.actors[victim] = judge.parts.harmed(after.actors[victim], cause)?;
        } else if has_lost_its_lock && (is_another || self.exchanged.is_some() || !is_harmed_before)
            || is_another && self.touches(victim, after)?
            || is_another && !is_harmed_before && self.touches_what_it_will_have(victim, after)?
        {
            after.actors[victim] = judge.parts.harmed(after.actors[victim], cause)?;
        }
        if has_lost_its_lock { self.cause_of_loss(victim, after).map(Some) } else { Ok(None) }
    }

    /// Whether the step changes a lock whose lease is running.
    fn touches(&self, victim: usize, after: &World<u32, u32>) -> Result<bool, Question> {
        Ok(self.before.node != after.node
            && self.judge.has_running_lease(victim, after)?
            && self.judge.parts.touches(victim, &self.before.node, &after.node, after.clock.tick)?)
    }

    /// Whether the step changes a lock that a client has won and does not know of: it has yet to receive the reply, or to look at
    /// its clock.
    fn touches_what_it_will_have(&self, victim: usize, after: &World<u32, u32>) -> Result<bool, Question> {
        let (parts, before, tick) = (self.judge.parts, self.before, self.before.clock.tick);
        if before.node == after.node || parts.view(victim, &before.actors[victim])?.activity != Activity::Trying {
            return Ok(false);
        }
        let mut actor = before.actors[victim];
        let mut view = parts.view(victim, &actor)?;
        while view.activity == Activity::Trying && is_before_a_conclusion(view.next) {
            let reads_clock = matches!(view.next, Next::ReadClock);
            let input = if reads_clock { Input::Clock(tick) } else { Input::Proceed(tick) };
            actor = parts.input(victim, &actor, input)?;
            view = parts.view(victim, &actor)?;
        }
        Ok(view.has_until > tick
            && parts.stands(victim, &actor, &before.node, tick)?
            && parts.touches(victim, &before.node, &after.node, after.clock.tick)?)
    }

    /// Why this client's lock is lost: another client changed it last, or it expired.
    fn cause_of_loss(&self, victim: usize, after: &World<u32, u32>) -> Result<CauseId, Question> {
        match self.judge.parts.harmed_by(after.actors[victim]) {
            Some(cause) => Ok(cause),
            None => self.judge.parts.cause(Attribution::ExpiredEarly(victim)),
        }
    }

    /// Two clients now believe that they hold, and did not before. The cause is what made one of them lose its lock, or that
    /// one of them overran its lease; if neither has lost anything, it is this step.
    fn clashes(&self, cause: CauseId, after: &World<u32, u32>, breaches: &mut Vec<Breach>) -> Result<(), Question> {
        let Self { judge, before, .. } = self;
        for one in 0..after.actors.len() {
            for other in one + 1..after.actors.len() {
                let Some(property) = judge.clash(one, other, after)? else { continue };
                if !judge.properties.has(property) || judge.clash(one, other, before)?.is_some() {
                    continue;
                }
                let known = breaches.len();
                for believer in [one, other] {
                    if judge.has_lost_its_lock(believer, after)?
                        || judge.parts.harmed_by(after.actors[believer]).is_some()
                    {
                        breaches.push(Breach { property, cause: self.cause_of_loss(believer, after)? });
                    } else if !judge.has_running_lease(believer, after)? {
                        breaches.push(Breach { property, cause: judge.parts.cause(Attribution::Overrun(believer))? });
                    }
                }
                if breaches.len() == known {
                    breaches.push(Breach { property, cause });
                }
            }
        }
        Ok(())
    }

    fn asked(&self, property: Property) -> Option<Property> {
        Some(property).filter(|property| self.judge.properties.has(*property))
    }
}

/// Whether what a client does next only tells it what has happened before.
fn is_before_a_conclusion<C>(next: Next<C>) -> bool {
    matches!(next, Next::Receive | Next::ReadClock | Next::Conclude)
}

impl Properties {
    /// Those of them that are broken by a step, so that some cause is to blame.
    pub(in super::super) fn broken_by_steps(self) -> Self {
        let by_steps = |property: &Property| !matches!(property, Property::NoPhantom | Property::NoStaleWrite);
        self.iter().filter(by_steps).fold(Self::default(), Self::with)
    }
}
