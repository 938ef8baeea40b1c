//! Breadth first through every world, exactly, on one thread or several with the same result.

#[cfg(feature = "cli")]
mod export;
mod findings;

use std::num::NonZeroUsize;
use std::sync::atomic::Ordering;
use std::{panic, thread};

use super::expand::{Expander, Outbox};
use super::forgetting::Forgetting;
use super::found::FoundViolations;
use super::memo::Memo;
use super::places::Places;
use super::property::{Properties, Property};
use super::search::{End, Findings, Progress, Search, Stop};
use super::starvation::Starvation;
use super::symmetry::Symmetry;
use super::visited::{Index, Levels, SHARDS, Shard, Visited, pack};

/// Worlds that are expanded before what they brought is stored: it bounds the memory on the way.
const BATCH: usize = if cfg!(test) { 64 } else { 1 << 15 };
/// Fewer worlds than this are not worth a second thread.
const WORTH_A_THREAD: usize = 1 << 9;

impl Search<'_> {
    /// Runs it. `watch` is called now and then with the progress.
    ///
    /// # Panics
    /// If the budget of the scene allows more combinations of faults than can be stored
    /// ([`FaultBudget::can_be_explored`](super::FaultBudget::can_be_explored)).
    pub fn run(&self, watch: &mut dyn FnMut(&Progress)) -> Findings {
        if !self.reduced || !self.can_be_reduced() {
            return Run::new(self.reduced(false)).findings(watch);
        }
        let mut forgetting = Forgetting::of(self.scene);
        // What a client holds counts for longer where it is judged: those properties have a search of their own.
        let (of_holds, others): (Vec<_>, Vec<_>) = self.properties.iter().partition(|it| it.is_about_holds());
        if forgetting.is_none() || of_holds.is_empty() || others.is_empty() {
            return self.run_reduced(&mut forgetting, watch);
        }
        let of_holds = self.properties(&of_holds).run_reduced(&mut forgetting, watch);
        of_holds.with_others(self.properties(&others).run_reduced(&mut forgetting, watch))
    }

    fn run_reduced<'a>(&self, forgetting: &mut Option<Forgetting<'a>>, watch: &mut dyn FnMut(&Progress)) -> Findings
    where
        Self: 'a,
    {
        let reduced = self.run_forgetting(forgetting, watch);
        let broken: Vec<Property> = reduced.violations.iter().map(|violation| violation.property).collect();
        if broken.is_empty() {
            return reduced;
        }
        // For the shortest schedules.
        let whole = self.reduced(false).properties(&broken).stop(Stop::AllViolated);
        reduced.with_shortest(whole.run_forgetting(forgetting, watch))
    }

    /// Starts again, forgetting less, until no client receives what was not tried.
    fn run_forgetting<'a>(&self, forgetting: &mut Option<Forgetting<'a>>, watch: &mut dyn FnMut(&Progress)) -> Findings
    where
        Self: 'a,
    {
        loop {
            match Run::new(*self).forgetting(forgetting.clone()).findings_if_tried(watch) {
                Ok(findings) => return findings,
                Err(untried) => *forgetting = forgetting.take().and_then(|it| it.with_tried(&untried)),
            }
        }
    }
}

/// A search that is running.
pub(super) struct Run<'a> {
    search: Search<'a>,
    /// All properties asked for; the search has those of them that can be judged.
    asked: Properties,
    symmetry: Symmetry,
    memo: Memo<'a>,
    visited: Visited,
    levels: Levels,
    first: (Index, Places),
    steps: u64,
    met: FoundViolations,
    starvation: Option<Starvation>,
    /// How many states there were when a client had first received what was not tried.
    tried_until: Option<usize>,
    #[cfg(test)]
    leaves_out: Option<super::expand::LeftOut>,
}

