//! A world's parts as whole values, with a record of what happens during an action.

use std::cell::RefCell;
use std::convert::Infallible;

use super::actor::Actor;
use super::client_step::Ended;
use super::direct::Direct;
use super::parts::{ClientView, Input, Parts, Request, ServerView};
use super::server_side::ServerSide;
use crate::wire::{Command, Reply};

/// Whole values, and a record of what happens.
pub(super) struct Recorder<'a> {
    pub(super) direct: Direct<'a>,
    pub(super) record: RefCell<Record>,
}

/// What happened during one action.
#[derive(Clone, Debug, Default)]
pub(super) struct Record {
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

impl Parts for Recorder<'_> {
    type Node = ServerSide;
    type Actor = Actor;
    type Command = Command;
    type Reply = Reply;
    type Miss = Infallible;

    fn view(&self, who: usize, actor: &Actor) -> Result<ClientView<Command>, Infallible> {
        self.direct.view(who, actor)
    }

    fn command_on(&self, who: usize, actor: &Actor, server: u8) -> Result<Command, Infallible> {
        self.direct.command_on(who, actor, server)
    }

    fn input(&self, who: usize, actor: &Actor, input: Input<Reply>) -> Result<Actor, Infallible> {
        let mut record = self.record.borrow_mut();
        record.read_clock |= matches!(input, Input::Clock(_));
        let (actor, ended) = self.direct.0.client_step(who).input_to_the_end(actor, input);
        record.ended = ended.or(record.ended.take());
        Ok(actor)
    }

    fn ask(&self, node: &ServerSide, request: Request<Command>) -> Result<(ServerSide, Reply), Infallible> {
        let command = match &request {
            Request::Command(_, command, _) => Some(command.clone()),
            Request::RunLate(who, _) => node.late_command(*who).cloned(),
            _ => None,
        };
        let (node, reply) = self.direct.ask(node, request)?;
        if let Some(command) = command {
            self.record.borrow_mut().exchange = Some((command, reply.clone()));
        }
        Ok((node, reply))
    }

    fn write(&self, who: usize, actor: &Actor, node: &ServerSide) -> Result<ServerSide, Infallible> {
        let refused = node.guard.as_ref().zip(actor.hold()).is_some_and(|(guard, hold)| guard.refuses(hold));
        self.record.borrow_mut().wrote = Some(if refused { Write::Refused } else { Write::Accepted });
        self.direct.write(who, actor, node)
    }

    fn stands(&self, who: usize, actor: &Actor, node: &ServerSide, tick: u16) -> Result<bool, Infallible> {
        self.direct.stands(who, actor, node, tick)
    }

    fn touches(&self, who: usize, before: &ServerSide, after: &ServerSide, tick: u16) -> Result<bool, Infallible> {
        self.direct.touches(who, before, after, tick)
    }

    fn refuses_newcomer(&self, like: usize, node: &ServerSide, tick: u16) -> Result<bool, Infallible> {
        self.direct.refuses_newcomer(like, node, tick)
    }

    fn lag_of(&self, node: &ServerSide, server: u8) -> Result<u8, Infallible> {
        self.direct.lag_of(node, server)
    }

    fn keys_of(&self, node: &ServerSide, server: u8) -> Result<u8, Infallible> {
        self.direct.keys_of(node, server)
    }

    fn keys_at_deadline(&self, node: &ServerSide, server: u8, tick: u16) -> Result<Vec<u8>, Infallible> {
        self.direct.keys_at_deadline(node, server, tick)
    }

    fn server_view(&self, node: &ServerSide) -> Result<ServerView, Infallible> {
        self.direct.server_view(node)
    }
}
