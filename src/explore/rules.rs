//! The rules by which a world changes, written once for whole values and for ids.

use super::faults::FaultBudget;
use super::parts::{Activity, ClientView, Input, Next, Parts, Request};
use super::scene::{Grain, Scene};
use super::world::{Action, World};

/// By how many ticks a clock is set ahead at once.
const DIRECTIONS: [i8; 2] = [1, -1];

/// All that can happen next, in a fixed order.
pub(super) fn actions<P: Parts>(
    scene: &Scene,
    parts: &P,
    world: &World<P::Node, P::Actor>,
    actions: &mut Vec<Action>,
) -> Result<(), P::Miss> {
    let tick = world.clock.tick;
    let faults = if scene.has_leapt(tick) { FaultBudget::NONE } else { world.faults };
    let mut clock_waits = false;
    for (who, actor) in (0..).zip(&world.actors) {
        let view = parts.view(usize::from(who), actor)?;
        if view.activity == Activity::Over {
            let restarts = view.has_crashed && faults.client_restarts > 0;
            actions.extend(Some(Action::RestartClient(who)).filter(|_| restarts));
            continue;
        }
        if faults.clock_steps > 0 {
            actions.extend(DIRECTIONS.map(|ticks| Action::SetClock(who, ticks)));
        }
        let can_step = view.at <= tick;
        if can_step {
            clock_waits |= scene.clients[usize::from(who)].prompt;
            scene.steps_of(who, &view, faults, actions);
        }
        if faults.crashes > 0 {
            actions.push(Action::Crash(who));
        }
    }
    let server = parts.server_view(&world.node)?;
    let clients = 0..u8::try_from(world.actors.len()).unwrap_or(u8::MAX);
    actions.extend(clients.filter(|who| server.delayed >> (who % 32) & 1 == 1).map(Action::RunLate));
    for server in 0..scene.server_count() {
        if faults.failovers > 0 {
            let lag = parts.lag_of(&world.node, server)?;
            actions.extend((1..=lag).map(|writes_lost| Action::FailOver(server, writes_lost)));
        }
        actions.extend(Some(Action::Restart(server)).filter(|_| faults.restarts > 0));
        actions.extend(Some(Action::LoseData(server)).filter(|_| faults.data_losses > 0));
        if faults.evictions > 0 {
            let keys = parts.keys_of(&world.node, server)?;
            actions.extend((0..keys).map(|place| Action::Evict(server, place)));
        }
        if faults.removals_at_deadline > 0 {
            let places = parts.keys_at_deadline(&world.node, server, tick)?;
            actions.extend(places.into_iter().map(|place| Action::RemoveAtDeadline(server, place)));
        }
        if faults.server_clock_steps > 0 {
            actions.extend(DIRECTIONS.map(|ticks| Action::SetServerClock(server, ticks)));
        }
    }
    if !clock_waits {
        actions.extend(scene.next_of_clock(tick));
    }
    Ok(())
}

impl Scene {
    /// What the clock does next.
    pub(super) fn next_of_clock(&self, tick: u16) -> Option<Action> {
        if self.horizon.is_some() || tick < self.bounds.ticks {
            return Some(Action::Tick);
        }
        Some(Action::Leap).filter(|_| self.bounds.afterwards.is_some() && !self.has_leapt(tick))
    }

    /// What a client can do, if it may act now. Of a round, any command may be the next to arrive.
    fn steps_of<C>(&self, who: u8, view: &ClientView<C>, faults: FaultBudget, actions: &mut Vec<Action>) {
        let replies_get_lost = faults.lost_replies > 0;
        let Next::Round(servers) = view.next else {
            actions.push(Action::Step(who));
            actions.extend(Some(Action::LoseReply(who)).filter(|_| replies_get_lost && self.can_lose_reply(view)));
            let requests_get_lost = faults.lost_requests > 0;
            actions.extend(Some(Action::LoseRequest(who)).filter(|_| requests_get_lost && self.can_lose_request(view)));
            let requests_get_late = faults.late_requests > 0;
            actions
                .extend(Some(Action::DelayRequest(who)).filter(|_| requests_get_late && self.can_lose_request(view)));
            return;
        };
        for node in servers.places() {
            actions.push(Action::StepOn(who, node));
            actions.extend(Some(Action::LoseReplyOn(who, node)).filter(|_| replies_get_lost));
            actions.extend(Some(Action::LoseRequestOn(who, node)).filter(|_| faults.lost_requests > 0));
            actions.extend(Some(Action::DelayRequestOn(who, node)).filter(|_| faults.late_requests > 0));
        }
    }

