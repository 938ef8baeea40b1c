//! The most readable of the shortest ways to a violation: with the fewest changes from one client to another, and the
//! clock ticking as late as possible. Where worlds were hashed, the way that was taken.

use rustc_hash::{FxHashMap, FxHashSet};

use super::expand::{Expander, Hit, Transition};
use super::memo::Memo;
use super::places::Places;
use super::property::Properties;
use super::search::Search;
use super::symmetry::Symmetry;
use super::visited::{Index, Levels, Visited, hash};
use super::world::Action;

/// What a search leaves behind: every world, and how far each is from the start.
#[derive(Clone, Copy)]
pub(super) struct StateGraph<'a> {
    pub(super) search: &'a Search<'a>,
    pub(super) memo: &'a Memo<'a>,
    pub(super) symmetry: &'a Symmetry,
    pub(super) visited: &'a Visited,
    pub(super) levels: &'a Levels,
    /// The first world, and where its clients went.
    pub(super) first: (Index, Places),
}

/// For the worlds of one level from which a violation is as near as can be: the cost of the best way there.
#[derive(Clone, Debug, Default)]
struct Costs {
    /// By the place of the client that acted last; the last entry: none has.
    of: FxHashMap<Index, Box<[u64]>>,
    /// The hashes of those worlds, to pass over the others without a look into the store.
    hashes: FxHashSet<u64>,
}

impl Costs {
    fn insert(&mut self, visited: &Visited, at: Index, costs: Box<[u64]>) {
        self.hashes.insert(hash(visited.words(at)));
        self.of.insert(at, costs);
    }

    fn find(&self, visited: &Visited, words: &[u32]) -> Option<Index> {
        if !self.hashes.contains(&hash(words)) {
            return None;
        }
        visited.find(words).filter(|at| self.of.contains_key(at))
    }
}

impl StateGraph<'_> {
    /// The best way to one of these violations, which are so many steps from the start.
    pub(super) fn route(&self, hits: &[Hit], length: u32) -> Vec<Action> {
        let mut costs = vec![Costs::default(); length as usize + 1];
        let nothing: Box<[u64]> = vec![0; self.search.scene.clients.len() + 1].into();
        for hit in hits.iter().filter(|hit| hit.by.is_none()) {
            costs[length as usize].insert(self.visited, hit.at, nothing.clone());
        }
        let mut walker = Walker { graph: *self, length, expander: self.expander(), costs, hits };
        for depth in (0..length).rev() {
            walker.look_ahead(depth);
        }
        walker.walk()
    }

    /// The way by which this violation was met, so many steps from the start, where it is known how worlds were reached.
    pub(super) fn way_taken(&self, hit: Hit, length: u32) -> Vec<Action> {
        let (first, places) = self.first;
        let (mut words, mut names) = (self.visited.words(first).to_vec(), places.inverse());
        let mut expander = self.expander();
        let mut way = Vec::new();
        for by in self.visited.steps_to(hit.at, length - u32::from(hit.by.is_some())) {
            let (mut place, mut taken) = (0..u16::MAX, None);
            let known = expander.steps(self.memo, &words, |transition| {
                if place.next() == Some(by) {
                    taken = Some((transition.action, transition.words.to_vec(), transition.places));
                }
            });
            debug_assert!(known.is_ok(), "every world on the way to a violation was expanded");
            let Some((action, next, places)) = taken else { break };
            way.push(names.rename(action));
            words = next;
            names = places.inverse().then(&names);
        }
        way.extend(hit.by.map(|action| names.rename(action)));
        way
    }

    /// Goes the ways again that were gone, and judges nothing.
    pub(super) fn expander(&self) -> Expander<'_> {
        Expander::new(self.search, self.symmetry.clone(), Properties::default())
    }
}

struct Walker<'a> {
    graph: StateGraph<'a>,
    length: u32,
    expander: Expander<'a>,
    costs: Vec<Costs>,
    hits: &'a [Hit],
}

/// A step that leads on: the action, what is left to pay after it by who acted last, and where each client went.
struct Onward {
    action: Action,
    next: Option<Index>,
    places: Places,
}

impl Walker<'_> {
    /// Finds the costs of the worlds at this depth from those of the next.
    fn look_ahead(&mut self, depth: u32) {
        for at in self.graph.levels.worlds(depth) {
            let onwards = self.onwards(at, depth);
            if !onwards.is_empty() {
                let last = 0..=self.graph.search.scene.clients.len();
                let best =
                    last.map(|last| onwards.iter().map(|onward| self.cost(depth, onward, last)).min().unwrap_or(0));
                let best = best.collect();
                self.costs[depth as usize].insert(self.graph.visited, at, best);
            }
        }
    }

    fn walk(&mut self) -> Vec<Action> {
        let (mut at, mut places) = self.graph.first;
        let mut names = places.inverse();
        let mut last = self.graph.search.scene.clients.len();
        let mut route = Vec::new();
        for depth in 0..self.length {
            let onwards = self.onwards(at, depth);
            let Some(best) = onwards.iter().min_by_key(|onward| self.cost(depth, onward, last)) else { break };
            route.push(names.rename(best.action));
            let Some(next) = best.next else { break };
            let acted = actor(best.action).unwrap_or(last);
            (at, places) = (next, best.places);
            last = places.of(acted);
            names = places.inverse().then(&names);
        }
        route
    }

    fn onwards(&mut self, at: Index, depth: u32) -> Vec<Onward> {
        let StateGraph { memo, visited, .. } = self.graph;
        let is_last = depth + 1 == self.length;
        let (ahead, hits) = (&self.costs[depth as usize + 1], self.hits);
        let mut onwards = Vec::new();
        if ahead.of.is_empty() && !hits.iter().any(|hit| hit.at == at) {
            return onwards;
        }
        let known = self.expander.steps(memo, visited.words(at), |transition| {
            let Transition { action, places, .. } = *transition;
            if is_last && hits.iter().any(|hit| hit.at == at && hit.by == Some(action)) {
                onwards.push(Onward { action, next: None, places });
            } else if let Some(next) = ahead.find(visited, transition.words) {
                onwards.push(Onward { action, next: Some(next), places });
            }
        });
        debug_assert!(known.is_ok(), "every world up to a violation was expanded");
        onwards
    }

    /// What it costs to go this way to the end, if this client acted last: changes of client first, then how early the
    /// clock ticks.
    fn cost(&self, depth: u32, onward: &Onward, last: usize) -> u64 {
        let no_client = self.graph.search.scene.clients.len();
        let actor = actor(onward.action);
        let changes = actor.is_some_and(|actor| last != no_client && actor != last);
        let early = if onward.action == Action::Tick { self.length - depth } else { 0 };
        let last = onward.places.of(actor.unwrap_or(last));
        let rest = onward.next.map_or(0, |next| self.costs[depth as usize + 1].of[&next][last]);
        (u64::from(changes) << 32) + u64::from(early) + rest
    }
}

/// Who takes the turn. A client that dies takes none.
fn actor(action: Action) -> Option<usize> {
    if let Action::Crash(_) = action { None } else { action.client() }
}
