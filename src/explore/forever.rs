//! Lost for ever: the worlds from which no way leads to a win, found backwards from the wins.
//!
//! A search for "it wins in the end" would miss them: whoever waits keeps trying, and no schedule ever ends.

use super::expand::{Hit, Taken};
use super::parts::{Look, Parts, Stage};
use super::property::{Properties, Property};
use super::route::Atlas;
use super::visited::{Index, tick_of};
use super::world::Action;

/// A set of clients, by place.
type Clients = u32;

/// For each world, who can still win.
struct Future<'a> {
    atlas: Atlas<'a>,
    can_win: Vec<Clients>,
}

impl Atlas<'_> {
    /// The nearest worlds in which one of those who try without end can win no more, and how far they are: nobody
    /// ([`Property::CanBeTakenAgain`]), or not everybody ([`Property::NobodyShutOut`]).
    ///
    /// Where deeds are told apart, all steps into such a world instead, by their depth.
    pub(super) fn lost_for_ever(&self, properties: Properties) -> Vec<(u32, Vec<Hit>)> {
        let asked: Vec<Property> = properties.iter().filter(|property| property.is_about_the_future()).collect();
        if asked.is_empty() {
            return Vec::new();
        }
        let mut future = Future { atlas: *self, can_win: vec![0; self.visited.index_bound()] };
        while future.look_back() {}
        if self.search.apart {
            return future.entries(&asked);
        }
        asked.into_iter().filter_map(|property| future.nearest(property)).collect()
    }
}

impl Future<'_> {
    /// Goes once through all worlds, the farthest first: whether anything was learnt.
    fn look_back(&mut self) -> bool {
        let Atlas { memo, visited, levels, .. } = self.atlas;
        let mut expander = self.atlas.expander();
        let mut learnt = false;
        for depth in (0..levels.count()).rev() {
            for at in levels.worlds(depth) {
                if self.can_win[at as usize] == self.alive(at) {
                    continue;
                }
                let mut winners = 0;
                let can_win = &self.can_win;
                let known = expander.steps(memo, visited.words(at), |taken| {
                    if is_a_way(taken.action) {
                        let next = visited.find(taken.words).map_or(0, |next| can_win[next as usize]);
                        winners |= named_before(taken, next) | taken.winner.map_or(0, |winner| 1 << winner);
                    }
                });
                debug_assert!(known.is_ok(), "an exhausted search has expanded every world");
                learnt |= winners != self.can_win[at as usize];
                self.can_win[at as usize] = winners;
            }
        }
        learnt
    }

    fn nearest(&self, property: Property) -> Option<(u32, Vec<Hit>)> {
        let levels = self.atlas.levels;
        (0..levels.count()).find_map(|depth| {
            let lost = levels.worlds(depth).filter(|at| self.is_lost(*at, property));
            let hits: Vec<Hit> = lost.map(|at| Hit { property, deed: None, at, by: None }).collect();
            (!hits.is_empty()).then_some((depth, hits))
        })
    }

    /// For each level, the steps from a world in which not all is lost into one in which it is, and whose deeds they are.
    fn entries(&self, asked: &[Property]) -> Vec<(u32, Vec<Hit>)> {
        let Atlas { memo, visited, levels, .. } = self.atlas;
        let mut expander = self.atlas.expander();
        let entries = |depth: u32| {
            let mut hits = Vec::new();
            for at in levels.worlds(depth) {
                let hopeful: Vec<Property> = asked.iter().copied().filter(|it| !self.is_lost(at, *it)).collect();
                let known = expander.steps(memo, visited.words(at), |taken| {
                    let Some(next) = visited.find(taken.words) else { return };
                    let lost = hopeful.iter().filter(|property| self.is_lost(next, **property));
                    hits.extend(lost.map(|&property| Hit { property, deed: taken.deed, at, by: Some(taken.action) }));
                });
                debug_assert!(known.is_ok(), "an exhausted search has expanded every world");
            }
            (depth, hits)
        };
        (0..levels.count()).map(entries).collect()
    }

    /// Who is neither done nor dead: nobody else can win.
    fn alive(&self, at: Index) -> Clients {
        self.those(at, |look| look.stage != Stage::Over)
    }

    fn those(&self, at: Index, is_one: impl Fn(&Look<u32>) -> bool) -> Clients {
        let Atlas { memo, visited, .. } = self.atlas;
        let looks = visited.words(at)[2..].iter().enumerate().map(|(who, actor)| (who, memo.look(who, actor)));
        looks.filter(|(_, look)| look.as_ref().is_ok_and(&is_one)).fold(0, |those, (who, _)| those | 1 << who)
    }

    fn is_lost(&self, at: Index, property: Property) -> bool {
        // After the leap the clock stands still: what is begun then would be over later, but there is no later. Before it,
        // everybody can end what they are doing, let the leap pass and try anew, so that no way is missed.
        if self.atlas.search.scene.has_leapt(tick_of(self.atlas.visited.words(at))) {
            return false;
        }
        let waiting = self.those(at, |look| look.wants_for_ever);
        let winners = self.can_win[at as usize] & waiting;
        match property {
            Property::NobodyShutOut => winners != waiting,
            _ => waiting != 0 && winners == 0,
        }
    }
}

/// What goes wrong is no way out.
fn is_a_way(action: Action) -> bool {
    matches!(action, Action::Step(_) | Action::StepOn(..) | Action::Tick | Action::Leap)
}

/// A set of clients in the world after a step, in the places of the world before.
fn named_before(taken: &Taken<'_>, after: Clients) -> Clients {
    (0..Clients::BITS as usize)
        .filter(|place| after >> taken.places.of(*place) & 1 != 0)
        .fold(0, |set, place| set | 1 << place)
}