    fn can_lose_request<C>(&self, view: &ClientView<C>) -> bool {
        match self.grain {
            Grain::Fine | Grain::Medium => matches!(view.next, Next::Send(_)),
            Grain::Coarse => matches!(view.next, Next::Send(_) | Next::ReadClock),
        }
    }

    fn can_lose_reply<C>(&self, view: &ClientView<C>) -> bool {
        match self.grain {
            Grain::Fine => matches!(view.next, Next::Receive),
            Grain::Medium => matches!(view.next, Next::Send(_)),
            Grain::Coarse => matches!(view.next, Next::Send(_) | Next::ReadClock),
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
        Action::StepOn(who, node) => return Stepper::of(who, scene, parts, world).step_on(node, Reception::Received),
        Action::LoseRequest(who) => {
            return Stepper::of(who, scene, parts, world).step_without_request(Absent::Lost);
        }
        Action::DelayRequest(who) => {
            return Stepper::of(who, scene, parts, world).step_without_request(Absent::Late);
        }
        Action::RunLate(who) => {
            world.node = parts.ask(&world.node, Request::RunLate(usize::from(who), world.clock.tick))?.0;
        }
        Action::RestartClient(who) => {
            world.faults.client_restarts -= 1;
            tell(parts, world, who, Input::Restart)?;
        }
        Action::SetClock(who, ticks) => {
            world.faults.clock_steps -= 1;
            tell(parts, world, who, Input::ClockSet(ticks))?;
        }
        Action::Restart(server) => {
            world.faults.restarts -= 1;
            world.node = parts.ask(&world.node, Request::Restart { server, keeps_data: true })?.0;
        }
        Action::LoseData(server) => {
            world.faults.data_losses -= 1;
            world.node = parts.ask(&world.node, Request::Restart { server, keeps_data: false })?.0;
        }
        Action::Evict(server, place) => {
            world.faults.evictions -= 1;
            world.node = parts.ask(&world.node, Request::Remove(server, place, world.clock.tick))?.0;
        }
        Action::RemoveAtDeadline(server, place) => {
            world.faults.removals_at_deadline -= 1;
            world.node = parts.ask(&world.node, Request::Remove(server, place, world.clock.tick))?.0;
        }
        Action::SetServerClock(server, ticks) => {
            world.faults.server_clock_steps -= 1;
            world.node = parts.ask(&world.node, Request::SetClock(server, ticks, world.clock.tick))?.0;
        }
        Action::LoseReply(who) => return Stepper::of(who, scene, parts, world).step_without_reply(),
        Action::LoseReplyOn(who, node) => return Stepper::of(who, scene, parts, world).step_on(node, Reception::Lost),
        Action::LoseRequestOn(who, node) => {
            return Stepper::of(who, scene, parts, world).step_on(node, Reception::NeverRun);
        }
        Action::DelayRequestOn(who, node) => {
            return Stepper::of(who, scene, parts, world).step_on(node, Reception::Late);
        }
        Action::Crash(who) => {
            let who = usize::from(who);
            world.actors[who] = parts.input(who, &world.actors[who], Input::Crash)?;
            world.node = parts.ask(&world.node, Request::Disconnect(who))?.0;
            world.faults.crashes -= 1;
        }
        Action::FailOver(server, writes_lost) => {
            world.faults.failovers -= 1;
            let is_last = world.faults.failovers == 0;
            world.node = parts.ask(&world.node, Request::FailOver { server, writes_lost, is_last })?.0;
        }
        Action::Tick => pass_time(parts, world, 1)?,
        Action::Leap => pass_time(parts, world, scene.bounds.afterwards.unwrap_or(0))?,
    }
    Ok(None)
}

fn tell<P: Parts>(
    parts: &P,
    world: &mut World<P::Node, P::Actor>,
    who: u8,
    input: Input<P::Reply>,
) -> Result<(), P::Miss> {
    let who = usize::from(who);
    world.actors[who] = parts.input(who, &world.actors[who], input)?;
    Ok(())
}

fn pass_time<P: Parts>(parts: &P, world: &mut World<P::Node, P::Actor>, ticks: u16) -> Result<(), P::Miss> {
    world.clock.tick = world.clock.tick.saturating_add(ticks);
    world.node = parts.ask(&world.node, Request::Elapse(world.clock.tick))?.0;
    Ok(())
}

/// One client taking one step.
struct Stepper<'a, P: Parts> {
    scene: &'a Scene,
    parts: &'a P,
    world: &'a mut World<P::Node, P::Actor>,
    who: usize,
    exchanged: Option<P::Actor>,
    /// In the medium grain: it has read a clock in this step.
    has_read_clock: bool,
}

