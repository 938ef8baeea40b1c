//! A world's parts as small ids, with a memory of every step that was taken before: the protocols and the server run once
//! per distinct question.

mod deeds;
mod exchanges;
mod keys;
mod retimings;

use rustc_hash::FxHashMap;

use deeds::Deeds;
use exchanges::{Exchanged, Exchanges};
use keys::{ask_key, at, pair, small, tell_key};
use retimings::{Retimed, Retimings};

use super::actor::Actor;
use super::deed::{Deed, DeedId};
use super::doer::Doer;
use super::intern::{Interner, Part};
use super::node::Node;
use super::parts::{Asked, Glance, Look, Parts, Told};
use super::scene::Scene;
use super::whole::Whole;
use super::world::World;
use crate::wire::{Command, Reply};

/// Parts by id, and all answers so far.
///
/// Reading takes `&self`, so that threads can share it; a question not asked before comes back as the miss. Whoever may
/// write then has it [answered](Self::answer). Ids depend on the order of the answers and on nothing else.
#[derive(Debug)]
pub(super) struct Memo<'a> {
    scene: &'a Scene,
    nodes: Interner<Node>,
    actors: Interner<Actor>,
    commands: Interner<Command>,
    replies: Interner<Reply>,
    looks: Vec<Option<Look<u32>>>,
    glances: Vec<Glance>,
    commands_on: FxHashMap<(u64, u32), u32>,
    tells: FxHashMap<(u64, u32), u32>,
    asks: FxHashMap<(u64, u32), (u32, u32)>,
    writes: FxHashMap<(u64, u32), u32>,
    stands: FxHashMap<(u64, u32), bool>,
    touches: FxHashMap<(u64, u32), bool>,
    refuses: FxHashMap<(u64, u32), bool>,
    deeds: Deeds,
    exchanges: Exchanges,
    retimings: Option<Retimings>,
}

