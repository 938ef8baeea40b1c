//! Clients that only their names tell apart: of all worlds that differ by an exchange of such clients, one is kept.

use std::ops::Range;

use super::memo::{Exchanges, Memo, Question};
use super::places::Places;
use super::scene::Scene;
use super::world::{Action, World};

/// Which clients may be exchanged.
#[derive(Clone, Debug)]
pub(super) struct Symmetry {
    /// Places of clients that are alike, two at least.
    classes: Vec<Vec<usize>>,
}

/// Clients that only an exchange tells apart, beyond which not every order of them is tried: there would be too many.
const MAX_TIED: usize = 6;

impl Symmetry {
    /// No clients are exchanged.
    pub(super) fn none() -> Self {
        Self { classes: Vec::new() }
    }

    /// Whether no clients are exchanged.
    pub(super) fn is_none(&self) -> bool {
        self.classes.is_empty()
    }

    /// A mistake, planted: these are exchanged, alike or not.
    #[cfg(test)]
    pub(super) fn planted(classes: Vec<Vec<usize>>) -> Self {
        Self { classes }
    }

    /// Clients that are alike are exchanged.
    pub(super) fn of(scene: &Scene) -> Self {
        Self { classes: scene.alike() }
    }

    /// Replaces a world by the one that is kept for it, and returns where each client went. A world whose clock never ends
    /// is drawn up to the present first.
    ///
    /// The clients of a class are put in the order of what they do, names left aside. Of clients that do the same, those that
    /// no other part of the world names, and that name no other, can stand in any order: the world is the same. Only of the
    /// others that do the same, who are few, each order is tried, and the least world kept. So the cost of a world is that of
    /// sorting its clients.
    pub(super) fn settle(&self, memo: &Memo<'_>, world: &mut World<u32, u32>) -> Result<Places, Question> {
        memo.end_leases(world)?;
        if let Some(retimings) = memo.retimings() {
            retimings.draw_up(world)?;
        }
        if self.classes.is_empty() {
            return Ok(Places::same());
        }
        let exchanges = memo.exchanges();
        let mut sorting = Sorting { world: &*world, exchanges, places: Places::same(), ties: Vec::new(), best: None };
        sorting.sort(&self.classes)?;
        if sorting.ties.is_empty() {
            let places = sorting.places;
            exchange(exchanges, world, places)?;
            return Ok(places);
        }
        sorting.try_orders_from(0)?;
        let places = sorting.best.map_or(Places::same(), |(_, places)| places);
        exchange(exchanges, world, places)?;
        Ok(places)
    }
}

/// The clients of a world, being put in order.
struct Sorting<'a> {
    world: &'a World<u32, u32>,
    exchanges: &'a Exchanges,
    /// Where each client goes.
    places: Places,
    /// Clients that only trying can distinguish: where they are, and the range of places that they go to.
    ties: Vec<Vec<usize>>,
    /// The least world so far, and where the clients go for it.
    best: Option<((u32, Vec<u32>), Places)>,
}

impl Sorting<'_> {
    /// Puts the clients of each class in order, and notes which of them are tied.
    fn sort(&mut self, classes: &[Vec<usize>]) -> Result<(), Question> {
        let entangled = self.exchanges.entangled(self.world);
        for class in classes {
            let mut ranked = [(0, false, 0); Places::MOST];
            let ranked = &mut ranked[..class.len()];
            for (slot, &place) in ranked.iter_mut().zip(class) {
                let rank = self.exchanges.without_names(place, self.world.actors[place])?;
                *slot = (rank, entangled.has(place), place);
            }
            ranked.sort_unstable();
            for (&(_, _, from), &to) in ranked.iter().zip(class) {
                self.places.put(from, to);
            }
            for tie in ranked.chunk_by(|one, other| (one.0, one.1) == (other.0, other.1)) {
                if tie.len() > 1 && tie.len() <= MAX_TIED && tie[0].1 {
                    self.ties.push(tie.iter().map(|(_, _, place)| *place).collect());
                }
            }
        }
        Ok(())
    }

    /// Tries each order of the clients of this tie and those after it.
    fn try_orders_from(&mut self, tie: usize) -> Result<(), Question> {
        let Some(clients) = self.ties.get(tie).cloned() else { return self.keep_if_least() };
        self.try_orders(tie, &clients, 0..clients.len())
    }

    /// Tries each order of those in this range of the tied clients, the others standing.
    fn try_orders(&mut self, tie: usize, clients: &[usize], range: Range<usize>) -> Result<(), Question> {
        if range.len() <= 1 {
            return self.try_orders_from(tie + 1);
        }
        for other in range.clone() {
            self.places.swap(clients[range.start], clients[other]);
            self.try_orders(tie, clients, range.start + 1..range.end)?;
            self.places.swap(clients[range.start], clients[other]);
        }
        Ok(())
    }

    fn keep_if_least(&mut self) -> Result<(), Question> {
        let mut exchanged = self.world.clone();
        exchange(self.exchanges, &mut exchanged, self.places)?;
        let exchanged = (exchanged.node, exchanged.actors);
        if self.best.as_ref().is_none_or(|(best, _)| exchanged < *best) {
            self.best = Some((exchanged, self.places));
        }
        Ok(())
    }
}

/// Sends each client of a world to its place; the world is left alone where the result is not known yet.
fn exchange(exchanges: &Exchanges, world: &mut World<u32, u32>, places: Places) -> Result<(), Question> {
    if places == Places::same() {
        return Ok(());
    }
    let node = exchanges.node(world.node, places)?;
    let (mut few, mut many) = ([0; Places::MOST], Vec::new());
    let actors = if world.actors.len() <= few.len() {
        &mut few[..world.actors.len()]
    } else {
        many.resize(world.actors.len(), 0);
        many.as_mut_slice()
    };
    for (place, &actor) in world.actors.iter().enumerate() {
        actors[places.of(place)] = exchanges.actor(actor, places)?;
    }
    world.node = node;
    world.actors.copy_from_slice(actors);
    Ok(())
}

impl Scene {
    /// The places of clients that only their names tell apart, in groups of two at least.
    pub(super) fn alike(&self) -> Vec<Vec<usize>> {
        let mut classes: Vec<Vec<usize>> = Vec::new();
        for (place, client) in self.clients.iter().enumerate().take(Places::MOST) {
            match classes.iter_mut().find(|class| self.clients[class[0]].is_like(client)) {
                Some(class) => class.push(place),
                None => classes.push(vec![place]),
            }
        }
        let is_named = |place: &usize| self.clients.iter().any(|client| client.ends_renewal_of.contains(place));
        classes.retain(|class| class.len() > 1 && !class.iter().any(is_named));
        classes
    }

    /// The same schedule, with clients that are alike named in the order in which they first act. Where each client goes.
    pub(super) fn in_order_of_appearance(&self, actions: &mut [Action]) -> Places {
        let mut places = Places::same();
        for class in self.alike() {
            let mut seen: Vec<usize> = Vec::new();
            let acting = actions.iter().filter_map(|action| action.client());
            for who in acting.chain(class.iter().copied()).filter(|who| class.contains(who)) {
                if !seen.contains(&who) {
                    seen.push(who);
                }
            }
            for (who, there) in seen.into_iter().zip(&class) {
                places.put(who, *there);
            }
        }
        for action in actions {
            *action = places.rename(*action);
        }
        places
    }
}
