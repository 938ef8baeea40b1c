//! Every world met so far, packed: a few words each, found again by their exact value, or by some bits of its hash.

use hashbrown::HashTable;

use super::faults::FaultBudget;
use super::hashed::{self, Bits};
use super::world::{Clock, World};

/// Into how many parts the store is cut, whatever the number of threads, so that the order of worlds never depends on it.
pub(super) const SHARDS: usize = 16;
const SHARD_BITS: u32 = SHARDS.trailing_zeros();
/// Worlds in one allocation: none is ever moved, and little is allocated in advance.
const CHUNK: usize = 1024;

/// More worlds than this cannot be named.
pub(super) const MOST: usize = 4_000_000_000;

/// Every world met so far, in the order of meeting within each shard.
#[derive(Debug)]
pub(super) struct Visited {
    layout: Layout,
    shards: Vec<Shard>,
}

/// What a world is handed over as, to be stored: the two words of its hash, how it was reached if only bits of it are kept, and
/// its own words.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    width: usize,
    hashed: bool,
}

/// One part of the store, to which one thread at a time adds.
#[derive(Debug)]
pub(super) struct Shard {
    number: u32,
    len: u32,
    words: Words,
    known: Known,
}

/// The words of worlds, in chunks.
#[derive(Debug)]
struct Words {
    width: usize,
    chunks: Vec<Box<[u32]>>,
    /// How many chunks were forgotten, after the first: that has the first world.
    forgotten: usize,
}

/// By what a world is found again.
#[derive(Debug)]
enum Known {
    /// By all its words.
    Whole(HashTable<u32>),
    /// By some bits. How each world was reached is kept longer than its words.
    Hashed(Bits, Vec<Box<[Reached]>>),
}

/// How a world was reached: from this one, by the step at this place in the list of its steps.
#[derive(Clone, Copy, Debug, Default)]
#[repr(Rust, packed)]
pub(super) struct Reached {
    pub(super) from: Index,
    pub(super) by: u16,
}

/// The name of a stored world.
pub(super) type Index = u32;

impl Visited {
    /// A store of worlds with so many clients, hashed to a table of so many bytes or whole.
    pub(super) fn new(clients: usize, hashed_to: Option<usize>) -> Self {
        let width = clients + 2;
        let known = || match hashed_to {
            None => Known::Whole(HashTable::new()),
            Some(bytes) => Known::Hashed(Bits::new(bytes / SHARDS), Vec::new()),
        };
        let words = || Words { width, chunks: Vec::new(), forgotten: 0 };
        let shard = |number| Shard { number, len: 0, words: words(), known: known() };
        let layout = Layout { width, hashed: hashed_to.is_some() };
        Self { layout, shards: (0..SHARDS as u32).map(shard).collect() }
    }

    /// The shards, to add to.
    pub(super) fn shards_mut(&mut self) -> &mut [Shard] {
        &mut self.shards
    }

    /// What worlds are handed over as.
    pub(super) fn layout(&self) -> Layout {
        self.layout
    }

    /// Where only bits are kept, forgets the words of what is nearer to the start than this level: nothing leads there.
    pub(super) fn forget_before(&mut self, level: [u32; SHARDS]) {
        if self.layout.hashed {
            self.shards.iter_mut().zip(level).for_each(|(shard, from)| shard.words.forget_before(from));
        }
    }

    /// How many worlds were probably taken for others.
    pub(super) fn taken_for_others(&self) -> f64 {
        let of_shard = |shard: &Shard| match &shard.known {
            Known::Whole(_) => 0.0,
            Known::Hashed(bits, _) => bits.taken_for_others(),
        };
        self.shards.iter().map(of_shard).sum()
    }

    /// The steps by which a world was reached, from the first to the last, where only bits are kept.
    pub(super) fn steps_to(&self, mut at: Index, length: u32) -> Vec<u16> {
        let mut steps = Vec::new();
        for _ in 0..length {
            let Known::Hashed(_, reached) = &self.shards[at as usize % SHARDS].known else { break };
            let place = (at >> SHARD_BITS) as usize;
            let Reached { from, by } = reached[place / CHUNK][place % CHUNK];
            steps.push(by);
            at = from;
        }
        steps.reverse();
        steps
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
        self.shards[index as usize % SHARDS].words.of(index >> SHARD_BITS)
    }

