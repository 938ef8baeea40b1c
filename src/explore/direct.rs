//! A world's parts as whole values: nothing is remembered, every question runs the protocol or the server.

use std::convert::Infallible;
use std::sync::Arc;

use super::actor::Actor;
use super::judge::{Change, Judge};
use super::parts::{ClientView, Input, Parts, Request, ServerView};
use super::property::Properties;
use super::rules::{actions, apply};
use super::scene::Scene;
use super::server_side::{ServerSide, session};
use super::world::{Action, World};
use crate::lock::{Acquired, Owner, Ownership, Token};
use crate::rehearsal::Rehearsal;
use crate::sim::Session;
use crate::wire::{Command, Reply, Transcript};

/// Whole values, by the rules of a scene.
#[derive(Clone, Copy)]
pub(super) struct Direct<'a>(pub(super) &'a Scene);

impl Parts for Direct<'_> {
    type Node = ServerSide;
    type Actor = Actor;
    type Command = Command;
    type Reply = Reply;
    type Miss = Infallible;

    fn view(&self, who: usize, actor: &Actor) -> Result<ClientView<Command>, Infallible> {
        Ok(self.0.client_step(who).view(actor))
    }

    fn command_on(&self, who: usize, actor: &Actor, server: u8) -> Result<Command, Infallible> {
        Ok(self.0.client_step(who).command_on(actor, server))
    }

    fn input(&self, who: usize, actor: &Actor, input: Input<Reply>) -> Result<Actor, Infallible> {
        Ok(self.0.client_step(who).input(actor, input))
    }

    fn ask(&self, node: &ServerSide, request: Request<Command>) -> Result<(ServerSide, Reply), Infallible> {
        let scene = self.0;
        let mut node = node.clone();
        let mut reply = Reply::Nil;
        match request {
            Request::Command(who, command, tick) => {
                let walls = scene.walls_of(&node, tick);
                reply = node.call(session(who), &command, &walls);
            }
            Request::Delay(who, command) => {
                node.servers().for_each(|server| server.disconnect(session(who)));
                node.delay(who, command);
            }
            Request::RunLate(who, tick) => reply = node.run_late(who, &scene.walls_of(&node, tick)),
            Request::Restart { server, keeps_data } => node.restart(server, keeps_data),
            Request::Remove(server, place, tick) => node.remove(server, place, &scene.walls_of(&node, tick)),
            Request::SetClock(server, ticks, tick) => {
                node.set_clock(server, ticks);
                node.elapse(&scene.walls_of(&node, tick));
            }
            Request::Disconnect(who) => node.servers().for_each(|server| server.disconnect(session(who))),
            Request::Won(who) => {
                if let Some(guard) = &mut node.guard {
                    guard.won(who);
                }
            }
            Request::Elapse(tick) => node.elapse(&scene.walls_of(&node, tick)),
            Request::FailOver { server, writes_lost, is_last } => {
                node.fail_over(server, writes_lost, is_last, scene.clients.len());
            }
        }
        Ok((node, reply))
    }

    fn write(&self, who: usize, actor: &Actor, node: &ServerSide) -> Result<ServerSide, Infallible> {
        let mut node = node.clone();
        if let (Some(guard), Some(hold)) = (&mut node.guard, actor.hold()) {
            guard.write(who, hold);
        }
        Ok(node)
    }

    fn stands(&self, who: usize, actor: &Actor, node: &ServerSide, tick: u16) -> Result<bool, Infallible> {
        let scene = self.0;
        let Some(hold) = scene.client_step(who).has(actor).or_else(|| actor.releasing().cloned()) else {
            return Ok(false);
        };
        let mut rehearsal = Rehearsal::across(node.all_servers(), scene.walls_of(node, tick));
        let ownership = |redis: &mut Transcript| scene.clients[who].locker.ownership(&hold, redis);
        let standing = rehearsal.run_reading(scene.reading_of(who, actor, tick), PROBE, ownership);
        Ok(matches!(standing, Some(Ownership::Ours { .. } | Ownership::Indistinct { .. })))
    }

    fn touches(&self, who: usize, before: &ServerSide, after: &ServerSide, tick: u16) -> Result<bool, Infallible> {
        let key = self.0.clients[who].locker.key();
        let contents = |node: &ServerSide| node.contents(key, &self.0.walls_of(node, tick));
        Ok(contents(before) != contents(after))
    }

    fn refuses_newcomer(&self, like: usize, node: &ServerSide, tick: u16) -> Result<bool, Infallible> {
        let scene = self.0;
        let owner = Owner::new(Token::new([0xee; 16]), 49_999, 1);
        let locker = &scene.clients[like].locker;
        let mut rehearsal = Rehearsal::across(node.all_servers(), scene.walls_of(node, tick));
        let acquire = |redis: &mut Transcript| locker.acquire(&owner, redis);
        let acquired = rehearsal.run_reading(scene.reading(like, tick), PROBE, acquire);
        Ok(!matches!(acquired, Some(Acquired::Won(_))))
    }

    fn lag_of(&self, node: &ServerSide, server: u8) -> Result<u8, Infallible> {
        Ok(node.lag_of(server))
    }

    fn keys_of(&self, node: &ServerSide, server: u8) -> Result<u8, Infallible> {
        Ok(node.keys_of(server))
    }

    fn keys_at_deadline(&self, node: &ServerSide, server: u8, tick: u16) -> Result<Vec<u8>, Infallible> {
        Ok(node.keys_at_deadline(server, &self.0.walls_of(node, tick)))
    }

    fn server_view(&self, node: &ServerSide) -> Result<ServerView, Infallible> {
        Ok(ServerView {
            delayed: node.delayed.iter().fold(0, |senders, (who, _)| senders | 1 << (who % 32)),
            accepted_stale: node.guard.as_ref().is_some_and(|guard| guard.accepted_stale),
        })
    }
}

