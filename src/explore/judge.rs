//! Whether a world, or a step from one world to the next, is as it must be.

use super::parts::{Parts, Stage, Verdict};
use super::property::{Properties, Property};
use super::scene::Scene;
use super::world::{Action, World};
use crate::lock::Mode;

/// Judges worlds and steps by these properties.
pub(super) struct Judge<'a, P: Parts> {
    pub(super) scene: &'a Scene,
    pub(super) parts: &'a P,
    pub(super) properties: Properties,
}

/// A step from one world to the next.
pub(super) struct Change<'a, P: Parts> {
    pub(super) before: &'a World<P::Node, P::Actor>,
    pub(super) action: Action,
    /// The acting client right after the server ran its command, if one ran.
    pub(super) exchanged: Option<&'a P::Actor>,
    pub(super) after: &'a World<P::Node, P::Actor>,
}

impl<P: Parts> Judge<'_, P> {
    /// The properties that this world violates.
    pub(super) fn world(&self, world: &World<P::Node, P::Actor>) -> Result<Properties, P::Miss> {
        let mut violated = self.overlaps(world)?;
        if self.properties.has(Property::LeaseHonoured) && self.breaks_a_lease(world)? {
            violated = violated.with(Property::LeaseHonoured);
        }
        if self.properties.has(Property::NoPhantom) && self.is_haunted(world)? {
            violated = violated.with(Property::NoPhantom);
        }
        if self.properties.has(Property::NoStaleWrite) && self.parts.glance(&world.node)?.accepted_stale {
            violated = violated.with(Property::NoStaleWrite);
        }
        Ok(violated)
    }

    /// The properties that this step violates.
    pub(super) fn change(&self, change: &Change<'_, P>) -> Result<Properties, P::Miss> {
        let mut violated = Properties::default();
        if self.properties.has(Property::ReleasesOnlyOwn) && self.takes_anothers(change)? {
            violated = violated.with(Property::ReleasesOnlyOwn);
        }
        if self.properties.has(Property::TruthfulOutcome) && self.lies(change)? {
            violated = violated.with(Property::TruthfulOutcome);
        }
        if self.properties.has(Property::TriesAsAsked) && self.gives_up_unasked(change)? {
            violated = violated.with(Property::TriesAsAsked);
        }
        Ok(violated)
    }

    /// Two believe at once.
    fn overlaps(&self, world: &World<P::Node, P::Actor>) -> Result<Properties, P::Miss> {
        let mut violated = Properties::default();
        for one in 0..world.actors.len() {
            for other in one + 1..world.actors.len() {
                let clash = self.clash(one, other, world)?;
                violated = clash.filter(|clash| self.properties.has(*clash)).map_or(violated, |it| violated.with(it));
            }
        }
        Ok(violated)
    }

    /// What it violates, if anything, that these two believe at once.
    pub(super) fn clash(
        &self,
        one: usize,
        other: usize,
        world: &World<P::Node, P::Actor>,
    ) -> Result<Option<Property>, P::Miss> {
        let (clients, tick) = (&self.scene.clients, world.left.tick);
        let is_after_another = clients[one].lock != clients[other].lock;
        if is_after_another || self.parts.look(one, &world.actors[one])?.believes_until <= tick {
            return Ok(None);
        }
        if self.parts.look(other, &world.actors[other])?.believes_until <= tick {
            return Ok(None);
        }
        Ok(match (clients[one].locker.mode(), clients[other].locker.mode()) {
            (Mode::Exclusive, Mode::Exclusive) => Some(Property::MutualExclusion),
            (Mode::Shared, Mode::Shared) => None,
            (Mode::Shared, Mode::Exclusive) | (Mode::Exclusive, Mode::Shared) => Some(Property::ReaderExcludesWriter),
        })
    }

    /// Somebody's lease is running, and the server says that the lock is not theirs.
    fn breaks_a_lease(&self, world: &World<P::Node, P::Actor>) -> Result<bool, P::Miss> {
        for who in 0..world.actors.len() {
            if self.is_robbed(who, world)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether this client has a lock whose lease is running.
    pub(super) fn has_one(&self, who: usize, world: &World<P::Node, P::Actor>) -> Result<bool, P::Miss> {
        Ok(self.parts.look(who, &world.actors[who])?.has_until > world.left.tick)
    }

    /// Whether this client has a lock whose lease is running, and the server says that it is not this client's.
    pub(super) fn is_robbed(&self, who: usize, world: &World<P::Node, P::Actor>) -> Result<bool, P::Miss> {
        Ok(self.has_one(who, world)? && !self.parts.stands(who, &world.actors[who], &world.node, world.left.tick)?)
    }

    /// Nobody is in the middle of anything, nothing went wrong, what stands on the server is nobody's; and yet a newcomer
    /// is refused, even a tick later: so much a stamp may outlast its lease.
    fn is_haunted(&self, world: &World<P::Node, P::Actor>) -> Result<bool, P::Miss> {
        let tick = world.left.tick;
        if !self.scene.is_unharmed(world) || tick < self.scene.left_behind_until {
            return Ok(false);
        }
        for (who, actor) in world.actors.iter().enumerate() {
            let look = self.parts.look(who, actor)?;
            let holds = look.stage.holds();
            if look.stage.is_busy()
                || look.believes_until > tick
                || holds && self.parts.stands(who, actor, &world.node, tick)?
            {
                return Ok(false);
            }
        }
        for like in self.scene.protocols() {
            if self.parts.refuses_newcomer(like, &world.node, tick.saturating_add(1))? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// A release makes another client lose what it has.
    fn takes_anothers(&self, change: &Change<'_, P>) -> Result<bool, P::Miss> {
        let Some(releaser) = change.action.client().filter(|_| change.before.node != change.after.node) else {
            return Ok(false);
        };
        let look = self.parts.look(releaser, &change.before.actors[releaser])?;
        if !(look.stage == Stage::Releasing || look.stage == Stage::Holding && !self.extends(change, releaser)?) {
            return Ok(false);
        }
        self.loses_a_lock(change, releaser)
    }

    fn extends(&self, change: &Change<'_, P>, who: usize) -> Result<bool, P::Miss> {
        match change.exchanged {
            Some(actor) => Ok(self.parts.look(who, actor)?.stage == Stage::Extending),
            None => Ok(false),
        }
    }

    /// Whether somebody else than the actor had a lock, lease running, and has it no more.
    pub(super) fn loses_a_lock(&self, change: &Change<'_, P>, actor: usize) -> Result<bool, P::Miss> {
        for victim in (0..change.before.actors.len()).filter(|victim| *victim != actor) {
            if self.loses(change, victim)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether this client had a lock, lease running, and has it no more.
    pub(super) fn loses(&self, change: &Change<'_, P>, victim: usize) -> Result<bool, P::Miss> {
        let (before, after, tick) = (change.before, change.after, change.after.left.tick);
        let actor = &before.actors[victim];
        Ok(self.parts.look(victim, actor)?.has_until > tick
            && self.parts.stands(victim, actor, &before.node, before.left.tick)?
            && !self.parts.stands(victim, actor, &after.node, tick)?)
    }

    /// A try is over before it has sent anything.
    fn gives_up_unasked(&self, change: &Change<'_, P>) -> Result<bool, P::Miss> {
        let Action::Step(who) = change.action else { return Ok(false) };
        let who = usize::from(who);
        let before = self.parts.look(who, &change.before.actors[who])?.stage;
        let after = self.parts.look(who, &change.after.actors[who])?.stage;
        Ok(before == Stage::Resting && change.exchanged.is_none() && matches!(after, Stage::Resting | Stage::Over))
    }

    /// An outcome is not what the server did.
    fn lies(&self, change: &Change<'_, P>) -> Result<bool, P::Miss> {
        let (Some(who), Some(actor)) = (change.action.client(), change.exchanged) else { return Ok(false) };
        let tick = change.before.left.tick;
        let look = self.parts.look(who, actor)?;
        match look.verdict {
            Verdict::Open | Verdict::NotOurs | Verdict::FreedBefore => Ok(false),
            Verdict::Ours if look.has_until <= tick => Ok(false),
            Verdict::Ours => Ok(!self.parts.stands(who, actor, &change.after.node, tick)?),
            Verdict::Freed => Ok(!self.parts.touches(who, &change.before.node, &change.after.node, tick)?),
            Verdict::Lost => self.parts.stands(who, actor, &change.before.node, tick),
        }
    }
}

impl Scene {
    fn is_unharmed<N, A>(&self, world: &World<N, A>) -> bool {
        let (left, bounds) = (world.left, self.bounds);
        left.crashes == bounds.crashes && left.lost_replies == bounds.lost_replies && left.failovers == bounds.failovers
    }
}