/// What becomes of a command that does not reach the server while its sender waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Absent {
    Lost,
    Late,
}

impl Absent {
    /// The same of one command of a round.
    fn of_round(self) -> Reception {
        match self {
            Self::Lost => Reception::NeverRun,
            Self::Late => Reception::Late,
        }
    }
}

/// What becomes of a command to one server of several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reception {
    /// It runs, and the reply is received.
    Received,
    /// It runs, and the reply is lost.
    Lost,
    /// It never runs.
    NeverRun,
    /// It may run after its sender gave up.
    Late,
}

impl<'a, P: Parts> Stepper<'a, P> {
    fn of(who: u8, scene: &'a Scene, parts: &'a P, world: &'a mut World<P::Node, P::Actor>) -> Self {
        Self { scene, parts, world, who: usize::from(who), exchanged: None, has_read_clock: false }
    }

    fn step(mut self) -> Result<Option<P::Actor>, P::Miss> {
        let held = self.view()?.activity.holds();
        match self.scene.grain {
            Grain::Fine => self.fine()?,
            Grain::Medium | Grain::Coarse => while self.coarse()? {},
        }
        if held && !self.view()?.activity.holds() {
            self.end_renewals()?;
        }
        Ok(self.exchanged)
    }

    /// A step on one server of a round; in the coarse grain, the one that ends the round goes on from there.
    fn step_on(mut self, node: u8, reception: Reception) -> Result<Option<P::Actor>, P::Miss> {
        let held = self.view()?.activity.holds();
        self.arrive(node, reception)?;
        match self.scene.grain {
            Grain::Fine => {}
            Grain::Medium | Grain::Coarse => while self.coarse()? {},
        }
        if held && !self.view()?.activity.holds() {
            self.end_renewals()?;
        }
        Ok(self.exchanged)
    }

    /// A step whose reply is lost, if it gets as far as a reply. If that is a round, the first server's is.
    fn step_without_reply(mut self) -> Result<Option<P::Actor>, P::Miss> {
        while !matches!(self.view()?.next, Next::Receive) {
            if let Next::Round(servers) = self.view()?.next {
                let first = servers.places().next().unwrap_or_default();
                return self.step_on(first, Reception::Lost);
            }
            self.fine()?;
            if !self.view()?.activity.is_busy() {
                return Ok(self.exchanged);
            }
        }
        self.input(Input::ReplyLost(self.world.clock.tick))?;
        self.world.node = self.parts.ask(&self.world.node, Request::Disconnect(self.who))?.0;
        self.world.faults.lost_replies -= 1;
        Ok(self.exchanged)
    }

    /// A step whose command does not reach the server while its sender waits, if it gets as far as a command. If that is a
    /// round, the first server's does not.
    fn step_without_request(mut self, absent: Absent) -> Result<Option<P::Actor>, P::Miss> {
        let command = loop {
            if let Next::Send(command) = self.view()?.next {
                break command;
            }
            if let Next::Round(servers) = self.view()?.next {
                let first = servers.places().next().unwrap_or_default();
                return self.step_on(first, absent.of_round());
            }
            self.fine()?;
            if !self.view()?.activity.is_busy() {
                return Ok(None);
            }
        };
        self.input(Input::ReplyLost(self.world.clock.tick))?;
        let faults = &mut self.world.faults;
        let (spent, request) = match absent {
            Absent::Lost => (&mut faults.lost_requests, Request::Disconnect(self.who)),
            Absent::Late => (&mut faults.late_requests, Request::Delay(self.who, command)),
        };
        *spent -= 1;
        self.world.node = self.parts.ask(&self.world.node, request)?.0;
        Ok(None)
    }

