//! The clients and the server of a scene as automata: in which states each can be, and what becomes of it by each input.
//!
//! They are made by running the protocols and the server on every question that the scene can lead to, and say nothing of
//! the order of events: another model checker can do the interleaving itself.

use thiserror::Error;

use super::client::Client;
use super::faults::FaultBudget;
use super::memo::Memo;
use super::parts::{ClientView, Input, Parts, Request};
use super::scene::{Bounds, Grain, Scene};
use crate::lock::Mode;
use crate::wire::Command;

/// The clients and the server of a scene as automata. States, commands and replies are numbers.
#[derive(Debug)]
pub(crate) struct Automata {
    /// The protocols of the clients, by place.
    pub(crate) protocols: Vec<String>,
    /// How far the scene goes.
    pub(crate) bounds: Bounds,
    /// The first state of the server.
    pub(crate) server_start: u32,
    /// The first state of each client.
    pub(crate) client_starts: Vec<u32>,
    /// The states of each client.
    pub(crate) clients: Vec<Vec<ClientState>>,
    /// By state of the server: what becomes of it by a request, and the reply.
    pub(crate) server: Vec<Vec<(Request<u32>, u32, u32)>>,
    /// The commands, by number.
    pub(crate) commands: Vec<Command>,
    /// How many states the whole scene has.
    pub(crate) states: usize,
}

/// One state of a client.
#[derive(Debug)]
pub(crate) struct ClientState {
    /// Its number.
    pub(crate) number: u32,
    /// What the client does next, when, and what it believes.
    pub(crate) view: ClientView<u32>,
    /// Which state follows by each input.
    pub(crate) inputs: Vec<(Input<u32>, u32)>,
}

/// Why a scene cannot be exported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(crate) enum NotExportable {
    #[error("only steps of the fine grain can be exported")]
    Grain,
    #[error("a clock that never ends cannot be exported; pass a number of ticks")]
    Clock,
    #[error("of all faults, only crashes, lost replies and lost requests can be exported")]
    Faults,
    #[error("a lock on several servers cannot be exported")]
    Servers,
    #[error("a lock that several clients may hold cannot be exported")]
    Shared,
    #[error("clients that work, pause or write by a program cannot be exported")]
    Program,
    #[error("the scene has more states than may be seen: allow fewer ticks, faults or clients, or more states")]
    TooLarge,
}

impl Scene {
    /// Whether it can be exported.
    pub(super) fn check_export(&self) -> Result<(), NotExportable> {
        let is_plain = |client: &Client| {
            let waits = client.pause > 0 || client.work > 0 || client.renew_after.is_some();
            !waits && !client.prompt && !client.writes && client.ends_renewal_of.is_empty()
        };
        let FaultBudget { crashes, lost_replies, lost_requests, .. } = self.bounds.faults;
        let known = FaultBudget { crashes, lost_replies, lost_requests, ..FaultBudget::NONE };
        let refusals = [
            (self.grain != Grain::Fine, NotExportable::Grain),
            (self.horizon.is_some() || self.bounds.afterwards.is_some(), NotExportable::Clock),
            (self.bounds.faults != known, NotExportable::Faults),
            (!self.start.others.is_empty(), NotExportable::Servers),
            (self.clients.iter().any(|client| client.locker.mode() != Mode::Exclusive), NotExportable::Shared),
            (!self.clients.iter().all(is_plain), NotExportable::Program),
        ];
        refusals.into_iter().find(|(is_so, _)| *is_so).map_or(Ok(()), |(_, why)| Err(why))
    }
}

impl Automata {
    /// What is known of the parts of a scene whose search is exhausted.
    pub(super) fn of(scene: &Scene, memo: &Memo<'_>, first: (u32, Vec<u32>), states: usize) -> Self {
        let ticks = scene.bounds.ticks;
        Self {
            protocols: scene.clients.iter().map(|client| client.protocol.clone()).collect(),
            bounds: scene.bounds,
            server_start: first.0,
            client_starts: first.1,
            clients: (0..scene.clients.len()).map(|who| client_states(memo, who, ticks)).collect(),
            server: memo.node_ids().map(|node| server_rules(memo, node, scene.clients.len(), ticks)).collect(),
            commands: memo.all_commands().to_vec(),
            states,
        }
    }
}

fn client_states(memo: &Memo<'_>, who: usize, ticks: u16) -> Vec<ClientState> {
    let state = |number: u32| {
        let view = memo.view(who, &number).ok()?;
        let timed = (0..=ticks).flat_map(|tick| [Input::Clock(tick), Input::Proceed(tick), Input::ReplyLost(tick)]);
        let replies = memo.reply_ids().map(Input::Reply);
        let inputs = timed.chain(replies).chain([Input::Crash]);
        let inputs = inputs.filter_map(|input| Some((input, memo.input(who, &number, input).ok()?))).collect();
        Some(ClientState { number, view, inputs })
    };
    memo.actor_ids().filter_map(state).collect()
}

fn server_rules(memo: &Memo<'_>, node: u32, clients: usize, ticks: u16) -> Vec<(Request<u32>, u32, u32)> {
    let commands = (0..clients).flat_map(|who| {
        let numbers = 0..u32::try_from(memo.all_commands().len()).unwrap_or(u32::MAX);
        numbers.flat_map(move |command| (0..=ticks).map(move |tick| Request::Command(who, command, tick)))
    });
    let broken = (0..clients).map(Request::Disconnect);
    let requests = commands.chain(broken).chain((1..=ticks).map(Request::Elapse));
    let rule = |request: Request<u32>| memo.ask(&node, request).ok().map(|(after, reply)| (request, after, reply));
    requests.filter_map(rule).collect()
}
