//! Lost for ever: the worlds from which no way leads to a win, found backwards from the wins.
//!
//! A search for "it wins in the end" would miss them: a waiter keeps trying, and no schedule ever ends.

use std::sync::atomic::{AtomicU32, Ordering};

use super::expand::{Hit, Transition};
use super::parts::{Activity, ClientView, Parts};
use super::property::{Properties, Property};
use super::route::StateGraph;
use super::run::in_parts;
use super::visited::{Index, tick_of};

/// A set of clients, by place.
type Clients = u32;

/// For each world, the clients that can still win.
struct Future<'a> {
    graph: StateGraph<'a>,
    can_win: Vec<AtomicU32>,
}

impl StateGraph<'_> {
    /// The nearest worlds in which, of the clients that try without end, none can win any more
    /// ([`Property::CanBeTakenAgain`]), or not all can ([`Property::NobodyShutOut`]), and how far they are.
    ///
    /// Where violations are reported by cause, all steps into such a world instead, by their depth.
    pub(super) fn lost_for_ever(&self, properties: Properties) -> Vec<(u32, Vec<Hit>)> {
        let asked = [Property::CanBeTakenAgain, Property::NobodyShutOut];
        let asked: Vec<Property> = asked.into_iter().filter(|property| properties.has(*property)).collect();
        if asked.is_empty() {
            return Vec::new();
        }
        let future = Future { graph: *self, can_win: no_clients(self.visited.index_bound()) };
        while future.look_back() {}
        if self.search.by_cause {
            return future.entries(&asked);
        }
        asked.into_iter().filter_map(|property| future.nearest(property)).collect()
    }
}

impl StateGraph<'_> {
    /// The clients of a world of which this is so.
    pub(super) fn clients(&self, at: Index, is_one: impl Fn(&ClientView<u32>) -> bool) -> Clients {
        let views =
            self.visited.words(at)[2..].iter().enumerate().map(|(who, actor)| (who, self.memo.view(who, actor)));
        views.filter(|(_, view)| view.as_ref().is_ok_and(&is_one)).fold(0, |those, (who, _)| those | 1 << who)
    }
}

impl Future<'_> {
    /// Goes once through all worlds, the farthest first: whether anything was learnt. What is learnt of a world only grows, so
    /// threads may do this at the same time: what is known in the end does not depend on their order.
    fn look_back(&self) -> bool {
        let StateGraph { search, levels, .. } = self.graph;
        let mut learnt = false;
        for depth in (0..levels.count()).rev() {
            let worlds: Vec<Index> = levels.worlds(depth).collect();
            learnt |= in_parts(&worlds, search.threads, |part| self.learn(part)).contains(&true);
        }
        learnt
    }

    /// Finds out who can win from these worlds, as far as it is known of those that follow.
    fn learn(&self, worlds: &[Index]) -> bool {
        let StateGraph { memo, visited, .. } = self.graph;
        let mut expander = self.graph.expander();
        let mut learnt = false;
        for &at in worlds {
            if self.can_win(at) == self.alive(at) {
                continue;
            }
            let mut winners = 0;
            let known = expander.steps(memo, visited.words(at), |transition| {
                // A fault is not a way out.
                if !transition.action.is_fault() {
                    let next = visited.find(transition.words).map_or(0, |next| self.can_win(next));
                    let winner = transition.winner(memo);
                    debug_assert!(winner.is_ok(), "an exhausted search has expanded every world");
                    let winner = winner.ok().flatten().map_or(0, |winner| 1 << winner);
                    winners |= named_before(transition, next) | winner;
                }
            });
            debug_assert!(known.is_ok(), "an exhausted search has expanded every world");
            learnt |= winners != self.can_win[at as usize].swap(winners, Ordering::Relaxed);
        }
        learnt
    }

    fn can_win(&self, at: Index) -> Clients {
        self.can_win[at as usize].load(Ordering::Relaxed)
    }

    fn nearest(&self, property: Property) -> Option<(u32, Vec<Hit>)> {
        let levels = self.graph.levels;
        (0..levels.count()).find_map(|depth| {
            let lost = levels.worlds(depth).filter(|at| self.is_lost(*at, property));
            let hits: Vec<Hit> = lost.map(|at| Hit { property, cause: None, at, by: None }).collect();
            (!hits.is_empty()).then_some((depth, hits))
        })
    }

    /// For each level, the steps from a world in which not all is lost into one in which it is, and whose causes they are.
    fn entries(&self, asked: &[Property]) -> Vec<(u32, Vec<Hit>)> {
        let StateGraph { memo, visited, levels, .. } = self.graph;
        let mut expander = self.graph.expander();
        let entries = |depth: u32| {
            let mut hits = Vec::new();
            for at in levels.worlds(depth) {
                let hopeful: Vec<Property> = asked.iter().copied().filter(|it| !self.is_lost(at, *it)).collect();
                let known = expander.steps(memo, visited.words(at), |transition| {
                    let Some(next) = visited.find(transition.words) else { return };
                    let lost = hopeful.iter().filter(|property| self.is_lost(next, **property));
                    hits.extend(lost.map(|&property| Hit {
                        property,
                        cause: transition.cause,
                        at,
                        by: Some(transition.action),
                    }));
                });
                debug_assert!(known.is_ok(), "an exhausted search has expanded every world");
            }
            (depth, hits)
        };
        (0..levels.count()).map(entries).collect()
    }

    /// The clients that are neither done nor dead: no other can win.
    fn alive(&self, at: Index) -> Clients {
        self.graph.clients(at, |view| view.activity != Activity::Over)
    }

    fn is_lost(&self, at: Index, property: Property) -> bool {
        // After the leap the clock stands still: what is begun then would expire later, but there is no later. Before it,
        // every client can end what it is doing, let the leap pass and try anew, so that no way is missed.
        if self.graph.search.scene.has_leapt(tick_of(self.graph.visited.words(at))) {
            return false;
        }
        let waiting = self.graph.clients(at, |view| view.wants_for_ever);
        let winners = self.can_win(at) & waiting;
        match property {
            Property::NobodyShutOut => winners != waiting,
            _ => waiting != 0 && winners == 0,
        }
    }
}

fn no_clients(worlds: usize) -> Vec<AtomicU32> {
    (0..worlds).map(|_| AtomicU32::new(0)).collect()
}

/// A set of clients in the world after a step, in the places of the world before.
fn named_before(transition: &Transition<'_>, after: Clients) -> Clients {
    (0..Clients::BITS as usize)
        .filter(|place| after >> transition.places.of(*place) & 1 != 0)
        .fold(0, |set, place| set | 1 << place)
}