impl<'a> Run<'a> {
    pub(super) fn new(search: Search<'a>) -> Self {
        // An exchange of clients would hide which of them starves.
        let hides = search.scene.horizon.is_some() && search.properties.has(Property::EveryWaiterAcquires);
        // A removed key is named by its place among all keys, which an exchange of clients may change.
        let faults = search.scene.bounds.faults;
        let removes = faults.evictions > 0 || faults.removals_at_deadline > 0;
        let exchanges = search.symmetry && !hides && !removes;
        let symmetry = if exchanges { Symmetry::of(search.scene) } else { Symmetry::none() };
        Self::with(search, symmetry)
    }

    /// The same, with these clients exchanged.
    fn with(mut search: Search<'a>, symmetry: Symmetry) -> Self {
        assert!(search.scene.bounds.faults.can_be_explored(), "too many faults of too many kinds");
        let asked = search.properties;
        if search.scene.forgets_when_it_began() {
            search.properties = search.properties.without(Property::NoPhantom);
        }
        if search.scene.horizon.is_none() {
            // A clock that ends leaves no time in which to wait for ever.
            search.properties = search.properties.without(Property::EveryWaiterAcquires);
        }
        let mut memo = Memo::new(search.scene);
        let mut first = memo.intern(search.scene.world());
        let places = loop {
            match symmetry.settle(&memo, &mut first) {
                Ok(places) => break places,
                Err(question) => memo.answer(question),
            }
        };
        let mut visited = Visited::new(search.scene.clients.len(), search.hashed_to);
        let mut words = Vec::new();
        pack(&first, search.scene.bounds.faults, &mut words);
        let first = (visited.add_first(&words), places);
        Self {
            search,
            asked,
            symmetry,
            memo,
            visited,
            levels: Levels::default(),
            first,
            steps: 0,
            met: FoundViolations::default(),
            starvation: None,
            tried_until: None,
            #[cfg(test)]
            leaves_out: None,
        }
    }

    /// The same, forgetting what no step looks at.
    fn forgetting(mut self, forgetting: Option<Forgetting<'a>>) -> Self {
        self.memo.forget(forgetting.map(|forgetting| forgetting.asked(self.asked)));
        self
    }

    fn go_on(&mut self, watch: &mut dyn FnMut(&Progress)) -> End {
        self.levels.complete(self.visited.lens());
        loop {
            if let Some(end) = self.level(watch) {
                return end;
            }
            if self.is_satisfied() {
                return End::Satisfied;
            }
            let depth = self.levels.count();
            self.levels.complete(self.visited.lens());
            if self.levels.worlds(depth).next().is_none() {
                self.levels.forget_last();
                return if self.search.hashed_to.is_some() { End::Hashed } else { End::Exhausted };
            }
            self.visited.forget_before(self.levels.before(depth));
        }
    }

    /// Expands the last level.
    fn level(&mut self, watch: &mut dyn FnMut(&Progress)) -> Option<End> {
        let depth = self.levels.count() - 1;
        let mut worlds = self.levels.worlds(depth);
        loop {
            let batch: Vec<Index> = worlds.by_ref().take(BATCH).collect();
            if batch.is_empty() {
                return None;
            }
            let outboxes = self.expand(&batch);
            self.store(&outboxes);
            for outbox in &outboxes {
                self.steps += outbox.steps;
                self.note(&outbox.violations, depth);
            }
            let progress = Progress { states: self.visited.len(), depth, bytes: self.visited.bytes() };
            watch(&progress);
            if self.is_to_start_again() {
                return Some(End::Interrupted);
            }
            if progress.states >= self.search.max_states {
                return Some(End::StatesBound(progress.states));
            }
            let table = self.search.hashed_to.unwrap_or(0);
            if progress.bytes >= self.search.max_bytes.saturating_add(table) {
                return Some(End::MemoryBound(progress.bytes));
            }
            if self.search.interrupt.is_some_and(|interrupt| interrupt.load(Ordering::Relaxed)) {
                return Some(End::Interrupted);
            }
        }
    }

