//! States of which only a few bits are kept, for a space that does not fit.
//!
//! The bits are a Bloom filter (Bloom, *Space/time trade-offs in hash coding with allowable errors*, 1970), as in the
//! bitstate hashing of SPIN (Holzmann, 1987). All bits of a state are in one block, as long as a cache line (Putze, Sanders
//! and Singler, *Cache-, Hash- and Space-Efficient Bloom Filters*, 2007).

use std::hash::{DefaultHasher, Hasher};

/// Bits that are set for each state.
const BITS: usize = 6;
/// Words of 64 bits in a block.
const BLOCK: usize = 8;

/// A set of states. A state that was added is never new again; a state that was not added may seem not to be new.
#[derive(Debug)]
pub(super) struct Bits {
    blocks: Vec<[u64; BLOCK]>,
    taken_for_others: f64,
}

impl Bits {
    /// A table of at most so many bytes, of one block at least.
    pub(super) fn new(bytes: usize) -> Self {
        Self { blocks: vec![[0; BLOCK]; (bytes / (BLOCK * 8)).max(1)], taken_for_others: 0.0 }
    }

    /// Adds the state with this hash. Whether it was new, as far as its bits can tell.
    pub(super) fn add(&mut self, hash: u64) -> bool {
        const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
        let place = ((u128::from(hash.wrapping_mul(FACTOR)) * self.blocks.len() as u128) >> 64) as usize;
        let block = &mut self.blocks[place];
        let set: u32 = block.iter().map(|word| word.count_ones()).sum();
        let mut is_new = false;
        let mut rest = hash.rotate_left(32).wrapping_mul(FACTOR);
        for _ in 0..BITS {
            let (word, bit) = ((rest >> 61) as usize, 1 << (rest >> 55 & 63));
            is_new |= block[word] & bit == 0;
            block[word] |= bit;
            rest <<= 9;
        }
        if is_new {
            // For each new state that is noticed in a block so full, so many are not.
            let unnoticed = (f64::from(set) / (BLOCK * 64) as f64).powi(BITS as i32);
            self.taken_for_others += unnoticed / (1.0 - unnoticed);
        }
        is_new
    }

    /// How many states were probably not noticed to be new.
    pub(super) fn taken_for_others(&self) -> f64 {
        self.taken_for_others
    }

    /// How many bytes it takes.
    pub(super) fn bytes(&self) -> usize {
        self.blocks.len() * BLOCK * 8
    }
}

/// The hash from which the bits of a state are chosen. Two states with the same hash have the same bits.
pub(super) fn hash(words: &[u32]) -> u64 {
    let mut hasher = DefaultHasher::new();
    words.iter().for_each(|word| hasher.write_u32(*word));
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_added_is_not_new() {
        let mut bits = Bits::new(1 << 10);
        for number in 0..1_000 {
            let hash = hash(&[number]);
            bits.add(hash);
            assert!(!bits.add(hash), "{number}");
        }
    }

    /// The estimate against the truth, in tables that are too large, of the usual fill, and too small.
    #[test]
    fn the_states_that_are_taken_for_others_are_estimated() {
        for (bytes, tolerance) in [(1 << 21, 40.0), (1 << 19, 200.0), (1 << 17, 2_000.0)] {
            let mut bits = Bits::new(bytes);
            let all = 200_000;
            let unnoticed = (0..all).filter(|number| !bits.add(hash(&[*number, 7, number / 3]))).count() as f64;
            let estimated = bits.taken_for_others();
            assert!((unnoticed - estimated).abs() < tolerance, "{bytes} bytes: {unnoticed}, estimated {estimated}");
            assert_eq!(bits.bytes(), bytes);
        }
    }
}
