//! Starvation: a client that wants the lock for ever and never acquires it, although every client goes on.
//!
//! An infinite schedule is *weakly fair* if every client that has neither ended nor crashed takes a step again and again, and
//! the clock ticks again and again. There are finitely many worlds where the clock never ends, so from some step on the
//! schedule only visits worlds that it visits again and again: these are strongly connected, and a client that starves wants
//! the lock in all of them. Conversely, a schedule can take all steps between strongly connected worlds again and again. So
//! a client can starve if and only if, among the worlds in which it wants the lock, some are strongly connected by steps
//! of which at least one is the clock's and at least one each client's. No fault is among them: the budget is finite.

use std::collections::VecDeque;
use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;

use super::parts::Activity;
use super::route::StateGraph;
use super::visited::Index;
use super::world::Action;

/// A schedule in which a client starves: the way to a world, and from there the steps that lead back to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Starvation {
    /// The world at which the cycle begins and ends.
    pub(super) at: Index,
    /// How far it is from the start.
    pub(super) depth: u32,
    /// The client that never acquires.
    pub(super) client: usize,
    /// The steps that can repeat for ever.
    pub(super) cycle: Vec<Action>,
}

/// Which clients have taken a step, and whether the clock has: a bit for each.
type Movers = u32;
const CLOCK: Movers = 1 << 31;

/// A step that is not a fault.
#[derive(Clone, Copy, Debug)]
struct Edge {
    action: Action,
    to: Index,
}

/// The steps of all worlds, and the worlds in which one client wants the lock, by strongly connected components.
struct WaitingStates<'a> {
    steps: &'a Steps,
    /// The component of each world; [`NOWHERE`] where the client does not want the lock.
    components: Vec<u32>,
}

const NOWHERE: u32 = u32::MAX;

/// The steps of all worlds.
struct Steps {
    edges: Vec<Edge>,
    /// By world: where its edges begin and end.
    ranges: Vec<(u32, u32)>,
}

impl StateGraph<'_> {
    /// A weakly fair schedule in which some client never acquires: the one with the shortest way to its cycle.
    ///
    /// The search must have been exhausted, and without exchanges of clients.
    pub(super) fn starvation(&self) -> Option<Starvation> {
        self.cycle_without_win(|alive| alive | CLOCK)
    }

    /// A schedule without end, in which those move again and again that are demanded of the clients alive, and some
    /// client never acquires.
    pub(super) fn cycle_without_win(&self, demanded: impl Fn(Movers) -> Movers) -> Option<Starvation> {
        let steps = self.all_steps();
        let alike = self.search.scene.alike();
        let is_first_of_its_kind = |who: &usize| !alike.iter().any(|class| class[1..].contains(who));
        let clients = (0..self.search.scene.clients.len()).filter(is_first_of_its_kind);
        clients.filter_map(|client| self.starvation_of(client, &steps, &demanded)).min_by_key(|found| found.depth)
    }

    fn starvation_of(&self, client: usize, steps: &Steps, demanded: &impl Fn(Movers) -> Movers) -> Option<Starvation> {
        let wants = |at: Index| self.clients(at, |view| view.wants_for_ever) >> client & 1 == 1;
        let all = (0..self.levels.count()).flat_map(|depth| self.levels.worlds(depth));
        let waiting = WaitingStates { steps, components: steps.components(all.filter(|at| wants(*at)).collect()) };
        let movers = waiting.movers();
        (0..self.levels.count()).find_map(|depth| {
            let mut worlds = self.levels.worlds(depth).filter(|at| waiting.components[*at as usize] != NOWHERE);
            let (at, demanded) = worlds.find_map(|at| {
                let demanded = demanded(self.clients(at, |view| view.activity != Activity::Over));
                let moved = movers[waiting.components[at as usize] as usize];
                (moved != 0 && moved & demanded == demanded).then_some((at, demanded))
            })?;
            Some(Starvation { at, depth, client, cycle: waiting.cycle(at, demanded) })
        })
    }

    fn all_steps(&self) -> Steps {
        debug_assert!(self.symmetry.is_none(), "no clients are exchanged");
        let mut expander = self.expander();
        let mut steps = Steps { edges: Vec::new(), ranges: vec![(0, 0); self.visited.index_bound()] };
        for at in (0..self.levels.count()).flat_map(|depth| self.levels.worlds(depth)) {
            let begin = steps.edges.len() as u32;
            let known = expander.steps(self.memo, self.visited.words(at), |transition| {
                if let Some(to) = self.visited.find(transition.words).filter(|_| !transition.action.is_fault()) {
                    steps.edges.push(Edge { action: transition.action, to });
                }
            });
            debug_assert!(known.is_ok(), "an exhausted search has expanded every world");
            steps.ranges[at as usize] = (begin, steps.edges.len() as u32);
        }
        steps
    }
}

