//! A world's parts as small ids, with a memory of every step that was taken before: the protocols and the server run once
//! per distinct question.

mod causes;
mod exchanges;
mod keys;
mod retimings;

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use causes::Causes;
use exchanges::Exchanged;
pub(super) use exchanges::Exchanges;
use keys::{ask_key, at, pair, small, tell_key};
use retimings::{Retimed, Retimings};

use super::actor::Actor;
use super::blame::Attribution;
use super::blame::{Cause, CauseId};
use super::direct::Direct;
use super::forgetting::{Forgetting, Untried};
use super::intern::{Interner, PartOfWorld};
use super::parts::{ClientView, Input, Parts, Request, ServerView};
use super::scene::Scene;
use super::server_side::ServerSide;
use super::world::World;
use crate::sim::Server;
use crate::wire::{Command, Reply};

/// Parts by id, and all answers so far.
///
/// Reading takes `&self`, so that threads can share it; a question not asked before comes back as the miss. A caller that may
/// write then has it [answered](Self::answer). Ids depend on the order of the answers and on nothing else.
#[derive(Debug)]
pub(super) struct Memo<'a> {
    scene: &'a Scene,
    nodes: Interner<ServerSide>,
    actors: Interner<Actor>,
    commands: Interner<Command>,
    replies: Interner<Reply>,
    views: Vec<Option<ClientView<u32>>>,
    server_views: Vec<ServerView>,
    commands_on: FxHashMap<(u64, u32), u32>,
    tells: FxHashMap<(u64, u32), u32>,
    asks: FxHashMap<(u64, u32), (u32, u32)>,
    writes: FxHashMap<(u64, u32), u32>,
    stands: FxHashMap<(u64, u32), bool>,
    touches: FxHashMap<(u64, u32), bool>,
    refuses: FxHashMap<(u64, u32), bool>,
    causes: Causes,
    exchanges: Exchanges,
    retimings: Option<Retimings>,
    forgetting: Option<Forgetting<'a>>,
    ended: FxHashMap<(u32, u32), u32>,
    /// The names of commands that were sent and are not simulated.
    unknown_commands: BTreeSet<String>,
}

/// A question not asked before.
#[derive(Clone, Debug)]
pub(super) enum Question {
    View { who: usize, actor: u32 },
    CommandOn { who: usize, actor: u32, server: u8 },
    Tell { who: usize, actor: u32, input: Input<u32> },
    Ask { node: u32, request: Request<u32> },
    Write { who: usize, actor: u32, node: u32 },
    Stands { who: usize, actor: u32, node: u32, tick: u16 },
    Touches { who: usize, before: u32, after: u32, tick: u16 },
    RefusesNewcomer { like: usize, node: u32, tick: u16 },
    Cause(Attribution<u32>),
    Harmed { actor: u32, by: CauseId },
    Ended { who: usize, actor: u32 },
    Exchanged(Exchanged),
    Retimed(Retimed),
}

impl From<Exchanged> for Question {
    fn from(question: Exchanged) -> Self {
        Self::Exchanged(question)
    }
}

impl From<Retimed> for Question {
    fn from(question: Retimed) -> Self {
        Self::Retimed(question)
    }
}

impl<'a> Memo<'a> {
    pub(super) fn new(scene: &'a Scene) -> Self {
        Self {
            scene,
            nodes: Interner::new(),
            actors: Interner::new(),
            commands: Interner::new(),
            replies: Interner::new(),
            views: Vec::new(),
            server_views: Vec::new(),
            commands_on: FxHashMap::default(),
            tells: FxHashMap::default(),
            asks: FxHashMap::default(),
            writes: FxHashMap::default(),
            stands: FxHashMap::default(),
            touches: FxHashMap::default(),
            refuses: FxHashMap::default(),
            causes: Causes::new(),
            exchanges: Exchanges::default(),
            retimings: scene.horizon.map(|horizon| Retimings::new(scene, horizon)),
            forgetting: None,
            ended: FxHashMap::default(),
            unknown_commands: BTreeSet::new(),
        }
    }

