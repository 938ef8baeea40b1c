//! Every world met so far, packed: a few words each, found again by their exact value.

use hashbrown::HashTable;

use super::faults::FaultBudget;
use super::world::{Clock, World};

/// Into how many parts the store is cut, whatever the number of threads, so that the order of worlds never depends on it.
pub(super) const SHARDS: usize = 16;
const SHARD_BITS: u32 = SHARDS.trailing_zeros();
/// Worlds in one allocation: none is ever moved, and little is allocated in advance.
const CHUNK: usize = 1024;

/// Every world met so far, in the order of meeting within each shard.
#[derive(Debug)]
pub(super) struct Visited {
    width: usize,
    shards: Vec<Shard>,
}

/// One part of the store, to which one thread at a time adds.
#[derive(Debug)]
pub(super) struct Shard {
    number: u32,
    width: usize,
    len: u32,
    chunks: Vec<Box<[u32]>>,
    table: HashTable<u32>,
}

/// The name of a stored world.
pub(super) type Index = u32;

impl Visited {
    /// A store of worlds with so many clients.
    pub(super) fn new(clients: usize) -> Self {
        let width = clients + 2;
        let shard = |number| Shard { number, width, len: 0, chunks: Vec::new(), table: HashTable::new() };
        Self { width, shards: (0..SHARDS as u32).map(shard).collect() }
    }

    /// The shards, to add to.
    pub(super) fn shards_mut(&mut self) -> &mut [Shard] {
        &mut self.shards
    }

    /// How many words a world has.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// How many worlds each shard has.
    pub(super) fn lens(&self) -> [u32; SHARDS] {
        std::array::from_fn(|shard| self.shards[shard].len)
    }

    /// How many worlds there are.
    pub(super) fn len(&self) -> usize {
        self.shards.iter().map(|shard| shard.len as usize).sum()
    }

    /// A number greater than every index.
    pub(super) fn index_bound(&self) -> usize {
        self.shards.iter().map(|shard| shard.len as usize).max().unwrap_or(0) << SHARD_BITS
    }

    /// How many bytes they take.
    pub(super) fn bytes(&self) -> usize {
        self.shards.iter().map(Shard::bytes).sum()
    }

    /// The words of a world.
    pub(super) fn words(&self, index: Index) -> &[u32] {
        self.shards[index as usize % SHARDS].entry(index >> SHARD_BITS)
    }

    /// Where these words are.
    pub(super) fn find(&self, words: &[u32]) -> Option<Index> {
        let hash = hash(words);
        let shard = &self.shards[shard_of(hash)];
        shard.find(hash, words).map(|at| at << SHARD_BITS | shard.number)
    }
}

/// The worlds by their distance from the start: how many each shard had when each level was complete.
#[derive(Clone, Debug, Default)]
pub(super) struct Levels(Vec<[u32; SHARDS]>);

impl Levels {
    /// The next level is complete: it reaches up to here.
    pub(super) fn complete(&mut self, lens: [u32; SHARDS]) {
        self.0.push(lens);
    }

    /// The last level was none.
    pub(super) fn forget_last(&mut self) {
        self.0.pop();
    }

    /// How many levels are complete.
    pub(super) fn count(&self) -> u32 {
        u32::try_from(self.0.len()).unwrap_or(u32::MAX)
    }

    /// The worlds at this distance from the start, in a fixed order.
    pub(super) fn worlds(&self, depth: u32) -> impl Iterator<Item = Index> + use<> {
        let depth = depth as usize;
        let from = if depth == 0 { [0; SHARDS] } else { self.0[depth - 1] };
        let ranges = from.into_iter().zip(self.0[depth]).map(|(from, to)| from..to);
        (0..).zip(ranges).flat_map(|(shard, range)| range.map(move |at| at << SHARD_BITS | shard))
    }
}

impl Shard {
    /// Adds a world, unless it is there.
    pub(super) fn add(&mut self, hash: u64, words: &[u32]) {
        if self.find(hash, words).is_some() {
            return;
        }
        let (chunk, at) = (self.len as usize / CHUNK, self.len as usize % CHUNK * self.width);
        if chunk == self.chunks.len() {
            self.chunks.push(vec![0; CHUNK * self.width].into_boxed_slice());
        }
        self.chunks[chunk][at..at + self.width].copy_from_slice(words);
        let (chunks, width) = (&self.chunks, self.width);
        self.table.insert_unique(hash, self.len, |at| self::hash(entry(chunks, width, *at)));
        self.len += 1;
    }

    fn find(&self, hash: u64, words: &[u32]) -> Option<u32> {
        self.table.find(hash, |at| self.entry(*at) == words).copied()
    }

    fn entry(&self, at: u32) -> &[u32] {
        entry(&self.chunks, self.width, at)
    }

    fn bytes(&self) -> usize {
        self.chunks.len() * CHUNK * self.width * 4 + self.table.allocation_size()
    }
}

fn entry(chunks: &[Box<[u32]>], width: usize, at: u32) -> &[u32] {
    let start = at as usize % CHUNK * width;
    &chunks[at as usize / CHUNK][start..start + width]
}

/// The shard of a hash: from bits that the tables do not use.
pub(super) fn shard_of(hash: u64) -> usize {
    (hash >> 40) as usize % SHARDS
}

/// A hash of a world's words.
pub(super) fn hash(words: &[u32]) -> u64 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let mixed = words.iter().fold(0, |hash: u64, word| (hash.rotate_left(23) ^ u64::from(*word)).wrapping_mul(FACTOR));
    (mixed ^ mixed >> 32).wrapping_mul(FACTOR)
}

/// Packs a world of a scene with this budget of faults.
pub(super) fn pack(world: &World<u32, u32>, budget: FaultBudget, words: &mut Vec<u32>) {
    words.push(world.node);
    words.push(u32::from(world.clock.tick) << 16 | u32::from(world.faults.packed(budget)));
    words.extend_from_slice(&world.actors);
}

/// The tick of a packed world.
pub(super) fn tick_of(words: &[u32]) -> u16 {
    u16::try_from(words[1] >> 16).unwrap_or(u16::MAX)
}

/// Unpacks a world of a scene with this budget of faults.
pub(super) fn unpack(words: &[u32], budget: FaultBudget, world: &mut World<u32, u32>) {
    world.node = words[0];
    world.clock = Clock { tick: tick_of(words) };
    world.faults = FaultBudget::unpacked(words[1] as u16, budget);
    world.actors.clear();
    world.actors.extend_from_slice(&words[2..]);
}