    /// One fine step.
    fn fine(&mut self) -> Result<(), P::Miss> {
        let tick = self.world.clock.tick;
        match self.view()?.next {
            Next::Nothing | Next::Round(_) => Ok(()),
            Next::ReadClock => self.input(Input::Clock(tick)),
            Next::Receive | Next::Conclude => self.input(Input::Proceed(tick)),
            Next::Send(command) => self.exchange(command, tick),
            Next::Write => {
                self.world.node = self.parts.write(self.who, &self.world.actors[self.who], &self.world.node)?;
                self.input(Input::Written)
            }
        }
    }

    /// One fine step of a coarser one: whether another follows. Such a step has one round trip at most, and ends with its
    /// operation; in the medium grain it also ends between a clock reading and a command.
    fn coarse(&mut self) -> Result<bool, P::Miss> {
        match self.view()?.next {
            Next::Round(_) => return Ok(false),
            Next::Send(_) if self.exchanged.is_some() || self.has_read_clock => return Ok(false),
            _ => {}
        }
        self.has_read_clock |= self.scene.grain == Grain::Medium && matches!(self.view()?.next, Next::ReadClock);
        self.fine()?;
        Ok(self.view()?.activity.is_busy())
    }

    fn exchange(&mut self, command: P::Command, tick: u16) -> Result<(), P::Miss> {
        self.exchange_then(command, tick, Input::Reply)
    }

    /// One command of a round runs on its server, or will not while its sender waits.
    fn arrive(&mut self, node: u8, reception: Reception) -> Result<(), P::Miss> {
        let command = self.parts.command_on(self.who, &self.world.actors[self.who], node)?;
        let tick = self.world.clock.tick;
        match reception {
            Reception::Received => self.exchange_then(command, tick, |reply| Input::ReplyOn(node, reply)),
            Reception::Lost => {
                self.world.faults.lost_replies -= 1;
                self.exchange_then(command, tick, |_| Input::SilenceOn(node))
            }
            Reception::NeverRun => {
                self.world.faults.lost_requests -= 1;
                self.input(Input::SilenceOn(node))
            }
            Reception::Late => {
                self.world.faults.late_requests -= 1;
                self.input(Input::SilenceOn(node))?;
                self.world.node = self.parts.ask(&self.world.node, Request::Delay(self.who, command))?.0;
                Ok(())
            }
        }
    }

    /// The server runs a command, and the client gets what comes of it as an input.
    fn exchange_then(
        &mut self,
        command: P::Command,
        tick: u16,
        input: impl FnOnce(P::Reply) -> Input<P::Reply>,
    ) -> Result<(), P::Miss> {
        let had = self.view()?.has_until;
        let (node, reply) = self.parts.ask(&self.world.node, Request::Command(self.who, command, tick))?;
        self.world.node = node;
        self.input(input(reply))?;
        if had == 0 && self.view()?.has_until > 0 && self.scene.start.guard.is_some() {
            self.world.node = self.parts.ask(&self.world.node, Request::Won(self.who))?.0;
        }
        self.exchanged = Some(self.world.actors[self.who].clone());
        Ok(())
    }

    /// Clears the flag by which other clients renew, where they share it with this one.
    fn end_renewals(&mut self) -> Result<(), P::Miss> {
        for &other in &self.scene.clients[self.who].ends_renewal_of {
            let actor = self.parts.input(other, &self.world.actors[other], Input::RenewalEnded)?;
            self.world.actors[other] = actor;
        }
        Ok(())
    }

    fn view(&self) -> Result<ClientView<P::Command>, P::Miss> {
        self.parts.view(self.who, &self.world.actors[self.who])
    }

    fn input(&mut self, input: Input<P::Reply>) -> Result<(), P::Miss> {
        self.world.actors[self.who] = self.parts.input(self.who, &self.world.actors[self.who], input)?;
        Ok(())
    }
}