    /// A world in ids.
    pub(super) fn intern(&mut self, world: World) -> World<u32, u32> {
        let node = self.node(world.node);
        let actors = world.actors.into_iter().map(|actor| self.actor(actor)).collect();
        World { node, actors, clock: world.clock, faults: world.faults }
    }

    /// Forgets what no step looks at from now on.
    pub(super) fn forget(&mut self, forgetting: Option<Forgetting<'a>>) {
        self.forgetting = forgetting;
    }

    /// What clients have received that was not tried before the search.
    pub(super) fn untried(&self) -> &[Untried] {
        self.forgetting.as_ref().map_or(&[], Forgetting::untried)
    }

    /// The names of commands that were sent and are not simulated.
    pub(super) fn unknown_commands(&self) -> &BTreeSet<String> {
        &self.unknown_commands
    }

    /// What is known of exchanges of clients.
    pub(super) fn exchanges(&self) -> &Exchanges {
        &self.exchanges
    }

    /// What is known of moves in time, if the clock never ends.
    pub(super) fn retimings(&self) -> Option<&Retimings> {
        self.retimings.as_ref()
    }

    /// Forgets since when those hold whose lease has ended, if anything is forgotten.
    pub(super) fn end_leases(&self, world: &mut World<u32, u32>) -> Result<(), Question> {
        if self.forgetting.is_none() {
            return Ok(());
        }
        for (who, actor) in world.actors.iter_mut().enumerate() {
            let until = self.view(who, actor)?.believes_until;
            if until > 0 && until <= world.clock.tick {
                let ended = self.ended.get(&(*actor, small(who)));
                *actor = *ended.ok_or(Question::Ended { who, actor: *actor })?;
            }
        }
        Ok(())
    }

    /// Which cause it is.
    pub(super) fn cause(&self, attribution: Attribution<u32>) -> Result<CauseId, Question> {
        self.causes.number(attribution).ok_or(Question::Cause(attribution))
    }

    /// The cause of this number.
    pub(super) fn cause_of(&self, number: CauseId) -> &Cause {
        self.causes.get(number)
    }

    /// The client to which this was done.
    pub(super) fn harmed(&self, actor: u32, by: CauseId) -> Result<u32, Question> {
        self.causes.harmed(actor, by).ok_or(Question::Harmed { actor, by })
    }

    /// What was done to this client.
    pub(super) fn harmed_by(&self, actor: u32) -> Option<CauseId> {
        self.actors.get(actor).harmed_by
    }

    /// The numbers of all server states.
    #[cfg(feature = "cli")]
    pub(super) fn node_ids(&self) -> impl Iterator<Item = u32> + use<> {
        0..self.nodes.len() as u32
    }

    /// The numbers of all client states.
    #[cfg(feature = "cli")]
    pub(super) fn actor_ids(&self) -> impl Iterator<Item = u32> + use<> {
        0..self.actors.len() as u32
    }

    /// The numbers of all replies.
    #[cfg(feature = "cli")]
    pub(super) fn reply_ids(&self) -> impl Iterator<Item = u32> + use<> {
        0..self.replies.len() as u32
    }

    /// All commands, by number.
    #[cfg(feature = "cli")]
    pub(super) fn all_commands(&self) -> &[Command] {
        self.commands.all()
    }

    /// How often a protocol ran, and the server.
    pub(super) fn runs(&self) -> (usize, usize) {
        (self.tells.len(), self.asks.len())
    }