/// A question not asked before.
#[derive(Clone, Debug)]
pub(super) enum Question {
    Look { who: usize, actor: u32 },
    CommandOn { who: usize, actor: u32, server: u8 },
    Tell { who: usize, actor: u32, told: Told<u32> },
    Ask { node: u32, asked: Asked<u32> },
    Write { who: usize, actor: u32, node: u32 },
    Stands { who: usize, actor: u32, node: u32, tick: u16 },
    Touches { who: usize, before: u32, after: u32, tick: u16 },
    RefusesNewcomer { like: usize, node: u32, tick: u16 },
    Deed(Doer<u32>),
    Harmed { actor: u32, by: DeedId },
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
            looks: Vec::new(),
            glances: Vec::new(),
            commands_on: FxHashMap::default(),
            tells: FxHashMap::default(),
            asks: FxHashMap::default(),
            writes: FxHashMap::default(),
            stands: FxHashMap::default(),
            touches: FxHashMap::default(),
            refuses: FxHashMap::default(),
            deeds: Deeds::new(),
            exchanges: Exchanges::default(),
            retimings: scene.horizon.map(|horizon| Retimings::new(scene, horizon)),
        }
    }

    /// A world in ids.
    pub(super) fn intern(&mut self, world: World) -> World<u32, u32> {
        let node = self.node(world.node);
        let actors = world.actors.into_iter().map(|actor| self.actor(actor)).collect();
        World { node, actors, left: world.left }
    }

    /// What is known of exchanges of clients.
    pub(super) fn exchanges(&self) -> &Exchanges {
        &self.exchanges
    }

    /// What is known of moves in time, if the clock never ends.
    pub(super) fn retimings(&self) -> Option<&Retimings> {
        self.retimings.as_ref()
    }

    /// Which deed it is.
    pub(super) fn deed(&self, doer: Doer<u32>) -> Result<DeedId, Question> {
        self.deeds.number(doer).ok_or(Question::Deed(doer))
    }

    /// The deed of this number.
    pub(super) fn deed_of(&self, number: DeedId) -> &Deed {
        self.deeds.get(number)
    }

    /// The client to which this was done.
    pub(super) fn harmed(&self, actor: u32, by: DeedId) -> Result<u32, Question> {
        self.deeds.harmed(actor, by).ok_or(Question::Harmed { actor, by })
    }

    /// What was done to this client.
    pub(super) fn harmed_by(&self, actor: u32) -> Option<DeedId> {
        self.actors.get(actor).harmed_by
    }

    /// How often a protocol ran, and the server.
    pub(super) fn runs(&self) -> (usize, usize) {
        (self.tells.len(), self.asks.len())
    }

    /// Finds out and remembers.
    pub(super) fn answer(&mut self, question: Question) {
        let whole = Whole(self.scene);
        match question {
            Question::Look { who, actor } => self.answer_look(who, actor),
            Question::CommandOn { who, actor, server } => {
                let Ok(command) = whole.command_on(who, self.actors.get(actor), server);
                let command = self.commands.id(command);
                self.commands_on.insert((pair(actor, server.into()), small(who)), command);
            }
            Question::Tell { who, actor, told } => {
                let whole_told = told.map(|reply| self.replies.get(reply).clone());
                let Ok(after) = whole.tell(who, self.actors.get(actor), whole_told);
                let after = self.actor(after);
                self.tells.insert(tell_key(who, actor, told), after);
            }
            Question::Ask { node, asked } => {
                let whole_asked = asked.map(|command| self.commands.get(command).clone());
                let Ok((after, reply)) = whole.ask(self.nodes.get(node), whole_asked);
                let answer = (self.node(after), self.replies.id(reply));
                self.asks.insert(ask_key(node, asked), answer);
            }
            Question::Write { who, actor, node } => {
                let Ok(after) = whole.write(who, self.actors.get(actor), self.nodes.get(node));
                let after = self.node(after);
                self.writes.insert((pair(node, actor), small(who)), after);
            }
            Question::Stands { who, actor, node, tick } => {
                let Ok(stands) = whole.stands(who, self.actors.get(actor), self.nodes.get(node), tick);
                self.stands.insert((pair(node, actor), at(tick, who)), stands);
            }
            Question::Touches { who, before, after, tick } => {
                let Ok(touches) = whole.touches(who, self.nodes.get(before), self.nodes.get(after), tick);
                self.touches.insert((pair(before, after), at(tick, who)), touches);
            }
            Question::RefusesNewcomer { like, node, tick } => {
                let Ok(refuses) = whole.refuses_newcomer(like, self.nodes.get(node), tick);
                self.refuses.insert((pair(node, tick.into()), small(like)), refuses);
            }
            Question::Deed(doer) => {
                let deed = self.scene.deed(doer.map(|actor| self.actors.get(actor)));
                self.deeds.learn(doer, deed);
            }
            Question::Harmed { actor, by } => {
                let after = self.actor(Actor { harmed_by: Some(by), ..self.actors.get(actor).clone() });
                self.deeds.learn_harmed(actor, by, after);
            }
            Question::Exchanged(question) => {
                let after = match question.part(&self.actors, &self.nodes) {
                    Part::Actor(actor) => self.actor(actor),
                    Part::Node(node) => self.node(*node),
                };
                self.exchanges.learn(question, after);
            }
            Question::Retimed(question) => {
                let Some(retiming) = self.retimings.as_ref().map(Retimings::retiming) else { return };
                let after = match question.part(retiming, &self.actors, &self.nodes) {
                    Part::Actor(actor) => self.actor(actor),
                    Part::Node(node) => self.node(*node),
                };
                self.retimings.iter_mut().for_each(|retimings| retimings.learn(&question, after));
            }
        }
    }

    fn answer_look(&mut self, who: usize, actor: u32) {
        let Ok(look) = Whole(self.scene).look(who, self.actors.get(actor));
        let next = look.next.map(|command| self.commands.id(command));
        let Look { at, believes_until, has_until, stage, wants_for_ever, verdict, .. } = look;
        let index = self.look_index(who, actor);
        if index >= self.looks.len() {
            self.looks.resize(index + 1, None);
        }
        self.looks[index] = Some(Look { next, at, believes_until, has_until, stage, wants_for_ever, verdict });
    }

    fn look_index(&self, who: usize, actor: u32) -> usize {
        actor as usize * self.scene.clients.len() + who
    }

    fn node(&mut self, node: Node) -> u32 {
        let id = self.nodes.id(node);
        if self.glances.len() < self.nodes.len() {
            let node = self.nodes.get(id);
            let Ok(glance) = Whole(self.scene).glance(node);
            self.glances.push(glance);
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

    fn look(&self, who: usize, actor: &u32) -> Result<Look<u32>, Question> {
        let known = self.looks.get(self.look_index(who, *actor)).copied().flatten();
        known.ok_or(Question::Look { who, actor: *actor })
    }

    fn command_on(&self, who: usize, actor: &u32, server: u8) -> Result<u32, Question> {
        let known = self.commands_on.get(&(pair(*actor, server.into()), small(who))).copied();
        known.ok_or(Question::CommandOn { who, actor: *actor, server })
    }

    fn tell(&self, who: usize, actor: &u32, told: Told<u32>) -> Result<u32, Question> {
        let known = self.tells.get(&tell_key(who, *actor, told)).copied();
        known.ok_or(Question::Tell { who, actor: *actor, told })
    }

    fn ask(&self, node: &u32, asked: Asked<u32>) -> Result<(u32, u32), Question> {
        let known = self.asks.get(&ask_key(*node, asked)).copied();
        known.ok_or(Question::Ask { node: *node, asked })
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

    fn glance(&self, node: &u32) -> Result<Glance, Question> {
        Ok(self.glances[*node as usize])
    }
}
