//! A world's parts as small ids, with a memory of every step that was taken before: the protocols and the server run once
//! per distinct question.

mod exchanges;

use rustc_hash::FxHashMap;

use super::actor::Actor;
use super::intern::Interner;
use super::names::Renaming;
use super::node::Node;
use super::parts::{Asked, Glance, Look, Parts, Told};
use super::places::Places;
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
    tells: FxHashMap<(u64, u32), u32>,
    asks: FxHashMap<(u64, u32), (u32, u32)>,
    writes: FxHashMap<(u64, u32), u32>,
    stands: FxHashMap<(u64, u32), bool>,
    touches: FxHashMap<(u64, u32), bool>,
    refuses: FxHashMap<u64, bool>,
    named_actors: Vec<bool>,
    named_nodes: Vec<bool>,
    without_names: FxHashMap<u64, u32>,
    exchanged_actors: FxHashMap<u64, u32>,
    exchanged_nodes: FxHashMap<u64, u32>,
}

/// A question not asked before.
#[derive(Clone, Copy, Debug)]
pub(super) enum Question {
    Look { who: usize, actor: u32 },
    Tell { who: usize, actor: u32, told: Told<u32> },
    Ask { node: u32, asked: Asked<u32> },
    Write { who: usize, actor: u32, node: u32 },
    Stands { who: usize, actor: u32, node: u32, tick: u16 },
    Touches { who: usize, before: u32, after: u32, tick: u16 },
    RefusesNewcomers { node: u32, tick: u16 },
    WithoutNames { who: usize, actor: u32 },
    ExchangedActor { actor: u32, number: usize, exchange: Places },
    ExchangedNode { node: u32, number: usize, exchange: Places },
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
            tells: FxHashMap::default(),
            asks: FxHashMap::default(),
            writes: FxHashMap::default(),
            stands: FxHashMap::default(),
            touches: FxHashMap::default(),
            refuses: FxHashMap::default(),
            named_actors: Vec::new(),
            named_nodes: Vec::new(),
            without_names: FxHashMap::default(),
            exchanged_actors: FxHashMap::default(),
            exchanged_nodes: FxHashMap::default(),
        }
    }

    /// A world in ids.
    pub(super) fn intern(&mut self, world: World) -> World<u32, u32> {
        let node = self.node(world.node);
        let actors = world.actors.into_iter().map(|actor| self.actor(actor)).collect();
        World { node, actors, left: world.left }
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
            Question::RefusesNewcomers { node, tick } => {
                let Ok(refuses) = whole.refuses_newcomers(self.nodes.get(node), tick);
                self.refuses.insert(pair(node, tick.into()), refuses);
            }
            Question::WithoutNames { who, actor } => {
                let nobody = |place: u8| if usize::from(place) == who { u8::MAX } else { u8::MAX - 1 };
                let after = Renaming { place: &nobody }.actor(self.actors.get(actor));
                let after = self.actor(after);
                self.without_names.insert(pair(actor, small(who)), after);
            }
            Question::ExchangedActor { actor, number, exchange } => {
                let after = Renaming { place: &|place| there(&exchange, place) }.actor(self.actors.get(actor));
                let after = self.actor(after);
                self.exchanged_actors.insert(pair(actor, small(number)), after);
            }
            Question::ExchangedNode { node, number, exchange } => {
                let after = Renaming { place: &|place| there(&exchange, place) }.node(self.nodes.get(node));
                let after = self.node(after);
                self.exchanged_nodes.insert(pair(node, small(number)), after);
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
        let Ok(glance) = Whole(self.scene).glance(&node);
        let nobody = Renaming { place: &|_| u8::MAX }.node(&node);
        let is_named = nobody != node;
        let id = self.nodes.id(node);
        if self.glances.len() < self.nodes.len() {
            self.glances.push(glance);
            self.named_nodes.push(is_named);
        }
        id
    }

    fn actor(&mut self, actor: Actor) -> u32 {
        let nobody = Renaming { place: &|_| u8::MAX }.actor(&actor);
        let is_named = nobody != actor;
        let id = self.actors.id(actor);
        if self.named_actors.len() < self.actors.len() {
            self.named_actors.push(is_named);
        }
        id
    }
}

fn there(exchange: &Places, place: u8) -> u8 {
    u8::try_from(exchange.of(place.into())).unwrap_or(place)
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

    fn refuses_newcomers(&self, node: &u32, tick: u16) -> Result<bool, Question> {
        let known = self.refuses.get(&pair(*node, tick.into())).copied();
        known.ok_or(Question::RefusesNewcomers { node: *node, tick })
    }

    fn glance(&self, node: &u32) -> Result<Glance, Question> {
        Ok(self.glances[*node as usize])
    }
}

/// What was told, in 96 bits.
fn tell_key(who: usize, actor: u32, told: Told<u32>) -> (u64, u32) {
    let (tag, what) = match told {
        Told::Clock(tick) => (0, tick.into()),
        Told::Reply(reply) => (1, reply),
        Told::Proceed(tick) => (2, tick.into()),
        Told::ReplyLost(tick) => (3, tick.into()),
        Told::Written => (4, 0),
        Told::RenewalEnded => (5, 0),
        Told::Crash => (6, 0),
    };
    (pair(actor, what), small(who) << 3 | tag)
}

/// What was asked, in 96 bits.
fn ask_key(node: u32, asked: Asked<u32>) -> (u64, u32) {
    let (tag, who, tick, what) = match asked {
        Asked::Command(who, command, tick) => (0, who, tick, command),
        Asked::Disconnect(who) => (1, who, 0, 0),
        Asked::Won(who) => (2, who, 0, 0),
        Asked::Elapse(tick) => (3, 0, tick, 0),
        Asked::FailOver { writes_lost, is_last } => (4, 0, writes_lost.into(), is_last.into()),
    };
    (pair(node, what), at(tick, who) << 3 | tag)
}

fn pair(high: u32, low: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

fn at(tick: u16, who: usize) -> u32 {
    u32::from(tick) << 8 | small(who)
}

/// A client's place, of which a scene has at most [`MOST_CLIENTS`](super::scene::MOST_CLIENTS).
fn small(who: usize) -> u32 {
    who as u32
}
