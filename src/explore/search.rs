//! Breadth first through every world, exactly, with one thread or two and the same result.

use std::num::NonZeroUsize;
use std::ops::Range;
use std::thread;

use super::expand::{Expander, Hit, Outbox};
use super::memo::Memo;
use super::property::{Properties, Property};
use super::scene::Scene;
use super::symmetry::Symmetry;
use super::visited::{Index, SHARDS, Shard, Visited, hash, pack, shard_of};

/// Worlds that are expanded before what they brought is stored: it bounds the memory on the way.
const BATCH: usize = 1 << 15;
/// Fewer worlds than this are not worth a second thread.
const WORTH_A_THREAD: usize = 1 << 9;

/// A search, to be run.
#[derive(Clone, Copy, Debug)]
pub struct Search<'a> {
    scene: &'a Scene,
    properties: Properties,
    threads: NonZeroUsize,
    most_worlds: usize,
    most_bytes: usize,
    symmetry: bool,
    stop: Stop,
}

/// When a search ends before it has seen everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stop {
    /// Only at a bound.
    Never,
    /// When every property asked for has been violated.
    AllViolated,
}

/// How far a search came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum End {
    /// It saw every world: what it did not find is impossible within the bounds of the scene.
    Exhausted,
    /// It found what it was to find.
    Satisfied,
    /// It met as many worlds as it was allowed.
    WorldsBound(usize),
    /// It took as much memory as it was allowed.
    BytesBound(usize),
}

/// How far a search is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Distinct worlds so far.
    pub worlds: usize,
    /// Steps from the start to those that are being expanded.
    pub depth: u32,
    /// Bytes that the worlds take.
    pub bytes: usize,
}

/// What a search found.
#[derive(Clone, Debug)]
pub struct Findings {
    /// Distinct worlds.
    pub worlds: usize,
    /// Steps taken from one to another.
    pub steps: u64,
    /// The greatest distance of a world from the start.
    pub depth: u32,
    /// Bytes that the worlds took.
    pub bytes: usize,
    /// How often a protocol ran, and the server.
    pub runs: (usize, usize),
    /// How it ended.
    pub end: End,
    /// The violations, one for each property that does not hold, in the order of [`Property::ALL`].
    pub violations: Vec<Violation>,
}

/// A property that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Which.
    pub property: Property,
    /// The length of a shortest way to it.
    pub length: u32,
}

impl<'a> Search<'a> {
    /// A search for a breach of mutual exclusion, on one thread.
    pub fn new(scene: &'a Scene) -> Self {
        Self {
            scene,
            properties: Properties::of(&[Property::MutualExclusion]),
            threads: NonZeroUsize::MIN,
            most_worlds: 100_000_000,
            most_bytes: 4 << 30,
            symmetry: false,
            stop: Stop::Never,
        }
    }

    /// For a breach of these.
    #[must_use]
    pub fn properties(mut self, properties: &[Property]) -> Self {
        self.properties = Properties::of(properties);
        self
    }

    /// On so many threads. The result does not depend on it.
    #[must_use]
    pub fn threads(mut self, threads: NonZeroUsize) -> Self {
        self.threads = threads;
        self
    }

    /// Of so many worlds at most.
    #[must_use]
    pub fn most_worlds(mut self, worlds: usize) -> Self {
        self.most_worlds = worlds;
        self
    }

    /// In so much memory at most, what is in hand for one batch not counted.
    #[must_use]
    pub fn most_bytes(mut self, bytes: usize) -> Self {
        self.most_bytes = bytes;
        self
    }

    /// Until then.
    #[must_use]
    pub fn stop(mut self, stop: Stop) -> Self {
        self.stop = stop;
        self
    }

    /// Runs it; `watch` is told how far it is, now and then.
    pub fn run(&self, watch: &mut dyn FnMut(&Progress)) -> Findings {
        let symmetry = Symmetry::none();
        let mut run = Run::new(*self, &symmetry);
        let end = run.to_the_end(watch);
        run.findings(end)
    }
}

