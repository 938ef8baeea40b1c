//! A world's parts as whole values: nothing is remembered, every question runs the protocol or the server.

use std::convert::Infallible;
use std::sync::Arc;

use super::actor::Actor;
use super::judge::{Change, Judge};
use super::node::{Node, session};
use super::parts::{Asked, Glance, Look, Parts, Told};
use super::property::Properties;
use super::rules::{actions, apply};
use super::scene::Scene;
use super::world::{Action, World};
use crate::lock::{Acquired, Owner, Ownership, Token};
use crate::sim::Session;
use crate::wire::{Command, Procedure, Reading, Reply, Transcript, Turn};

/// Whole values, by the rules of a scene.
#[derive(Clone, Copy)]
pub(super) struct Whole<'a>(pub(super) &'a Scene);

impl Parts for Whole<'_> {
    type Node = Node;
    type Actor = Actor;
    type Command = Command;
    type Reply = Reply;
    type Miss = Infallible;

    fn look(&self, who: usize, actor: &Actor) -> Result<Look<Command>, Infallible> {
        Ok(self.0.look(who, actor))
    }

    fn command_on(&self, who: usize, actor: &Actor, server: u8) -> Result<Command, Infallible> {
        Ok(self.0.command_on(who, actor, server))
    }

    fn tell(&self, who: usize, actor: &Actor, told: Told<Reply>) -> Result<Actor, Infallible> {
        Ok(self.0.tell(who, actor, told))
    }

    fn ask(&self, node: &Node, asked: Asked<Command>) -> Result<(Node, Reply), Infallible> {
        let scene = self.0;
        let mut node = node.clone();
        let mut reply = Reply::Nil;
        match asked {
            Asked::Command(who, command, tick) => reply = node.call(session(who), &command, scene.wall(tick)),
            Asked::Disconnect(who) => node.servers().for_each(|server| server.disconnect(session(who))),
            Asked::Won(who) => {
                if let Some(guard) = &mut node.guard {
                    guard.won(who);
                }
            }
            Asked::Elapse(tick) => node.elapse(scene.wall(tick)),
            Asked::FailOver { writes_lost, is_last } => node.fail_over(writes_lost, is_last, scene.clients.len()),
        }
        Ok((node, reply))
    }

    fn write(&self, who: usize, actor: &Actor, node: &Node) -> Result<Node, Infallible> {
        let mut node = node.clone();
        if let (Some(guard), Some(hold)) = (&mut node.guard, actor.hold()) {
            guard.write(who, hold);
        }
        Ok(node)
    }

    fn stands(&self, who: usize, actor: &Actor, node: &Node, tick: u16) -> Result<bool, Infallible> {
        let scene = self.0;
        let Some(hold) = scene.has(who, actor).or_else(|| actor.giving_back().cloned()) else { return Ok(false) };
        let mut probe = Probe { node: node.clone(), at: scene.reading(who, tick), scene, tick };
        let standing = probe.run(|said| scene.clients[who].locker.ownership(&hold, said));
        Ok(matches!(standing, Some(Ownership::Ours { .. } | Ownership::Indistinct { .. })))
    }

    fn touches(&self, who: usize, before: &Node, after: &Node, tick: u16) -> Result<bool, Infallible> {
        let (key, now) = (self.0.clients[who].locker.key(), self.0.wall(tick));
        Ok(before.contents(key, now) != after.contents(key, now))
    }

    fn refuses_newcomer(&self, like: usize, node: &Node, tick: u16) -> Result<bool, Infallible> {
        let scene = self.0;
        let owner = Owner::new(Token::new([0xee; 16]), 49_999, 1);
        let locker = &scene.clients[like].locker;
        let mut probe = Probe { node: node.clone(), at: scene.reading(like, tick), scene, tick };
        Ok(!matches!(probe.run(|said| locker.acquire(&owner, said)), Some(Acquired::Won(_))))
    }

    fn glance(&self, node: &Node) -> Result<Glance, Infallible> {
        let lagging = u8::try_from(node.lagging.len()).unwrap_or(u8::MAX);
        Ok(Glance { lagging, accepted_stale: node.guard.as_ref().is_some_and(|guard| guard.accepted_stale) })
    }
}

impl Scene {
    /// All that can happen next in a world, in a fixed order.
    pub fn actions(&self, world: &World) -> Vec<Action> {
        let mut possible = Vec::new();
        let Ok(()) = actions(self, &Whole(self), world, &mut possible);
        possible
    }

    /// The world after an action that is possible in it.
    pub fn apply(&self, world: &World, action: Action) -> World {
        self.apply_judged(world, action, Properties::default()).0
    }

    /// The world after an action that is possible in it, and which of these properties the step violates, or the world
    /// that it leads to.
    pub fn apply_judged(&self, world: &World, action: Action, properties: Properties) -> (World, Properties) {
        let (parts, mut after) = (Whole(self), world.clone());
        let Ok(exchanged) = apply(self, &parts, &mut after, action);
        let change = Change { before: world, action, exchanged: exchanged.as_ref(), after: &after };
        let judge = Judge { scene: self, parts: &parts, properties };
        let (Ok(by_step), Ok(by_world)) = (judge.change(&change), judge.world(&after));
        let violated = by_step.iter().chain(by_world.iter()).fold(Properties::default(), Properties::with);
        (after, violated)
    }

    /// Which of these properties a world violates, as it stands.
    pub fn violated(&self, world: &World, properties: Properties) -> Properties {
        let Ok(violated) = Judge { scene: self, parts: &Whole(self), properties }.world(world);
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

/// The connection of questions that change nothing.
const PROBE: Session = Session(u32::MAX);

/// A question put to a copy of the server.
struct Probe<'a> {
    node: Node,
    at: Reading,
    scene: &'a Scene,
    tick: u16,
}

impl Probe<'_> {
    /// Runs an operation to its end without interruption; `None` where the server refused it.
    fn run<T>(&mut self, operation: impl Fn(&mut Transcript) -> Turn<T>) -> Option<T> {
        let now = self.scene.wall(self.tick);
        operation.run_at(self.at, |command| Some(self.node.call(PROBE, command, now))).ok()
    }
}