    /// Where these words are, if worlds are kept whole.
    pub(super) fn find(&self, words: &[u32]) -> Option<Index> {
        let hash = hash(words);
        let shard = &self.shards[shard_of(hash)];
        shard.find(hash, words).map(|at| at << SHARD_BITS | shard.number)
    }

    /// Adds the first world, and returns its name.
    pub(super) fn add_first(&mut self, words: &[u32]) -> Index {
        let hash = self.layout.hash(words);
        let mut handed_over = Vec::new();
        self.layout.hand_over(hash, words, Reached::default(), &mut handed_over);
        let shard = &mut self.shards[shard_of(hash)];
        shard.add(&handed_over);
        shard.number
    }
}

impl Layout {
    /// The hash of a world's words.
    pub(super) fn hash(self, words: &[u32]) -> u64 {
        if self.hashed { hashed::hash(words) } else { hash(words) }
    }

    /// Appends a world.
    pub(super) fn hand_over(self, hash: u64, words: &[u32], reached: Reached, to: &mut Vec<u32>) {
        to.extend([(hash >> 32) as u32, hash as u32]);
        if self.hashed {
            to.extend([reached.from, u32::from(reached.by)]);
        }
        to.extend_from_slice(words);
    }

    /// How many words a world is handed over as.
    pub(super) fn handed_over(self) -> usize {
        self.width + if self.hashed { 4 } else { 2 }
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

    /// How many worlds of each shard are nearer to the start than this.
    pub(super) fn before(&self, depth: u32) -> [u32; SHARDS] {
        if depth == 0 { [0; SHARDS] } else { self.0[depth as usize - 1] }
    }

    /// The worlds at this distance from the start, in a fixed order.
    pub(super) fn worlds(&self, depth: u32) -> impl Iterator<Item = Index> + use<> {
        let ranges = self.before(depth).into_iter().zip(self.0[depth as usize]).map(|(from, to)| from..to);
        (0..).zip(ranges).flat_map(|(shard, range)| range.map(move |at| at << SHARD_BITS | shard))
    }
}

impl Shard {
    /// Adds a world that was handed over, unless it is there.
    pub(super) fn add(&mut self, handed_over: &[u32]) {
        let Self { len, words: all, known, .. } = self;
        let hash = u64::from(handed_over[0]) << 32 | u64::from(handed_over[1]);
        let words = &handed_over[handed_over.len() - all.width..];
        match known {
            Known::Whole(table) => {
                if table.find(hash, |at| all.of(*at) == words).is_some() {
                    return;
                }
                table.insert_unique(hash, *len, |at| self::hash(all.of(*at)));
            }
            Known::Hashed(bits, reached) => {
                if !bits.add(hash) {
                    return;
                }
                let (chunk, at) = (*len as usize / CHUNK, *len as usize % CHUNK);
                if chunk == reached.len() {
                    reached.push(vec![Reached::default(); CHUNK].into_boxed_slice());
                }
                reached[chunk][at] = Reached { from: handed_over[2], by: handed_over[3] as u16 };
            }
        }
        all.put(*len, words);
        *len += 1;
    }

    fn find(&self, hash: u64, words: &[u32]) -> Option<u32> {
        let Known::Whole(table) = &self.known else { return None };
        table.find(hash, |at| self.words.of(*at) == words).copied()
    }

    fn bytes(&self) -> usize {
        let known = match &self.known {
            Known::Whole(table) => table.allocation_size(),
            Known::Hashed(bits, reached) => bits.bytes() + reached.len() * CHUNK * size_of::<Reached>(),
        };
        self.words.bytes() + known
    }
}

impl Words {
    /// Those of this world.
    fn of(&self, at: u32) -> &[u32] {
        let start = at as usize % CHUNK * self.width;
        &self.chunks[at as usize / CHUNK][start..start + self.width]
    }

    /// Puts those of a world after the last.
    fn put(&mut self, at: u32, words: &[u32]) {
        let (chunk, start) = (at as usize / CHUNK, at as usize % CHUNK * self.width);
        if chunk == self.chunks.len() {
            self.chunks.push(vec![0; CHUNK * self.width].into_boxed_slice());
        }
        self.chunks[chunk][start..start + self.width].copy_from_slice(words);
    }

    fn forget_before(&mut self, at: u32) {
        while self.forgotten + 1 < at as usize / CHUNK {
            self.forgotten += 1;
            self.chunks[self.forgotten] = Box::default();
        }
    }

    fn bytes(&self) -> usize {
        (self.chunks.len() - self.forgotten) * CHUNK * self.width * 4
    }
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