impl Steps {
    fn of(&self, at: Index) -> &[Edge] {
        let (begin, end) = self.ranges[at as usize];
        &self.edges[begin as usize..end as usize]
    }

    /// The strongly connected components of these worlds: the number of its component for each (Tarjan, without recursion).
    fn components(&self, worlds: Vec<Index>) -> Vec<u32> {
        const UNSEEN: u32 = u32::MAX;
        let mut is_asked = vec![false; self.ranges.len()];
        worlds.iter().for_each(|at| is_asked[*at as usize] = true);
        let (mut order, mut lowest) = (vec![UNSEEN; self.ranges.len()], vec![0; self.ranges.len()]);
        let mut components = vec![NOWHERE; self.ranges.len()];
        let (mut seen, mut found) = (0, 0);
        // The worlds without a component yet, and the way to the one that is being looked at, with the next edge of each.
        let (mut open, mut way): (Vec<Index>, Vec<(Index, u32)>) = (Vec::new(), Vec::new());
        for root in worlds {
            if order[root as usize] != UNSEEN {
                continue;
            }
            way.push((root, 0));
            while let Some((at, edge)) = way.last_mut() {
                let here = *at as usize;
                if *edge == 0 && order[here] == UNSEEN {
                    (order[here], lowest[here]) = (seen, seen);
                    seen += 1;
                    open.push(*at);
                }
                if let Some(Edge { to, .. }) = self.of(*at).get(*edge as usize) {
                    *edge += 1;
                    let there = *to as usize;
                    if is_asked[there] && order[there] == UNSEEN {
                        way.push((*to, 0));
                    } else if is_asked[there] && components[there] == NOWHERE {
                        lowest[here] = lowest[here].min(order[there]);
                    }
                    continue;
                }
                way.pop();
                if let Some((before, _)) = way.last() {
                    lowest[*before as usize] = lowest[*before as usize].min(lowest[here]);
                }
                if lowest[here] == order[here] {
                    while let Some(member) = open.pop() {
                        components[member as usize] = found;
                        if member as usize == here {
                            break;
                        }
                    }
                    found += 1;
                }
            }
        }
        components
    }
}

impl WaitingStates<'_> {
    /// By component: those that move on the steps between its worlds.
    fn movers(&self) -> Vec<Movers> {
        let known = self.components.iter().filter(|component| **component != NOWHERE);
        let mut movers = vec![0; known.max().map_or(0, |last| *last as usize + 1)];
        for (at, component) in (0..).zip(&self.components).filter(|(_, component)| **component != NOWHERE) {
            for edge in self.inside(at) {
                movers[*component as usize] |= mover(edge.action);
            }
        }
        movers
    }

    /// The steps from this world to others of its component.
    fn inside(&self, at: Index) -> impl Iterator<Item = &Edge> {
        let component = self.components[at as usize];
        self.steps.of(at).iter().filter(move |edge| self.components[edge.to as usize] == component)
    }

    /// From a world back to it, by steps on which all of these move: always the nearest step of one that has not moved yet.
    fn cycle(&self, begin: Index, mut demanded: Movers) -> Vec<Action> {
        let (mut at, mut actions) = (begin, Vec::new());
        while demanded != 0 || actions.is_empty() {
            let Some((way, to)) = self.way(at, |edge| demanded == 0 || mover(edge.action) & demanded != 0) else {
                break;
            };
            demanded = way.iter().fold(demanded, |demanded, action| demanded & !mover(*action));
            actions.extend(way);
            at = to;
        }
        if at != begin {
            actions.extend(self.way(at, |edge| edge.to == begin).into_iter().flat_map(|(way, _)| way));
        }
        actions
    }

    /// The shortest way within a component whose last step is one of these, and where it leads.
    fn way(&self, from: Index, is_last: impl Fn(&Edge) -> bool) -> Option<(Vec<Action>, Index)> {
        let mut came: FxHashMap<Index, Option<(Index, Action)>> = FxHashMap::from_iter([(from, None)]);
        let mut next = VecDeque::from([from]);
        while let Some(at) = next.pop_front() {
            for edge in self.inside(at) {
                if is_last(edge) {
                    let mut way = vec![edge.action];
                    let mut here = at;
                    while let Some((before, action)) = came[&here] {
                        way.push(action);
                        here = before;
                    }
                    way.reverse();
                    return Some((way, edge.to));
                }
                if let Entry::Vacant(unseen) = came.entry(edge.to) {
                    unseen.insert(Some((at, edge.action)));
                    next.push_back(edge.to);
                }
            }
        }
        None
    }
}

/// Who moves.
fn mover(action: Action) -> Movers {
    match (action, action.client()) {
        (Action::Tick, _) => CLOCK,
        (_, Some(client)) => 1 << client,
        (_, None) => 0,
    }
}
