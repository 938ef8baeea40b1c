//! What becomes of worlds in which clients change places.

use rustc_hash::FxHashMap;

use super::keys::{pair, small};
use crate::explore::actor::Actor;
use crate::explore::intern::{Interner, Part};
use crate::explore::names::Renaming;
use crate::explore::places::Places;
use crate::explore::rewriting::Rewriting;
use crate::explore::server_side::ServerSide;
use crate::explore::world::World;

/// Which parts have names in them, and what becomes of each part in each exchange.
#[derive(Debug, Default)]
pub(in super::super) struct Exchanges {
    named_actors: Vec<bool>,
    named_nodes: Vec<bool>,
    without_names: FxHashMap<u64, u32>,
    actors: FxHashMap<u64, u32>,
    nodes: FxHashMap<u64, u32>,
}

/// What becomes of a part.
#[derive(Clone, Copy, Debug)]
pub(in super::super) enum Exchanged {
    WithoutNames { who: usize, actor: u32 },
    Actor { actor: u32, number: usize, exchange: Places },
    Node { node: u32, number: usize, exchange: Places },
}

impl Exchanges {
    /// There is one more actor.
    pub(super) fn met_actor(&mut self, actor: &Actor) {
        self.named_actors.push(rename(&|_| u8::MAX, |rewriting| rewriting.actor(actor)) != *actor);
    }

    /// There is one more node.
    pub(super) fn met_node(&mut self, node: &ServerSide) {
        self.named_nodes.push(rename(&|_| u8::MAX, |rewriting| rewriting.node(node)) != *node);
    }

    /// Whether no client's name is in any part of the world.
    pub(in super::super) fn is_nameless(&self, world: &World<u32, u32>) -> bool {
        let is_named = |actor: &u32| self.named_actors[*actor as usize];
        !self.named_nodes[world.node as usize] && !world.actors.iter().any(is_named)
    }

    /// What a client does, its own name and those of others left aside.
    pub(in super::super) fn without_names(&self, who: usize, actor: u32) -> Result<u32, Exchanged> {
        let known = self.without_names.get(&pair(actor, small(who))).copied();
        known.ok_or(Exchanged::WithoutNames { who, actor })
    }

    /// The world after the exchange of this number.
    pub(in super::super) fn exchanged(
        &self,
        world: &World<u32, u32>,
        number: usize,
        exchange: Places,
    ) -> Result<World<u32, u32>, Exchanged> {
        if number == 0 {
            return Ok(world.clone());
        }
        let node = self.nodes.get(&pair(world.node, small(number))).copied();
        let node = node.ok_or(Exchanged::Node { node: world.node, number, exchange })?;
        let mut actors = world.actors.clone();
        for (place, &actor) in world.actors.iter().enumerate() {
            let known = self.actors.get(&pair(actor, small(number))).copied();
            actors[exchange.of(place)] = known.ok_or(Exchanged::Actor { actor, number, exchange })?;
        }
        Ok(World { node, actors, clock: world.clock, faults: world.faults })
    }

    /// It becomes this.
    pub(super) fn learn(&mut self, question: Exchanged, after: u32) {
        match question {
            Exchanged::WithoutNames { who, actor } => self.without_names.insert(pair(actor, small(who)), after),
            Exchanged::Actor { actor, number, .. } => self.actors.insert(pair(actor, small(number)), after),
            Exchanged::Node { node, number, .. } => self.nodes.insert(pair(node, small(number)), after),
        };
    }
}

impl Exchanged {
    /// Works it out.
    pub(super) fn part(&self, actors: &Interner<Actor>, nodes: &Interner<ServerSide>) -> Part {
        match *self {
            Self::WithoutNames { who, actor } => {
                let nameless = |place: u8| if usize::from(place) == who { u8::MAX } else { u8::MAX - 1 };
                Part::Actor(rename(&nameless, |rewriting| rewriting.actor(actors.get(actor))))
            }
            Self::Actor { actor, exchange, .. } => {
                Part::Actor(rename(&|place| there(exchange, place), |rewriting| rewriting.actor(actors.get(actor))))
            }
            Self::Node { node, exchange, .. } => {
                let renamed = rename(&|place| there(exchange, place), |rewriting| rewriting.node(nodes.get(node)));
                Part::Node(Box::new(renamed))
            }
        }
    }
}

/// Something written anew with other names.
fn rename<T>(place: &dyn Fn(u8) -> u8, write: impl FnOnce(&Rewriting<'_>) -> T) -> T {
    let renaming = Renaming { place };
    write(&Rewriting { text: &|text| renaming.text(text), place, ..Rewriting::NOTHING })
}

fn there(exchange: Places, place: u8) -> u8 {
    u8::try_from(exchange.of(place.into())).unwrap_or(place)
}
