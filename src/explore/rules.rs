//! The rules by which a world changes, written once for whole values and for ids.

use super::parts::{Asked, Look, Next, Parts, Stage, Told};
use super::scene::{Grain, Scene};
use super::world::{Action, World};

/// All that can happen next, in a fixed order.
pub(super) fn actions<P: Parts>(
    scene: &Scene,
    parts: &P,
    world: &World<P::Node, P::Actor>,
    actions: &mut Vec<Action>,
) -> Result<(), P::Miss> {
    let mut left = world.left;
    if scene.has_leapt(left.tick) {
        (left.crashes, left.lost_replies, left.failovers) = (0, 0, 0);
    }
    let mut clock_waits = false;
    for (who, actor) in (0..).zip(&world.actors) {
        let look = parts.look(usize::from(who), actor)?;
        if look.stage == Stage::Over {
            continue;
        }
        let can_step = look.at <= left.tick;
        if can_step {
            actions.push(Action::Step(who));
            clock_waits |= scene.clients[usize::from(who)].prompt;
        }
        if left.lost_replies > 0 && can_step && scene.can_lose_reply(&look) {
            actions.push(Action::LoseReply(who));
        }
        if left.crashes > 0 {
            actions.push(Action::Crash(who));
        }
    }
    if left.failovers > 0 {
        actions.extend((1..=parts.glance(&world.node)?.lagging).map(Action::FailOver));
    }
    if !clock_waits {
        actions.extend(scene.next_of_clock(left.tick));
    }
    Ok(())
}

impl Scene {
    /// What the clock does next.
    fn next_of_clock(&self, tick: u16) -> Option<Action> {
        if self.horizon.is_some() || tick < self.bounds.ticks {
            return Some(Action::Tick);
        }
        Some(Action::Leap).filter(|_| self.bounds.afterwards.is_some() && !self.has_leapt(tick))
    }

    fn can_lose_reply<C>(&self, look: &Look<C>) -> bool {
        match self.grain {
            Grain::Fine => matches!(look.next, Next::Receive),
            Grain::Coarse => matches!(look.next, Next::Send(_) | Next::ReadClock),
        }
    }
}

/// Lets an action happen. Hands back the client as it was right after the server ran its command, if one ran.
pub(super) fn apply<P: Parts>(
    scene: &Scene,
    parts: &P,
    world: &mut World<P::Node, P::Actor>,
    action: Action,
) -> Result<Option<P::Actor>, P::Miss> {
    match action {
        Action::Step(who) => return Stepper { scene, parts, world, who: usize::from(who), exchanged: None }.step(),
        Action::LoseReply(who) => {
            return Stepper { scene, parts, world, who: usize::from(who), exchanged: None }.step_unheard();
        }
        Action::Crash(who) => {
            let who = usize::from(who);
            world.actors[who] = parts.tell(who, &world.actors[who], Told::Crash)?;
            world.node = parts.ask(&world.node, Asked::Disconnect(who))?.0;
            world.left.crashes -= 1;
        }
        Action::FailOver(writes_lost) => {
            world.left.failovers -= 1;
            let is_last = world.left.failovers == 0;
            world.node = parts.ask(&world.node, Asked::FailOver { writes_lost, is_last })?.0;
        }
        Action::Tick => pass_time(parts, world, 1)?,
        Action::Leap => pass_time(parts, world, scene.bounds.afterwards.unwrap_or(0))?,
    }
    Ok(None)
}

fn pass_time<P: Parts>(parts: &P, world: &mut World<P::Node, P::Actor>, ticks: u16) -> Result<(), P::Miss> {
    world.left.tick = world.left.tick.saturating_add(ticks);
    world.node = parts.ask(&world.node, Asked::Elapse(world.left.tick))?.0;
    Ok(())
}

/// One client taking one step.
struct Stepper<'a, P: Parts> {
    scene: &'a Scene,
    parts: &'a P,
    world: &'a mut World<P::Node, P::Actor>,
    who: usize,
    exchanged: Option<P::Actor>,
}

impl<P: Parts> Stepper<'_, P> {
    fn step(mut self) -> Result<Option<P::Actor>, P::Miss> {
        let held = self.look()?.stage.holds();
        match self.scene.grain {
            Grain::Fine => self.fine()?,
            Grain::Coarse => while self.coarse()? {},
        }
        if held && !self.look()?.stage.holds() {
            self.end_renewals()?;
        }
        Ok(self.exchanged)
    }

    /// A step whose reply is lost, if it gets as far as a reply.
    fn step_unheard(mut self) -> Result<Option<P::Actor>, P::Miss> {
        while !matches!(self.look()?.next, Next::Receive) {
            self.fine()?;
            if !self.look()?.stage.is_busy() {
                return Ok(self.exchanged);
            }
        }
        self.tell(Told::ReplyLost(self.world.left.tick))?;
        self.world.node = self.parts.ask(&self.world.node, Asked::Disconnect(self.who))?.0;
        self.world.left.lost_replies -= 1;
        Ok(self.exchanged)
    }

    /// One fine step.
    fn fine(&mut self) -> Result<(), P::Miss> {
        let tick = self.world.left.tick;
        match self.look()?.next {
            Next::Nothing => Ok(()),
            Next::ReadClock => self.tell(Told::Clock(tick)),
            Next::Receive | Next::Conclude => self.tell(Told::Proceed(tick)),
            Next::Send(command) => self.exchange(command, tick),
            Next::Write => {
                self.world.node = self.parts.write(self.who, &self.world.actors[self.who], &self.world.node)?;
                self.tell(Told::Written)
            }
        }
    }

    /// One fine step of a coarse one: whether another follows. A coarse step has one round trip at most, and ends with
    /// its operation.
    fn coarse(&mut self) -> Result<bool, P::Miss> {
        if self.exchanged.is_some() && matches!(self.look()?.next, Next::Send(_)) {
            return Ok(false);
        }
        self.fine()?;
        Ok(self.look()?.stage.is_busy())
    }

    fn exchange(&mut self, command: P::Command, tick: u16) -> Result<(), P::Miss> {
        let had = self.look()?.has_until;
        let (node, reply) = self.parts.ask(&self.world.node, Asked::Command(self.who, command, tick))?;
        self.world.node = node;
        self.tell(Told::Reply(reply))?;
        if had == 0 && self.look()?.has_until > 0 && self.scene.start.guard.is_some() {
            self.world.node = self.parts.ask(&self.world.node, Asked::Won(self.who))?.0;
        }
        self.exchanged = Some(self.world.actors[self.who].clone());
        Ok(())
    }

    /// Clears the flag by which other clients renew, where they share it with this one.
    fn end_renewals(&mut self) -> Result<(), P::Miss> {
        for &other in &self.scene.clients[self.who].ends_renewal_of {
            let actor = self.parts.tell(other, &self.world.actors[other], Told::RenewalEnded)?;
            self.world.actors[other] = actor;
        }
        Ok(())
    }

    fn look(&self) -> Result<Look<P::Command>, P::Miss> {
        self.parts.look(self.who, &self.world.actors[self.who])
    }

    fn tell(&mut self, told: Told<P::Reply>) -> Result<(), P::Miss> {
        self.world.actors[self.who] = self.parts.tell(self.who, &self.world.actors[self.who], told)?;
        Ok(())
    }
}