/// A search that is running.
struct Run<'a> {
    search: Search<'a>,
    symmetry: &'a Symmetry,
    memo: Memo<'a>,
    visited: Visited,
    depth: u32,
    steps: u64,
    hits: Vec<Hits>,
}

/// The violations of one property at the least distance from the start.
#[derive(Clone, Debug)]
struct Hits {
    property: Property,
    length: u32,
    hits: Vec<Hit>,
}

/// Violations of one property kept, to choose the most readable from.
const MOST_HITS: usize = 1 << 16;

impl<'a> Run<'a> {
    fn new(search: Search<'a>, symmetry: &'a Symmetry) -> Self {
        let mut memo = Memo::new(search.scene);
        let first = memo.intern(search.scene.world());
        let mut visited = Visited::new(search.scene.clients.len());
        let mut words = Vec::new();
        pack(&first, &mut words);
        let hash = hash(&words);
        let shard = shard_of(hash);
        visited.shards_mut()[shard].add(hash, &words, u32::try_from(shard).unwrap_or(0));
        Self { search, symmetry, memo, visited, depth: 0, steps: 0, hits: Vec::new() }
    }

    fn to_the_end(&mut self, watch: &mut dyn FnMut(&Progress)) -> End {
        let mut from = [0; SHARDS];
        loop {
            let to = self.visited.lens();
            let level = Level { from, to };
            if level.len() == 0 {
                self.depth -= 1;
                return End::Exhausted;
            }
            if let Some(end) = self.level(&level, watch) {
                return end;
            }
            if self.is_satisfied() {
                return End::Satisfied;
            }
            from = to;
            self.depth += 1;
        }
    }

    fn level(&mut self, level: &Level, watch: &mut dyn FnMut(&Progress)) -> Option<End> {
        let mut indices = level.indices();
        loop {
            let batch: Vec<Index> = indices.by_ref().take(BATCH).collect();
            if batch.is_empty() {
                return None;
            }
            let mut outboxes = self.expand(&batch);
            self.store(&outboxes);
            for outbox in &mut outboxes {
                self.steps += outbox.steps;
                self.note(&outbox.violations);
            }
            let progress = Progress { worlds: self.visited.len(), depth: self.depth, bytes: self.visited.bytes() };
            watch(&progress);
            if progress.worlds >= self.search.most_worlds {
                return Some(End::WorldsBound(progress.worlds));
            }
            if progress.bytes >= self.search.most_bytes {
                return Some(End::BytesBound(progress.bytes));
            }
        }
    }

    /// Expands a batch. Threads only read the memory of steps; worlds that meet an open question are expanded at the
    /// end, one after the other, so that ids are given in an order that does not depend on the threads.
    fn expand(&mut self, batch: &[Index]) -> Vec<Outbox> {
        let threads = if batch.len() < WORTH_A_THREAD { 1 } else { self.search.threads.get() };
        let parts: Vec<&[Index]> = batch.chunks(batch.len().div_ceil(threads)).collect();
        let this = &*self;
        let mut done: Vec<(Outbox, Vec<Index>)> = thread::scope(|scope| {
            let (first, others) = parts.split_first().expect("a batch is not empty");
            let others: Vec<_> = others.iter().map(|part| scope.spawn(|| this.expand_known(part))).collect();
            let first = this.expand_known(first);
            let others =
                others.into_iter().map(|other| other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            std::iter::once(first).chain(others).collect()
        });
        let open: Vec<Index> = done.iter_mut().flat_map(|(_, open)| std::mem::take(open)).collect();
        let mut outboxes: Vec<Outbox> = done.into_iter().map(|(outbox, _)| outbox).collect();
        outboxes.push(self.expand_open(&open));
        outboxes
    }

    fn expander(&self) -> Expander<'a> {
        Expander::new(self.search.scene, self.symmetry, self.search.properties)
    }