    /// Finds out and remembers.
    pub(super) fn answer(&mut self, question: Question) {
        let direct = Direct(self.scene);
        match question {
            Question::View { who, actor } => self.answer_view(who, actor),
            Question::CommandOn { who, actor, server } => {
                let Ok(command) = direct.command_on(who, self.actors.get(actor), server);
                let command = self.commands.id(command);
                self.commands_on.insert((pair(actor, server.into()), small(who)), command);
            }
            Question::Tell { who, actor, input } => {
                let whole_input = input.map(|reply| self.replies.get(reply).clone());
                if let (Some(forgetting), Input::Reply(reply)) = (&mut self.forgetting, &whole_input) {
                    forgetting.note_reply(who, self.actors.get(actor), reply);
                }
                let Ok(after) = direct.input(who, self.actors.get(actor), whole_input);
                let after = match &self.forgetting {
                    Some(forgetting) => forgetting.forget(who, after),
                    None => after,
                };
                let after = self.actor(after);
                self.tells.insert(tell_key(who, actor, input), after);
            }
            Question::Ask { node, request } => {
                let whole_request = request.map(|command| self.commands.get(command).clone());
                if let Request::Command(_, command, _) = &whole_request
                    && !Server::is_simulated(command)
                {
                    self.unknown_commands.insert(String::from_utf8_lossy(command.name()).into_owned());
                }
                let Ok((after, reply)) = direct.ask(self.nodes.get(node), whole_request);
                let answer = (self.node(after), self.replies.id(reply));
                self.asks.insert(ask_key(node, request), answer);
            }
            Question::Write { who, actor, node } => {
                let Ok(after) = direct.write(who, self.actors.get(actor), self.nodes.get(node));
                let after = self.node(after);
                self.writes.insert((pair(node, actor), small(who)), after);
            }
            Question::Stands { who, actor, node, tick } => {
                let Ok(stands) = direct.stands(who, self.actors.get(actor), self.nodes.get(node), tick);
                self.stands.insert((pair(node, actor), at(tick, who)), stands);
            }
            Question::Touches { who, before, after, tick } => {
                let Ok(touches) = direct.touches(who, self.nodes.get(before), self.nodes.get(after), tick);
                self.touches.insert((pair(before, after), at(tick, who)), touches);
            }
            Question::RefusesNewcomer { like, node, tick } => {
                let Ok(refuses) = direct.refuses_newcomer(like, self.nodes.get(node), tick);
                self.refuses.insert((pair(node, tick.into()), small(like)), refuses);
            }
            Question::Cause(attribution) => {
                let cause = self.scene.cause(attribution.map(|actor| self.actors.get(actor)));
                self.causes.learn(attribution, cause);
            }
            Question::Harmed { actor, by } => {
                let after = self.actor(Actor { harmed_by: Some(by), ..self.actors.get(actor).clone() });
                self.causes.learn_harmed(actor, by, after);
            }
            Question::Ended { who, actor } => {
                let ended = self.actors.get(actor).clone();
                let ended = self.forgetting.as_ref().map_or(ended.clone(), |forgetting| forgetting.ended(who, ended));
                let ended = self.actor(ended);
                self.ended.insert((actor, small(who)), ended);
            }
            Question::Exchanged(question) => {
                let after = match question.part(&self.actors, &self.nodes) {
                    PartOfWorld::Actor(actor) => self.actor(actor),
                    PartOfWorld::Node(node) => self.node(*node),
                };
                self.exchanges.learn(question, after);
            }
            Question::Retimed(question) => {
                let Some(retiming) = self.retimings.as_ref().map(Retimings::retiming) else { return };
                let after = match question.part(retiming, &self.actors, &self.nodes) {
                    PartOfWorld::Actor(actor) => self.actor(actor),
                    PartOfWorld::Node(node) => self.node(*node),
                };
                self.retimings.iter_mut().for_each(|retimings| retimings.learn(&question, after));
            }
        }
    }

    fn answer_view(&mut self, who: usize, actor: u32) {
        let Ok(view) = Direct(self.scene).view(who, self.actors.get(actor));
        let next = view.next.map(|command| self.commands.id(command));
        let ClientView { at, believes_until, has_until, activity, has_crashed, wants_for_ever, claim, .. } = view;
        let index = self.view_index(who, actor);
        if index >= self.views.len() {
            self.views.resize(index + 1, None);
        }
        let view = ClientView { next, at, believes_until, has_until, activity, has_crashed, wants_for_ever, claim };
        self.views[index] = Some(view);
    }