    /// Expands a batch. Threads only read the memory of steps; worlds that meet an open question are expanded at the
    /// end, one after the other, so that ids are given in an order that does not depend on the threads.
    fn expand(&mut self, batch: &[Index]) -> Vec<Outbox> {
        let done = in_parts(batch, self.search.threads, |part| self.expand_known(part));
        let (mut outboxes, open): (Vec<Outbox>, Vec<Vec<Index>>) = done.into_iter().unzip();
        outboxes.push(self.expand_open(&open.concat()));
        outboxes
    }

    /// Expands what can be expanded without finding anything out, and hands back the rest.
    fn expand_known(&self, part: &[Index]) -> (Outbox, Vec<Index>) {
        let (mut expander, mut outbox) = (self.expander(), Outbox::new(self.visited.layout()));
        let is_open = |at: &Index| expander.expand(&self.memo, self.visited.words(*at), *at, &mut outbox).is_err();
        let open = part.iter().copied().filter(is_open).collect();
        (outbox, open)
    }

    fn expand_open(&mut self, open: &[Index]) -> Outbox {
        let (mut expander, mut outbox) = (self.expander(), Outbox::new(self.visited.layout()));
        for &at in open {
            while let Err(question) = expander.expand(&self.memo, self.visited.words(at), at, &mut outbox) {
                self.memo.answer(question);
            }
        }
        outbox
    }

    fn expander(&self) -> Expander<'a> {
        let expander = Expander::new(&self.search, self.symmetry.clone(), self.search.properties);
        #[cfg(test)]
        let expander = expander.leaving_out(self.leaves_out);
        expander
    }

    /// Stores what a batch has brought: each shard by one thread, in the order of the batch.
    fn store(&mut self, outboxes: &[Outbox]) {
        let brought: u64 = outboxes.iter().map(|outbox| outbox.steps).sum();
        let threads = if brought < WORTH_A_THREAD as u64 { 1 } else { self.search.threads.get() };
        let handed_over = self.visited.layout().handed_over();
        let per_thread = SHARDS.div_ceil(threads);
        thread::scope(|scope| {
            let mut parts = self.visited.shards_mut().chunks_mut(per_thread).enumerate();
            let mine = parts.next();
            for (part, shards) in parts {
                scope.spawn(move || store(shards, part * per_thread, outboxes, handed_over));
            }
            if let Some((_, shards)) = mine {
                store(shards, 0, outboxes, handed_over);
            }
        });
    }

    /// Whether what was not tried makes this search worthless. It goes on for as many states again, to meet more of that.
    fn is_to_start_again(&mut self) -> bool {
        if self.memo.untried().is_empty() {
            return false;
        }
        let states = self.visited.len();
        states >= self.tried_until.get_or_insert(states).saturating_mul(2)
    }

    fn is_satisfied(&self) -> bool {
        let all = self.search.properties.iter().count();
        self.search.stop == Stop::AllViolated && all > 0 && self.met.properties() == all
    }
}

/// Stores what was handed over to these shards, so many words for each world.
fn store(shards: &mut [Shard], first: usize, outboxes: &[Outbox], handed_over: usize) {
    for (shard, number) in shards.iter_mut().zip(first..) {
        for outbox in outboxes {
            outbox.worlds[number].chunks_exact(handed_over).for_each(|world| shard.add(world));
        }
    }
}

/// Does this for all these worlds, each part by a thread of its own. What it has brought, in the order of the parts.
pub(super) fn in_parts<T: Send>(
    worlds: &[Index],
    threads: NonZeroUsize,
    work: impl Fn(&[Index]) -> T + Sync,
) -> Vec<T> {
    let threads = if worlds.len() < WORTH_A_THREAD { 1 } else { threads.get() };
    thread::scope(|scope| {
        let mut parts = worlds.chunks(worlds.len().div_ceil(threads).max(1));
        let mine = parts.next();
        let others: Vec<_> = parts.map(|part| scope.spawn(|| work(part))).collect();
        let mine = mine.map(&work);
        mine.into_iter().chain(others.into_iter().map(join)).collect()
    })
}

