//! What is made of a seed, and how an input that makes a target fail is made shorter.

use fastrand::Rng;

/// A seed, changed in a few places.
pub(crate) fn mutated(seeds: &[Vec<u8>], words: &[&str], random: &mut Rng) -> Vec<u8> {
    let mut input = random.choice(seeds).cloned().unwrap_or_default();
    for _ in 0..random.usize(1..=6) {
        mutate(&mut input, seeds, words, random);
    }
    input
}

fn mutate(input: &mut Vec<u8>, seeds: &[Vec<u8>], words: &[&str], random: &mut Rng) {
    let at = random.usize(0..=input.len());
    let end = random.usize(at..=input.len().min(at + 64));
    match random.u8(0..8) {
        0 if at < input.len() => input[at] ^= 1 << random.u8(0..8),
        1 if at < input.len() => {
            input[at] = *random.choice(b"\0\xff09az-+.:,;\"\\{}[]$* \r\n").expect("there are some")
        }
        2 => drop(input.drain(at..end)),
        3 => {
            let copy = input[at..end].to_vec();
            let to = random.usize(0..=input.len());
            input.splice(to..to, copy);
        }
        4 => {
            let word = random.choice(words).map_or("", |word| word);
            input.splice(at..end, word.bytes());
        }
        5 => {
            let number = random.choice(["0", "-1", "00", "1e309", "-0", "9223372036854775807", "18446744073709551616"]);
            input.splice(at..end, number.expect("there are some").bytes());
        }
        6 => {
            let other = random.choice(seeds).map_or(&[][..], Vec::as_slice);
            let from = random.usize(0..=other.len());
            input.truncate(at);
            input.extend(&other[from..]);
        }
        _ => input.insert(at, random.u8(..)),
    }
}

/// The input without all that can be left out so that it still `fails`.
pub(crate) fn shortened(input: &[u8], fails: impl Fn(&[u8]) -> bool) -> Vec<u8> {
    let mut shortest = input.to_vec();
    let mut piece = shortest.len() / 2;
    while piece > 0 {
        let mut at = 0;
        while at < shortest.len() {
            let mut shorter = shortest.clone();
            shorter.drain(at..shorter.len().min(at + piece));
            if fails(&shorter) {
                shortest = shorter;
            } else {
                at += piece;
            }
        }
        piece /= 2;
    }
    shortest
}
