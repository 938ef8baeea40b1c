//! A world's parts as whole values, with somebody who writes down what is said.

use std::cell::RefCell;
use std::convert::Infallible;

use super::actor::Actor;
use super::conduct::Ended;
use super::node::Node;
use super::parts::{Asked, Glance, Look, Parts, Told};
use super::whole::Whole;
use crate::wire::{Command, Reply};

/// Whole values, and what was said.
pub(super) struct Scribe<'a> {
    pub(super) whole: Whole<'a>,
    pub(super) heard: RefCell<Heard>,
}

/// What was said during one action.
#[derive(Clone, Debug, Default)]
pub(super) struct Heard {
    pub(super) exchange: Option<(Command, Reply)>,
    pub(super) ended: Option<Ended>,
    pub(super) read_clock: bool,
    pub(super) wrote: Option<Write>,
}

/// What the guarded resource made of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Write {
    Accepted,
    Refused,
}

impl Parts for Scribe<'_> {
    type Node = Node;
    type Actor = Actor;
    type Command = Command;
    type Reply = Reply;
    type Miss = Infallible;

    fn look(&self, who: usize, actor: &Actor) -> Result<Look<Command>, Infallible> {
        self.whole.look(who, actor)
    }

    fn command_on(&self, who: usize, actor: &Actor, server: u8) -> Result<Command, Infallible> {
        self.whole.command_on(who, actor, server)
    }

    fn tell(&self, who: usize, actor: &Actor, told: Told<Reply>) -> Result<Actor, Infallible> {
        let mut heard = self.heard.borrow_mut();
        heard.read_clock |= matches!(told, Told::Clock(_));
        let (actor, ended) = self.whole.0.tell_to_the_end(who, actor, told);
        heard.ended = ended.or(heard.ended.take());
        Ok(actor)
    }

    fn ask(&self, node: &Node, asked: Asked<Command>) -> Result<(Node, Reply), Infallible> {
        let command = if let Asked::Command(_, command, _) = &asked { Some(command.clone()) } else { None };
        let (node, reply) = self.whole.ask(node, asked)?;
        if let Some(command) = command {
            self.heard.borrow_mut().exchange = Some((command, reply.clone()));
        }
        Ok((node, reply))
    }

    fn write(&self, who: usize, actor: &Actor, node: &Node) -> Result<Node, Infallible> {
        let refused = node.guard.as_ref().zip(actor.hold()).is_some_and(|(guard, hold)| guard.refuses(hold));
        self.heard.borrow_mut().wrote = Some(if refused { Write::Refused } else { Write::Accepted });
        self.whole.write(who, actor, node)
    }

    fn stands(&self, who: usize, actor: &Actor, node: &Node, tick: u16) -> Result<bool, Infallible> {
        self.whole.stands(who, actor, node, tick)
    }

    fn touches(&self, who: usize, before: &Node, after: &Node, tick: u16) -> Result<bool, Infallible> {
        self.whole.touches(who, before, after, tick)
    }

    fn refuses_newcomer(&self, like: usize, node: &Node, tick: u16) -> Result<bool, Infallible> {
        self.whole.refuses_newcomer(like, node, tick)
    }

    fn glance(&self, node: &Node) -> Result<Glance, Infallible> {
        self.whole.glance(node)
    }
}
