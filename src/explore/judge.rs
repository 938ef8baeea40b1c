//! Whether a world, or a step from one world to the next, is as it must be.

use super::parts::{Activity, Claim, Parts};
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
        if self.properties.has(Property::NoPhantom) && self.has_phantom(world)? {
            violated = violated.with(Property::NoPhantom);
        }
        if self.properties.has(Property::NoStaleWrite) && self.parts.server_view(&world.node)?.accepted_stale {
            violated = violated.with(Property::NoStaleWrite);
        }
        Ok(violated)
    }

    /// The properties that this step violates.
    pub(super) fn change(&self, change: &Change<'_, P>) -> Result<Properties, P::Miss> {
        let mut violated = Properties::default();
        if self.properties.has(Property::ReleasesOnlyOwn) && self.releases_anothers(change)? {
            violated = violated.with(Property::ReleasesOnlyOwn);
        }
        if self.properties.has(Property::TruthfulOutcome) && self.misreports(change)? {
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
        let (clients, tick) = (&self.scene.clients, world.clock.tick);
        let is_after_another = clients[one].lock != clients[other].lock;
        if is_after_another || self.parts.view(one, &world.actors[one])?.believes_until <= tick {
            return Ok(None);
        }
        if self.parts.view(other, &world.actors[other])?.believes_until <= tick {
            return Ok(None);
        }
        Ok(match (clients[one].locker.mode(), clients[other].locker.mode()) {
            (Mode::Exclusive, Mode::Exclusive) => Some(Property::MutualExclusion),
            (Mode::Shared, Mode::Shared) => self.exceeds_permits(one, world)?.then_some(Property::MutualExclusion),
            (Mode::Shared, Mode::Exclusive) | (Mode::Exclusive, Mode::Shared) => Some(Property::ReaderExcludesWriter),
        })
    }

    /// Whether more clients believe that they hold the lock of this client than may share it.
    fn exceeds_permits(&self, who: usize, world: &World<P::Node, P::Actor>) -> Result<bool, P::Miss> {
        let clients = &self.scene.clients;
        let Some(permits) = clients[who].locker.max_sharers() else { return Ok(false) };
        let mut believers = 0;
        for (place, actor) in world.actors.iter().enumerate() {
            let is_same_lock = clients[place].lock == clients[who].lock;
            believers += u32::from(is_same_lock && self.parts.view(place, actor)?.believes_until > world.clock.tick);
        }
        Ok(believers > permits.get())
    }

    /// A client's lease is running, and the server says that the lock is not its own.
    fn breaks_a_lease(&self, world: &World<P::Node, P::Actor>) -> Result<bool, P::Miss> {
        for who in 0..world.actors.len() {
            if self.has_lost_its_lock(who, world)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether this client has a lock whose lease is running.
    pub(super) fn has_running_lease(&self, who: usize, world: &World<P::Node, P::Actor>) -> Result<bool, P::Miss> {
        Ok(self.parts.view(who, &world.actors[who])?.has_until > world.clock.tick)
    }

    /// Whether this client has a lock whose lease is running, and the server says that it is not this client's.
    pub(super) fn has_lost_its_lock(&self, who: usize, world: &World<P::Node, P::Actor>) -> Result<bool, P::Miss> {
        Ok(self.has_running_lease(who, world)?
            && !self.parts.stands(who, &world.actors[who], &world.node, world.clock.tick)?)
    }

    /// No operation is under way, nothing went wrong, what stands on the server is no client's; and yet a newcomer does not
    /// acquire, even a tick later: so much a stamp may outlast its lease.
    fn has_phantom(&self, world: &World<P::Node, P::Actor>) -> Result<bool, P::Miss> {
        let tick = world.clock.tick;
        if !self.scene.is_unharmed(world) || tick < self.scene.dead_lease_until {
            return Ok(false);
        }
        for (who, actor) in world.actors.iter().enumerate() {
            let view = self.parts.view(who, actor)?;
            let holds = view.activity.holds();
            if view.activity.is_busy()
                || view.believes_until > tick
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
    fn releases_anothers(&self, change: &Change<'_, P>) -> Result<bool, P::Miss> {
        let Some(releaser) = change.action.client().filter(|_| change.before.node != change.after.node) else {
            return Ok(false);
        };
        let view = self.parts.view(releaser, &change.before.actors[releaser])?;
        if !(view.activity == Activity::Releasing
            || view.activity == Activity::Holding && !self.extends(change, releaser)?)
        {
            return Ok(false);
        }
        self.loses_a_lock(change, releaser)
    }

    fn extends(&self, change: &Change<'_, P>, who: usize) -> Result<bool, P::Miss> {
        match change.exchanged {
            Some(actor) => Ok(self.parts.view(who, actor)?.activity == Activity::Extending),
            None => Ok(false),
        }
    }

    /// Whether another client than the actor had a lock, lease running, and has lost it.
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
        let (before, after, tick) = (change.before, change.after, change.after.clock.tick);
        let actor = &before.actors[victim];
        Ok(self.parts.view(victim, actor)?.has_until > tick
            && self.parts.stands(victim, actor, &before.node, before.clock.tick)?
            && !self.parts.stands(victim, actor, &after.node, tick)?)
    }

    /// An attempt ends before it has sent anything.
    fn gives_up_unasked(&self, change: &Change<'_, P>) -> Result<bool, P::Miss> {
        let Action::Step(who) = change.action else { return Ok(false) };
        let who = usize::from(who);
        let before = self.parts.view(who, &change.before.actors[who])?.activity;
        let after = self.parts.view(who, &change.after.actors[who])?.activity;
        Ok(before == Activity::Resting
            && change.exchanged.is_none()
            && matches!(after, Activity::Resting | Activity::Over))
    }

    /// An outcome is not what the server did.
    fn misreports(&self, change: &Change<'_, P>) -> Result<bool, P::Miss> {
        let (Some(who), Some(actor)) = (change.action.client(), change.exchanged) else { return Ok(false) };
        let tick = change.before.clock.tick;
        let view = self.parts.view(who, actor)?;
        match view.claim {
            Claim::Open | Claim::NotOurs | Claim::FreedBefore => Ok(false),
            Claim::Ours if view.has_until <= tick => Ok(false),
            Claim::Ours => Ok(!self.parts.stands(who, actor, &change.after.node, tick)?),
            Claim::Freed => Ok(!self.parts.touches(who, &change.before.node, &change.after.node, tick)?),
            Claim::Lost => self.parts.stands(who, actor, &change.before.node, tick),
        }
    }
}

impl Scene {
    fn is_unharmed<N, A>(&self, world: &World<N, A>) -> bool {
        world.faults == self.bounds.faults
    }
}
