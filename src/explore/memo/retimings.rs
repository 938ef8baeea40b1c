//! What becomes of worlds whose moments are moved.

use crate::explore::actor::Actor;
use crate::explore::intern::{Interner, PartOfWorld};
use crate::explore::scene::Scene;
use crate::explore::server_side::ServerSide;
use crate::explore::timeline::Horizon;
use crate::explore::unbounded::{Moves, PRESENT, Retiming};
use crate::explore::world::World;

/// The moments in each part, and what becomes of it when they are moved.
#[derive(Debug)]
pub(in super::super) struct Retimings {
    retiming: Retiming,
    horizon: Horizon,
    actors: Vec<Timed>,
    nodes: Vec<Timed>,
}

/// What becomes of a part.
#[derive(Clone, Debug)]
pub(in super::super) enum Retimed {
    Actor { actor: u32, moves: Moves },
    Node { node: u32, moves: Moves },
}

/// The moments in a part, and where they have been moved to before, each time with the id of what it became.
#[derive(Debug)]
struct Timed {
    moments: Box<[i64]>,
    /// Whether its places in queues are counted from the first.
    counts_from_first: bool,
    moved: Vec<(Box<[i64]>, u32)>,
}

impl Timed {
    fn new(moments: Box<[i64]>) -> Self {
        Self { moments, counts_from_first: true, moved: Vec::new() }
    }

    /// Where its moments go.
    fn destinations(&self, moves: &Moves) -> Box<[i64]> {
        let to = |moment: &i64| moves.binary_search_by_key(moment, |(from, _)| *from).map_or(*moment, |at| moves[at].1);
        self.moments.iter().map(to).collect()
    }

    /// What it becomes, if that is known; itself, if nothing in it moves.
    fn known(&self, id: u32, moves: &Moves) -> Option<u32> {
        let destinations = self.destinations(moves);
        if destinations == self.moments && self.counts_from_first {
            return Some(id);
        }
        self.moved.iter().find(|(to, _)| *to == destinations).map(|(_, id)| *id)
    }

    /// Its own share of these moves.
    fn share(&self, moves: &Moves) -> Moves {
        self.moments.iter().copied().zip(self.destinations(moves)).collect()
    }
}

impl Retimings {
    pub(super) fn new(scene: &Scene, horizon: Horizon) -> Self {
        Self { retiming: Retiming::of(scene), horizon, actors: Vec::new(), nodes: Vec::new() }
    }

    /// How parts are moved.
    pub(super) fn retiming(&self) -> Retiming {
        self.retiming
    }

    /// There is one more actor.
    pub(super) fn met_actor(&mut self, actor: &Actor) {
        self.actors.push(Timed::new(self.retiming.moments_of_actor(actor)));
    }

    /// There is one more node.
    pub(super) fn met_node(&mut self, node: &ServerSide) {
        let counts_from_first = self.retiming.counts_from_first(node);
        self.nodes.push(Timed { counts_from_first, ..Timed::new(self.retiming.moments_of_node(node)) });
    }

    /// Moves a world to the present, and its past together.
    pub(in super::super) fn draw_up(&self, world: &mut World<u32, u32>) -> Result<(), Retimed> {
        let timed = &self.nodes[world.node as usize];
        let moves = match self.moves(world) {
            Some(moves) => moves,
            None if timed.counts_from_first => return Ok(()),
            None => Moves::new(),
        };
        let node = timed.known(world.node, &moves);
        let node = node.ok_or_else(|| Retimed::Node { node: world.node, moves: timed.share(&moves) })?;
        for &actor in &world.actors {
            let timed = &self.actors[actor as usize];
            if timed.known(actor, &moves).is_none() {
                return Err(Retimed::Actor { actor, moves: timed.share(&moves) });
            }
        }
        for actor in &mut world.actors {
            *actor = self.actors[*actor as usize].known(*actor, &moves).unwrap_or(*actor);
        }
        world.node = node;
        world.clock.tick = PRESENT + world.clock.tick % self.horizon.period;
        Ok(())
    }

    /// Where the moments of a world go; `None` if all are in their place.
    fn moves(&self, world: &World<u32, u32>) -> Option<Moves> {
        let actors = world.actors.iter().flat_map(|actor| &self.actors[*actor as usize].moments);
        let moments = actors.chain(&self.nodes[world.node as usize].moments).copied().collect();
        self.retiming.moves(moments, self.retiming.moment(world.clock.tick), self.horizon.ticks)
    }

    /// It becomes this.
    pub(super) fn learn(&mut self, question: &Retimed, after: u32) {
        let (timed, moves) = match question {
            Retimed::Actor { actor, moves } => (&mut self.actors[*actor as usize], moves),
            Retimed::Node { node, moves } => (&mut self.nodes[*node as usize], moves),
        };
        timed.moved.push((timed.destinations(moves), after));
    }
}

impl Retimed {
    /// Works it out.
    pub(super) fn part(
        &self,
        retiming: Retiming,
        actors: &Interner<Actor>,
        nodes: &Interner<ServerSide>,
    ) -> PartOfWorld {
        match self {
            Self::Actor { actor, moves } => PartOfWorld::Actor(retiming.actor(actors.get(*actor), moves)),
            Self::Node { node, moves } => PartOfWorld::Node(Box::new(retiming.node(nodes.get(*node), moves))),
        }
    }
}