/// What a thread has found; its panic, if it panicked.
fn join<T>(thread: thread::ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|payload| panic::resume_unwind(payload))
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, HashSet};
    use std::sync::Arc;
    use std::time::Duration;

    use super::super::actor::{Actor, Doing, Operation};
    use super::super::client::{Client, Times};
    use super::super::faults::FaultBudget;
    use super::super::scene::{Bounds, Grain, Scene};
    use super::super::timeline::Horizon;
    use super::super::visited::unpack;
    use super::super::world::{Action, Clock, World};
    use super::*;
    use crate::lock::{Hold, Lease, Locker, Token};
    use crate::modern::{FairLock, TokenLock};
    use crate::wire::Key;

    /// A search that is stopped within a level has not expanded what its last steps lead to.
    #[test]
    fn a_search_that_is_stopped_anywhere_shows_the_whole_way_to_what_it_found() {
        let lease = Lease::new(Duration::from_secs(1)).unwrap();
        for name in ["php-getset", "setnx-page-del", "java-lua", "naive-setnx"] {
            let dialect = crate::legacy::find(name).unwrap();
            let client = Client::new(name, Arc::new(crate::legacy::Lock::new(dialect, Key::from("k"), lease)));
            let scene = Scene::new(Bounds::ticks(3).crashes(1)).grain(Grain::Coarse);
            let scene = (0..3).fold(scene, |scene, _| scene.client(client.clone()));
            let found = |by_cause, bound| {
                let search = Search::new(&scene).symmetry(true).by_cause(by_cause).max_states(bound);
                let violations = search.run(&mut |_| {}).violations.into_iter();
                violations.map(|it| (it.property, it.cause, it.actions.len())).collect::<Vec<_>>()
            };
            for by_cause in [false, true] {
                let all = found(by_cause, usize::MAX);
                let mut bound = 100;
                while bound < 10_000 {
                    for violation in found(by_cause, bound) {
                        assert!(all.contains(&violation), "{name}, {bound} states: {violation:?}");
                    }
                    bound = bound * 5 / 4;
                }
            }
        }
    }

    /// The worlds that are kept are exactly those that stand for some world: none is missed, none is kept twice.
    #[test]
    fn each_world_has_one_that_is_kept_for_it() {
        let lease = Lease::new(Duration::from_secs(1)).unwrap();
        let locker: Arc<dyn Locker> = Arc::new(TokenLock::new(Key::from("k"), lease));
        let client = Client::new("token", locker);
        let empty = Scene::new(Bounds::ticks(1).crashes(1));
        let scene = (0..3).fold(empty, |scene, _| scene.client(client.clone()));

        let mut all = Run::new(Search::new(&scene));
        all.go_on(&mut |_| ());
        let mut kept = Run::new(Search::new(&scene).symmetry(true));
        kept.go_on(&mut |_| ());

        let symmetry = Symmetry::of(&scene);
        let mut stand_for_some = HashSet::new();
        for at in (0..all.levels.count()).flat_map(|depth| all.levels.worlds(depth)) {
            let mut world = scene_world(&all, at);
            while let Err(question) = symmetry.settle(&all.memo, &mut world) {
                all.memo.answer(question);
                world = scene_world(&all, at);
            }
            let mut words = Vec::new();
            pack(&world, scene.bounds.faults, &mut words);
            stand_for_some.insert(words);
        }
        assert_eq!(stand_for_some.len(), kept.visited.len());
    }

    /// Two clients of this dialect.
    fn two(dialect: &str, bounds: Bounds) -> Scene {
        let lease = Lease::new(Duration::from_secs(1)).unwrap();
        let found = crate::legacy::find(dialect).unwrap();
        let client = Client::new(dialect, Arc::new(crate::legacy::Lock::new(found, Key::from("k"), lease)));
        Scene::new(bounds).client(client.clone()).client(client)
    }

    fn two_for_all_time(dialect: &str) -> Scene {
        two(dialect, Bounds::ticks(0)).for_all_time().unwrap()
    }

    /// Clients that have forgotten dead data do the same as those that have not, in as many steps.
    #[test]
    fn dead_data_is_forgotten_without_a_difference() {
        for name in
            ["php-getset", "java-getset", "setnx-page", "setnx-page-del", "naive-check-del", "redisco-transaction"]
        {
            let with_an_end = two(name, Bounds::ticks(4).crashes(1).afterwards(1_000));
            let three = two(name, Bounds::ticks(2));
            let third = three.clients[0].clone();
            for scene in [two_for_all_time(name), with_an_end, three.client(third)] {
                for rules in [&[Property::MutualExclusion][..], &JUDGED, &OF_HOLDS] {
                    let search = search(&scene).properties(rules).symmetry(true);
                    let (all, expected) = by_engine(Run::new(search));
                    let (fewer, found) = by_engine(Run::new(search).forgetting(Forgetting::of(&scene)));
                    assert_eq!(found, expected, "{name}");
                    assert!(fewer < all, "{name}: {fewer} of {all}");
                }
            }
        }
    }

    /// A release forgets what it has received, but not what it releases, where the server is asked about that.
    #[test]
    fn a_hold_that_is_judged_is_not_forgotten() {
        let scene = two("redis-cave-keeper", Bounds::ticks(4));
        let search = search(&scene).properties(&OF_HOLDS).symmetry(true);
        let asked = |rules: &[Property]| Forgetting::of(&scene).map(|it| it.asked(Properties::of(rules)));
        // The run itself says what is asked, so that the mistake is planted in its memory.
        let found = |forgetting| {
            let mut run = Run::new(search);
            run.memo.forget(forgetting);
            by_engine(run)
        };
        let (all, expected) = by_engine(Run::new(search));
        assert_ne!(found(asked(&[Property::MutualExclusion])).1, expected);
        let (states, broken) = found(asked(&OF_HOLDS));
        assert_eq!(broken, expected);
        assert!(states < all / 3, "{states} of {all}");
    }

    /// The server's clock is forgotten as the client's own is.
    #[test]
    fn the_time_of_the_server_is_forgotten_without_a_difference() {
        for dialect in crate::legacy::catalogue().filter(|dialect| dialect.clock == crate::legacy::Clock::Server) {
            let name = dialect.name;
            let scene = two(name, Bounds::ticks(2));
            let third = scene.clients[0].clone();
            let scene = scene.client(third);
            let search = search(&scene).properties(&[Property::MutualExclusion]).symmetry(true);
            let (all, expected) = by_engine(Run::new(search));
            let (fewer, found) = by_engine(Run::new(search).forgetting(Forgetting::of(&scene)));
            assert_eq!(found, expected, "{name}");
            assert!(fewer < all / 2, "{name}: {fewer} of {all}");
        }
    }

    /// What a sample takes for dead is tried again.
    #[test]
    fn live_data_that_a_sample_has_missed_is_not_forgotten() {
        let scene = two("php-getset", Bounds::ticks(4));
        let search = search(&scene).properties(&[Property::MutualExclusion]).symmetry(true);
        let by = |forgetting: Option<_>| {
            assert!(forgetting.is_some());
            by_engine(Run::new(search).forgetting(forgetting))
        };
        let (states, found) = by(Forgetting::of(&scene));
        for by_sample in [Forgetting::by_a_sample(&scene), Forgetting::by_a_wrong_sample(&scene)] {
            let (more, found_by_it) = by(by_sample);
            assert_eq!(found_by_it, found);
            assert!(more >= states, "{more} instead of {states}");
        }
    }

    /// The token of the second round is not that of the first, with which the client was tried.
    #[test]
    fn a_token_that_was_not_tried_is_not_forgotten() {
        let scene = two("naive-check-del", Bounds::ticks(2));
        let forgetting = Forgetting::of(&scene).unwrap().asked(Properties::of(&[Property::MutualExclusion]));
        let in_round = |rounds_left| Actor { rounds_left: Times::Of(rounds_left), ..Actor::fresh(&scene.clients[0]) };
        let token = |rounds_left| scene.client_step(0).owner(&in_round(rounds_left)).token;
        let is_forgotten = |token: Token| {
            let (value, since, lease) =
                (token.uuid().into_bytes(), scene.reading(0, 1), scene.clients[0].locker.lease());
            let hold = Hold { value, since, lease, fence: None };
            let releasing = Actor::fresh(&scene.clients[0]).now(Doing::Releasing(hold, Operation::default()));
            forgetting.forget(0, releasing.clone()) != releasing
        };
        assert!(is_forgotten(token(1)));
        assert!(!is_forgotten(token(0)));
    }

    #[test]
    fn live_data_that_is_forgotten_is_noticed() {
        for scene in [two_for_all_time("php-getset"), two("php-getset", Bounds::ticks(4))] {
            let search = search(&scene).properties(&[Property::MutualExclusion]);
            let found = |forgetting| by_engine(Run::new(search).forgetting(forgetting)).1;
            assert_eq!(found(Forgetting::of(&scene)), BTreeMap::new());
            assert_ne!(found(Forgetting::of(&scene).map(Forgetting::of_unjudged_replies)), BTreeMap::new());
        }
    }

    const JUDGED: [Property; 3] = [Property::MutualExclusion, Property::LeaseHonoured, Property::ReleasesOnlyOwn];
    const OF_HOLDS: [Property; 3] = [Property::LeaseHonoured, Property::ReleasesOnlyOwn, Property::TruthfulOutcome];

    /// What breaks each rule soonest: by the rules of a scene alone, over whole values, without any of the engine.
    fn plainly(scene: &Scene) -> (usize, BTreeMap<Property, u32>) {
        let (mut seen, mut level) = (HashSet::from([scene.world()]), vec![scene.world()]);
        let mut broken = BTreeMap::new();
        let mut depth = 0;
        while !level.is_empty() {
            depth += 1;
            let mut next = Vec::new();
            for world in &level {
                for action in scene.actions(world) {
                    let (after, violated) = scene.apply_judged(world, action, Properties::of(&JUDGED));
                    for property in violated.iter() {
                        broken.entry(property).or_insert(depth);
                    }
                    if seen.insert(after.clone()) {
                        next.push(after);
                    }
                }
            }
            level = next;
        }
        (seen.len(), broken)
    }

    /// The same by the engine, perhaps with a mistake planted.
    fn by_engine(mut run: Run<'_>) -> (usize, BTreeMap<Property, u32>) {
        assert_eq!(run.go_on(&mut |_| ()), End::Exhausted);
        let mut broken = BTreeMap::new();
        for met in run.met.all() {
            broken
                .entry(met.property)
                .and_modify(|length: &mut u32| *length = met.length.min(*length))
                .or_insert(met.length);
        }
        (run.visited.len(), broken)
    }

    /// Two clients of a lock with stamps, the clock of the first of which is ahead by so much.
    fn stamps(ticks: u16, skew_ms: i64) -> Scene {
        let lease = Lease::new(Duration::from_secs(1)).unwrap();
        let dialect = crate::legacy::find("php-getset").unwrap();
        let locker: Arc<dyn Locker> = Arc::new(crate::legacy::Lock::new(dialect, Key::from("k"), lease));
        let client = Client::new("php-getset", locker);
        let ahead = Client { skew_ms, ..client.clone() };
        Scene::new(Bounds::ticks(ticks)).grain(Grain::Coarse).client(ahead).client(client)
    }

    fn search(scene: &Scene) -> Search<'_> {
        Search::new(scene).properties(&JUDGED)
    }

    #[test]
    fn an_interleaving_that_is_left_out_is_noticed() {
        let scene = stamps(3, 0);
        let expected = plainly(&scene);
        assert_eq!(by_engine(Run::new(search(&scene))), expected);
        let never_second_after_a_tick: super::super::expand::LeftOut =
            |world, action| action == Action::Step(1) && world.clock.tick > 0;
        let mut run = Run::new(search(&scene));
        run.leaves_out = Some(never_second_after_a_tick);
        let (states, broken) = by_engine(run);
        assert!(states < expected.0 && broken != expected.1, "{states} states, {broken:?} instead of {expected:?}");
    }

    /// By a reduced search every rule is broken that is broken by the rules of a scene alone.
    #[test]
    fn a_reduction_leaves_out_no_violation() {
        for (ticks, name) in [(1, "setnx-page-del"), (2, "php-getset"), (1, "naive-setnx")] {
            let lease = Lease::new(Duration::from_secs(1)).unwrap();
            let dialect = crate::legacy::find(name).unwrap();
            let locker: Arc<dyn Locker> = Arc::new(crate::legacy::Lock::new(dialect, Key::from("k"), lease));
            let client = Client::new(name, locker);
            let scene = Scene::new(Bounds::ticks(ticks)).client(client.clone()).client(client);
            let (states, broken) = plainly(&scene);
            for rule in JUDGED {
                let mut run = Run::new(Search::new(&scene).properties(&[rule]).reduced(true));
                run.go_on(&mut |_| ());
                assert_eq!(!run.met.all().is_empty(), broken.contains_key(&rule), "{name}, {rule:?}");
                assert!(run.visited.len() < states, "{name}: {} of {states}", run.visited.len());
            }
        }
    }

    #[test]
    fn an_exchange_of_clients_that_differ_is_noticed() {
        let scene = stamps(3, 2_000);
        let (_, expected) = plainly(&scene);
        assert_eq!(by_engine(Run::new(search(&scene).symmetry(true))).1, expected);
        let wrong = Run::with(search(&scene), Symmetry::planted(vec![vec![0, 1]]));
        assert_ne!(by_engine(wrong).1, expected);
    }

    /// The lock with a queue lets every waiter acquire, as long as every waiter asks for it.
    #[test]
    fn fairness_that_is_not_demanded_is_noticed() {
        let lease = Lease::new(Duration::from_secs(2)).unwrap();
        let locker: Arc<dyn Locker> = Arc::new(FairLock::new(Key::from("k"), lease));
        let client = Client { rounds: Times::Forever, prompt: true, pause: 1, ..Client::new("fair", locker) };
        let scene = Scene::new(Bounds::ticks(0)).grain(Grain::Coarse).client(client.clone()).client(client);
        let scene = scene.for_all_time().unwrap();
        let mut run = Run::new(Search::new(&scene).properties(&[Property::EveryWaiterAcquires]));
        assert_eq!(run.go_on(&mut |_| ()), End::Exhausted);
        assert_eq!(run.graph().starvation(), None);
        let unfair = run.graph().cycle_without_win(|_| 0).unwrap();
        let moves = |action: &Action| action.client() == Some(unfair.client);
        assert!(!unfair.cycle.iter().any(moves), "{unfair:?}: only a waiter that does not move starves");
    }

    /// A holder's lease is two ticks. Where moments are drawn up to the present from one tick ago on, it never ends.
    #[test]
    fn moments_that_are_not_distinguished_are_noticed() {
        let lease = Lease::new(Duration::from_secs(2)).unwrap();
        let locker: Arc<dyn Locker> = Arc::new(TokenLock::new(Key::from("k"), lease));
        let client = Client::new("token", locker);
        let scene =
            |ticks| Scene::new(Bounds::ticks(ticks)).grain(Grain::Coarse).client(client.clone()).client(client.clone());
        let (_, expected) = plainly(&scene(6));
        let scene = scene(0).for_all_time().unwrap();
        assert_eq!(by_engine(Run::new(search(&scene))).1, expected);
        let coarse = Scene { horizon: Some(Horizon { ticks: 1, period: 1 }), ..scene };
        assert_ne!(by_engine(Run::new(search(&coarse))).1, expected);
    }

    fn scene_world(run: &Run<'_>, at: Index) -> World<u32, u32> {
        let mut world = World { node: 0, actors: Vec::new(), clock: Clock::default(), faults: FaultBudget::NONE };
        unpack(run.visited.words(at), run.search.scene.bounds.faults, &mut world);
        world
    }
}
