//! Worlds in which clients have changed places.

use super::{Memo, Question, pair, small};
use crate::explore::places::Places;
use crate::explore::world::World;

impl Memo<'_> {
    /// Whether no client's name is in any part of the world.
    pub(in super::super) fn is_nameless(&self, world: &World<u32, u32>) -> bool {
        !self.named_nodes[world.node as usize] && !world.actors.iter().any(|actor| self.named_actors[*actor as usize])
    }

    /// What a client does, its own name and those of others left aside.
    pub(in super::super) fn without_names(&self, who: usize, actor: u32) -> Result<u32, Question> {
        let known = self.without_names.get(&pair(actor, small(who))).copied();
        known.ok_or(Question::WithoutNames { who, actor })
    }

    /// The world with these clients exchanged.
    pub(in super::super) fn exchanged(
        &self,
        world: &World<u32, u32>,
        number: usize,
        exchange: &Places,
    ) -> Result<World<u32, u32>, Question> {
        if number == 0 {
            return Ok(world.clone());
        }
        let exchange = *exchange;
        let node = self.exchanged_nodes.get(&pair(world.node, small(number))).copied();
        let node = node.ok_or(Question::ExchangedNode { node: world.node, number, exchange })?;
        let mut actors = world.actors.clone();
        for (place, &actor) in world.actors.iter().enumerate() {
            let known = self.exchanged_actors.get(&pair(actor, small(number))).copied();
            actors[exchange.of(place)] = known.ok_or(Question::ExchangedActor { actor, number, exchange })?;
        }
        Ok(World { node, actors, left: world.left })
    }
}