    fn view_index(&self, who: usize, actor: u32) -> usize {
        actor as usize * self.scene.clients.len() + who
    }

    fn node(&mut self, node: ServerSide) -> u32 {
        let id = self.nodes.id(node);
        if self.server_views.len() < self.nodes.len() {
            let node = self.nodes.get(id);
            let Ok(server_view) = Direct(self.scene).server_view(node);
            self.server_views.push(server_view);
            self.exchanges.met_node(node);
            self.retimings.iter_mut().for_each(|retimings| retimings.met_node(node));
        }
        id
    }

    fn actor(&mut self, actor: Actor) -> u32 {
        let known = self.actors.len();
        let id = self.actors.id(actor);
        if known < self.actors.len() {
            let actor = self.actors.get(id);
            self.exchanges.met_actor(actor);
            self.retimings.iter_mut().for_each(|retimings| retimings.met_actor(actor));
        }
        id
    }
}

impl Parts for Memo<'_> {
    type Node = u32;
    type Actor = u32;
    type Command = u32;
    type Reply = u32;
    type Miss = Question;

    fn view(&self, who: usize, actor: &u32) -> Result<ClientView<u32>, Question> {
        let known = self.views.get(self.view_index(who, *actor)).copied().flatten();
        known.ok_or(Question::View { who, actor: *actor })
    }

    fn command_on(&self, who: usize, actor: &u32, server: u8) -> Result<u32, Question> {
        let known = self.commands_on.get(&(pair(*actor, server.into()), small(who))).copied();
        known.ok_or(Question::CommandOn { who, actor: *actor, server })
    }

    fn input(&self, who: usize, actor: &u32, input: Input<u32>) -> Result<u32, Question> {
        let known = self.tells.get(&tell_key(who, *actor, input)).copied();
        known.ok_or(Question::Tell { who, actor: *actor, input })
    }

    fn ask(&self, node: &u32, request: Request<u32>) -> Result<(u32, u32), Question> {
        let known = self.asks.get(&ask_key(*node, request)).copied();
        known.ok_or(Question::Ask { node: *node, request })
    }

    fn write(&self, who: usize, actor: &u32, node: &u32) -> Result<u32, Question> {
        let known = self.writes.get(&(pair(*node, *actor), small(who))).copied();
        known.ok_or(Question::Write { who, actor: *actor, node: *node })
    }

    fn stands(&self, who: usize, actor: &u32, node: &u32, tick: u16) -> Result<bool, Question> {
        let known = self.stands.get(&(pair(*node, *actor), at(tick, who))).copied();
        known.ok_or(Question::Stands { who, actor: *actor, node: *node, tick })
    }

    fn touches(&self, who: usize, before: &u32, after: &u32, tick: u16) -> Result<bool, Question> {
        let known = self.touches.get(&(pair(*before, *after), at(tick, who))).copied();
        known.ok_or(Question::Touches { who, before: *before, after: *after, tick })
    }

    fn refuses_newcomer(&self, like: usize, node: &u32, tick: u16) -> Result<bool, Question> {
        let known = self.refuses.get(&(pair(*node, tick.into()), small(like))).copied();
        known.ok_or(Question::RefusesNewcomer { like, node: *node, tick })
    }

    fn lag_of(&self, node: &u32, server: u8) -> Result<u8, Question> {
        Ok(self.nodes.get(*node).lag_of(server))
    }

    fn keys_of(&self, node: &u32, server: u8) -> Result<u8, Question> {
        Ok(self.nodes.get(*node).keys_of(server))
    }

    fn keys_at_deadline(&self, node: &u32, server: u8, tick: u16) -> Result<Vec<u8>, Question> {
        let Ok(places) = Direct(self.scene).keys_at_deadline(self.nodes.get(*node), server, tick);
        Ok(places)
    }

    fn server_view(&self, node: &u32) -> Result<ServerView, Question> {
        Ok(self.server_views[*node as usize])
    }
}