    fn expand_known(&self, part: &[Index]) -> (Outbox, Vec<Index>) {
        let (mut expander, mut outbox) = (self.expander(), Outbox::new());
        let mut open = Vec::new();
        for &at in part {
            if expander.expand(&self.memo, self.visited.words(at), at, &mut outbox).is_err() {
                open.push(at);
            }
        }
        (outbox, open)
    }

    fn expand_open(&mut self, open: &[Index]) -> Outbox {
        let (mut expander, mut outbox) = (self.expander(), Outbox::new());
        for &at in open {
            while let Err(question) = expander.expand(&self.memo, self.visited.words(at), at, &mut outbox) {
                self.memo.answer(question);
            }
        }
        outbox
    }

    /// Stores what a batch has brought: each shard by one thread, in the order of the batch.
    fn store(&mut self, outboxes: &[Outbox]) {
        let brought: usize = outboxes.iter().map(|outbox| outbox.steps as usize).sum();
        let threads = if brought < WORTH_A_THREAD { 1 } else { self.search.threads.get() };
        let width = self.search.scene.clients.len() + 2;
        let per_thread = SHARDS.div_ceil(threads);
        thread::scope(|scope| {
            let mut parts = self.visited.shards_mut().chunks_mut(per_thread).enumerate();
            let first = parts.next();
            for (part, shards) in parts {
                scope.spawn(move || store(shards, part * per_thread, outboxes, width));
            }
            if let Some((_, shards)) = first {
                store(shards, 0, outboxes, width);
            }
        });
    }

    /// Keeps the violations at the least depth of each property.
    fn note(&mut self, violations: &[Hit]) {
        for hit in violations {
            let length = self.depth + u32::from(hit.by.is_some());
            match self.hits.iter_mut().find(|hits| hits.property == hit.property) {
                None => self.hits.push(Hits { property: hit.property, length, hits: vec![*hit] }),
                Some(hits) if hits.length == length && hits.hits.len() < MOST_HITS => hits.hits.push(*hit),
                Some(_) => {}
            }
        }
    }

    fn is_satisfied(&self) -> bool {
        let all = self.search.properties.iter().count();
        self.search.stop == Stop::AllViolated && all > 0 && self.hits.len() == all
    }

    fn findings(mut self, end: End) -> Findings {
        self.hits.sort_by_key(|hits| hits.property);
        Findings {
            worlds: self.visited.len(),
            steps: self.steps,
            depth: self.depth,
            bytes: self.visited.bytes(),
            runs: self.memo.runs(),
            end,
            violations: self
                .hits
                .iter()
                .map(|hits| Violation { property: hits.property, length: hits.length })
                .collect(),
        }
    }
}

fn store(shards: &mut [Shard], first: usize, outboxes: &[Outbox], width: usize) {
    for (shard, number) in shards.iter_mut().zip(first..) {
        for outbox in outboxes {
            for record in outbox.worlds[number].chunks_exact(width + 3) {
                let hash = u64::from(record[0]) << 32 | u64::from(record[1]);
                shard.add(hash, &record[2..2 + width], record[width + 2]);
            }
        }
    }
}

/// The worlds at one distance from the start.
#[derive(Clone, Copy, Debug)]
struct Level {
    from: [u32; SHARDS],
    to: [u32; SHARDS],
}

impl Level {
    fn len(&self) -> usize {
        self.ranges().map(|range| range.len()).sum()
    }

    fn ranges(&self) -> impl Iterator<Item = Range<u32>> + use<> {
        self.from.into_iter().zip(self.to).map(|(from, to)| from..to)
    }

    fn indices(&self) -> impl Iterator<Item = Index> + use<> {
        (0..).zip(self.ranges()).flat_map(|(shard, range)| range.map(move |at| at * SHARDS as u32 + shard))
    }
}