impl Scene {
    /// All that can happen next in a world, in a fixed order.
    pub fn actions(&self, world: &World) -> Vec<Action> {
        let mut possible = Vec::new();
        let Ok(()) = actions(self, &Direct(self), world, &mut possible);
        possible
    }

    /// The world after an action that is possible in it.
    pub fn apply(&self, world: &World, action: Action) -> World {
        self.apply_judged(world, action, Properties::default()).0
    }

    /// The world after an action that is possible in it, and which of these properties the step violates, or the world
    /// that it leads to.
    pub fn apply_judged(&self, world: &World, action: Action, properties: Properties) -> (World, Properties) {
        let (parts, mut after) = (Direct(self), world.clone());
        let Ok(exchanged) = apply(self, &parts, &mut after, action);
        let change = Change { before: world, action, exchanged: exchanged.as_ref(), after: &after };
        let judge = Judge { scene: self, parts: &parts, properties };
        let (Ok(by_step), Ok(by_world)) = (judge.change(&change), judge.world(&after));
        let violated = by_step.iter().chain(by_world.iter()).fold(Properties::default(), Properties::with);
        (after, violated)
    }

    /// Which of these properties a world violates, as it stands.
    pub fn violated(&self, world: &World, properties: Properties) -> Properties {
        let Ok(violated) = Judge { scene: self, parts: &Direct(self), properties }.world(world);
        violated
    }

    /// The place of the first client of each protocol.
    pub(super) fn protocols(&self) -> impl Iterator<Item = usize> {
        (0..self.clients.len()).filter(|place| self.first_like(*place) == *place)
    }

    /// The place of the first client that speaks as this one does.
    pub(super) fn first_like(&self, place: usize) -> usize {
        let locker = &self.clients[place].locker;
        self.clients[..place].iter().position(|earlier| Arc::ptr_eq(&earlier.locker, locker)).unwrap_or(place)
    }
}

/// The connection of questions that are put to copies of the servers.
const PROBE: Session = Session(u32::MAX);
