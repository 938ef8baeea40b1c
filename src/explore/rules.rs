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
            clock_waits |= scene.clients[usize::from(who)].prompt;
            scene.steps_of(who, &look, left.lost_replies > 0, actions);
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

    /// What a client can do, if it may act now. Of a round, any command may be the next to arrive.
    fn steps_of<C>(&self, who: u8, look: &Look<C>, replies_get_lost: bool, actions: &mut Vec<Action>) {
        let Next::Round(servers) = look.next else {
            actions.push(Action::Step(who));
            actions.extend(Some(Action::LoseReply(who)).filter(|_| replies_get_lost && self.can_lose_reply(look)));
            return;
        };
        for node in servers.places() {
            actions.push(Action::StepOn(who, node));
            actions.extend(Some(Action::LoseReplyOn(who, node)).filter(|_| replies_get_lost));
        }
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
        Action::Step(who) => return Stepper::of(who, scene, parts, world).step(),
        Action::StepOn(who, node) => return Stepper::of(who, scene, parts, world).step_on(node, Arrival::Heard),
        Action::LoseReply(who) => return Stepper::of(who, scene, parts, world).step_unheard(),
        Action::LoseReplyOn(who, node) => return Stepper::of(who, scene, parts, world).step_on(node, Arrival::Unheard),
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

/// What becomes of the reply of one server of several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Arrival {
    Heard,
    Unheard,
}

impl<'a, P: Parts> Stepper<'a, P> {
    fn of(who: u8, scene: &'a Scene, parts: &'a P, world: &'a mut World<P::Node, P::Actor>) -> Self {
        Self { scene, parts, world, who: usize::from(who), exchanged: None }
    }

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

    /// A step on one server of a round; in the coarse grain, the one that ends the round goes on from there.
    fn step_on(mut self, node: u8, arrival: Arrival) -> Result<Option<P::Actor>, P::Miss> {
        let held = self.look()?.stage.holds();
        self.arrive(node, arrival)?;
        match self.scene.grain {
            Grain::Fine => {}
            Grain::Coarse => while self.coarse()? {},
        }
        if held && !self.look()?.stage.holds() {
            self.end_renewals()?;
        }
        Ok(self.exchanged)
    }

    /// A step whose reply is lost, if it gets as far as a reply. If that is a round, the first server's is.
    fn step_unheard(mut self) -> Result<Option<P::Actor>, P::Miss> {
        while !matches!(self.look()?.next, Next::Receive) {
            if let Next::Round(servers) = self.look()?.next {
                let first = servers.places().next().unwrap_or_default();
                return self.step_on(first, Arrival::Unheard);
            }
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
            Next::Nothing | Next::Round(_) => Ok(()),
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
        match self.look()?.next {
            Next::Round(_) => return Ok(false),
            Next::Send(_) if self.exchanged.is_some() => return Ok(false),
            _ => {}
        }
        self.fine()?;
        Ok(self.look()?.stage.is_busy())
    }

    fn exchange(&mut self, command: P::Command, tick: u16) -> Result<(), P::Miss> {
        self.exchange_told(command, tick, Told::Reply)
    }

    /// One command of a round runs on its server.
    fn arrive(&mut self, node: u8, arrival: Arrival) -> Result<(), P::Miss> {
        let command = self.parts.command_on(self.who, &self.world.actors[self.who], node)?;
        let tick = self.world.left.tick;
        match arrival {
            Arrival::Heard => self.exchange_told(command, tick, |reply| Told::ReplyOn(node, reply)),
            Arrival::Unheard => {
                self.world.left.lost_replies -= 1;
                self.exchange_told(command, tick, |_| Told::SilenceOn(node))
            }
        }
    }

    /// The server runs a command, and the client is told what comes of it.
    fn exchange_told(
        &mut self,
        command: P::Command,
        tick: u16,
        told: impl FnOnce(P::Reply) -> Told<P::Reply>,
    ) -> Result<(), P::Miss> {
        let had = self.look()?.has_until;
        let (node, reply) = self.parts.ask(&self.world.node, Asked::Command(self.who, command, tick))?;
        self.world.node = node;
        self.tell(told(reply))?;
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
