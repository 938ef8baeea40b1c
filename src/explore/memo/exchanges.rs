//! What becomes of worlds in which clients change places.

use std::cell::Cell;

use rustc_hash::FxHashMap;

use super::keys::{pair, small};
use crate::explore::actor::Actor;
use crate::explore::intern::{Interner, PartOfWorld};
use crate::explore::names::Renaming;
use crate::explore::places::{Places, Set};
use crate::explore::rewriting::Rewriting;
use crate::explore::server_side::ServerSide;
use crate::explore::world::World;

/// Which clients each part names, and what becomes of it when they change places.
#[derive(Debug, Default)]
pub(in super::super) struct Exchanges {
    named_by_actor: Vec<Set>,
    named_by_node: Vec<Set>,
    without_names: FxHashMap<u64, u32>,
    actors: FxHashMap<u64, u32>,
    nodes: FxHashMap<u64, u32>,
}

/// What becomes of a part.
#[derive(Clone, Copy, Debug)]
pub(in super::super) enum Exchanged {
    WithoutNames { who: usize, actor: u32 },
    Actor { actor: u32, places: Places },
    Node { node: u32, places: Places },
}

impl Exchanges {
    /// There is one more actor.
    pub(super) fn met_actor(&mut self, actor: &Actor) {
        self.named_by_actor.push(named(|rewriting| drop(rewriting.actor(actor))));
    }

    /// There is one more node.
    pub(super) fn met_node(&mut self, node: &ServerSide) {
        self.named_by_node.push(named(|rewriting| drop(rewriting.node(node))));
    }

    /// The clients whose own state alone does not distinguish them from others: those that another part of the world names,
    /// and those that name another.
    pub(in super::super) fn entangled(&self, world: &World<u32, u32>) -> Set {
        let mut entangled = self.named_by_node[world.node as usize];
        for (place, actor) in world.actors.iter().enumerate() {
            let others = self.named_by_actor[*actor as usize].without(place);
            if !others.is_empty() {
                entangled = entangled.with_all(others).with(place);
            }
        }
        entangled
    }

    /// What a client does, its own name and those of others left aside.
    pub(in super::super) fn without_names(&self, who: usize, actor: u32) -> Result<u32, Exchanged> {
        if self.named_by_actor[actor as usize].is_empty() {
            return Ok(actor);
        }
        let known = self.without_names.get(&pair(actor, small(who))).copied();
        known.ok_or(Exchanged::WithoutNames { who, actor })
    }

    /// A client's state after this exchange, wherever it goes.
    pub(in super::super) fn actor(&self, actor: u32, places: Places) -> Result<u32, Exchanged> {
        let Some(key) = places.key(self.named_by_actor[actor as usize]) else { return Ok(actor) };
        self.actors.get(&pair(actor, key)).copied().ok_or(Exchanged::Actor { actor, places })
    }

    /// The server's side after this exchange.
    pub(in super::super) fn node(&self, node: u32, places: Places) -> Result<u32, Exchanged> {
        let Some(key) = places.key(self.named_by_node[node as usize]) else { return Ok(node) };
        self.nodes.get(&pair(node, key)).copied().ok_or(Exchanged::Node { node, places })
    }

    /// It becomes this.
    pub(super) fn learn(&mut self, question: Exchanged, after: u32) {
        match question {
            Exchanged::WithoutNames { who, actor } => {
                self.without_names.insert(pair(actor, small(who)), after);
            }
            Exchanged::Actor { actor, places } => {
                if let Some(key) = places.key(self.named_by_actor[actor as usize]) {
                    self.actors.insert(pair(actor, key), after);
                }
            }
            Exchanged::Node { node, places } => {
                if let Some(key) = places.key(self.named_by_node[node as usize]) {
                    self.nodes.insert(pair(node, key), after);
                }
            }
        }
    }
}

impl Exchanged {
    /// Works it out.
    pub(super) fn part(&self, actors: &Interner<Actor>, nodes: &Interner<ServerSide>) -> PartOfWorld {
        match *self {
            Self::WithoutNames { who, actor } => {
                let nameless = |place: u8| if usize::from(place) == who { u8::MAX } else { u8::MAX - 1 };
                PartOfWorld::Actor(rename(&nameless, |rewriting| rewriting.actor(actors.get(actor))))
            }
            Self::Actor { actor, places } => PartOfWorld::Actor(rename(&|place| there(places, place), |rewriting| {
                rewriting.actor(actors.get(actor))
            })),
            Self::Node { node, places } => {
                let renamed = rename(&|place| there(places, place), |rewriting| rewriting.node(nodes.get(node)));
                PartOfWorld::Node(Box::new(renamed))
            }
        }
    }
}

/// The clients whose names are met in a rewriting.
fn named(write: impl FnOnce(&Rewriting<'_>)) -> Set {
    let met = Cell::new(Set::default());
    let note = |place: u8| {
        met.set(met.get().with(usize::from(place)));
        place
    };
    rename(&note, write);
    met.get()
}

/// Something written anew with other names.
fn rename<T>(place: &dyn Fn(u8) -> u8, write: impl FnOnce(&Rewriting<'_>) -> T) -> T {
    let renaming = Renaming { place };
    write(&Rewriting { text: &|text| renaming.text(text), place, ..Rewriting::NOTHING })
}

fn there(places: Places, place: u8) -> u8 {
    u8::try_from(places.of(place.into())).unwrap_or(place)
}
