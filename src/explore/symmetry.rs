//! Clients that only their names tell apart: of all worlds that differ by an exchange of such clients, one is kept.

use super::memo::{Memo, Question};
use super::places::Places;
use super::scene::Scene;
use super::world::{Action, World};

/// Which clients may be exchanged.
#[derive(Clone, Debug)]
pub(super) struct Symmetry {
    /// Places of clients that are alike, two at least.
    classes: Vec<Vec<usize>>,
    /// Every exchange within the classes; the first leaves all where they are.
    exchanges: Vec<Places>,
}

/// More clients than this are not exchanged with each other: there would be too many ways.
const MOST_ALIKE: usize = 5;

impl Symmetry {
    /// No clients are exchanged.
    pub(super) fn none() -> Self {
        Self { classes: Vec::new(), exchanges: vec![Places::same()] }
    }

    /// Those who are alike are exchanged.
    pub(super) fn of(scene: &Scene) -> Self {
        let mut classes = scene.alike();
        classes.iter_mut().for_each(|class| class.truncate(MOST_ALIKE));
        let exchanges = classes.iter().fold(vec![Places::same()], |all, class| {
            let within = orders(class);
            all.iter().flat_map(|one| within.iter().map(|order| moved(*one, class, order))).collect()
        });
        Self { classes, exchanges }
    }

    /// Replaces a world by the one that is kept for it, and says where each client went.
    ///
    /// It is drawn up to the present, if its clock never ends. Clients are put in the order of what they do, their names left aside; where that leaves a choice, the least world
    /// is kept.
    pub(super) fn settle(&self, memo: &Memo<'_>, world: &mut World<u32, u32>) -> Result<Places, Question> {
        if let Some(retimings) = memo.retimings() {
            retimings.draw_up(world)?;
        }
        if self.classes.is_empty() {
            return Ok(Places::same());
        }
        let exchanges = memo.exchanges();
        if exchanges.is_nameless(world) {
            return Ok(self.sort(world));
        }
        let mut ranks = [0; Places::MOST];
        for &place in self.classes.iter().flatten() {
            ranks[place] = exchanges.without_names(place, world.actors[place])?;
        }
        let mut best: Option<(World<u32, u32>, Places)> = None;
        for (number, exchange) in self.exchanges.iter().enumerate().filter(|(_, exchange)| self.sorts(exchange, &ranks))
        {
            let exchanged = exchanges.exchanged(world, number, *exchange)?;
            if best.as_ref().is_none_or(|(best, _)| (exchanged.node, &exchanged.actors) < (best.node, &best.actors)) {
                best = Some((exchanged, *exchange));
            }
        }
        let (kept, places) = best.unwrap_or_else(|| (world.clone(), Places::same()));
        *world = kept;
        Ok(places)
    }

    /// Puts clients without names in the order of their ids.
    fn sort(&self, world: &mut World<u32, u32>) -> Places {
        let mut places = Places::same();
        for class in &self.classes {
            let mut sorted = [(0, 0); MOST_ALIKE];
            let sorted = &mut sorted[..class.len()];
            for (slot, place) in sorted.iter_mut().zip(class) {
                *slot = (world.actors[*place], *place);
            }
            sorted.sort_unstable();
            for (&(actor, from), &to) in sorted.iter().zip(class) {
                world.actors[to] = actor;
                places.put(from, to);
            }
        }
        places
    }

    /// Whether the exchange leaves the clients of each class in the order of their ranks.
    fn sorts(&self, exchange: &Places, ranks: &[u32; Places::MOST]) -> bool {
        let back = exchange.inverse();
        self.classes.iter().all(|class| class.is_sorted_by_key(|place| ranks[back.of(*place)]))
    }
}

/// Every order of these places.
fn orders(class: &[usize]) -> Vec<Vec<usize>> {
    let Some((first, rest)) = class.split_first() else { return vec![Vec::new()] };
    let with_first = |order: Vec<usize>| {
        (0..=order.len()).map(move |at| {
            let mut order = order.clone();
            order.insert(at, *first);
            order
        })
    };
    let mut orders: Vec<Vec<usize>> = orders(rest).into_iter().flat_map(with_first).collect();
    orders.sort();
    orders
}

fn moved(mut places: Places, class: &[usize], order: &[usize]) -> Places {
    class.iter().zip(order).for_each(|(place, there)| places.put(*place, *there));
    places
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

    /// The same schedule, with clients that are alike named in the order in which they first act.
    pub(super) fn in_order_of_appearance(&self, actions: &mut [Action]) {
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
    }
}
