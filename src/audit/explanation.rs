//! The protocols that are spoken on a key: the fewest that explain all acquisitions.
//!
//! Of most clients it is known only that they speak one of many protocols. A fleet speaks few, so a client that could speak
//! what another client is known to speak is taken to do so.

use super::variants::VariantSet;

/// Maximum number of sets that are kept apart; what does not fit is put together.
const MOST: usize = 16;

/// What the clients may speak that acquired a key, each set only as far as no narrower one explains it.
#[derive(Clone, Debug, Default)]
pub(super) struct Explanation {
    sets: Vec<VariantSet>,
    rest: VariantSet,
}

impl Explanation {
    /// A client that acquired speaks one of these.
    pub(super) fn note(&mut self, variants: VariantSet) {
        let is_explained = |known: &VariantSet| *known & variants == *known;
        if variants.is_empty() || self.sets.iter().any(is_explained) {
            return;
        }
        self.sets.retain(|known| *known & variants != variants);
        if self.sets.len() < MOST {
            self.sets.push(variants);
        } else {
            self.rest = self.rest.or(variants);
        }
    }

    /// These and those.
    pub(super) fn merge(&mut self, other: &Self) {
        other.sets.iter().for_each(|variants| self.note(*variants));
        self.rest = self.rest.or(other.rest);
    }

    /// What is spoken: of clients that may speak the same, what all of them may speak.
    pub(super) fn variants(&self) -> VariantSet {
        let mut sets = self.sets.clone();
        sets.sort_by_key(|variants| variants.indexes().count());
        let mut shared: Vec<VariantSet> = Vec::new();
        for variants in sets {
            match shared.iter_mut().find(|known| !(**known & variants).is_empty()) {
                Some(known) => *known = *known & variants,
                None => shared.push(variants),
            }
        }
        shared.into_iter().fold(self.rest, VariantSet::or)
    }
}

#[test]
fn the_fewest_protocols_explain_all_clients() {
    let set = |places: &[usize]| places.iter().copied().fold(VariantSet::default(), VariantSet::with);
    let explained = |seen: &[&[usize]]| {
        let mut spoken = Explanation::default();
        seen.iter().for_each(|places| spoken.note(set(places)));
        spoken.variants().indexes().collect::<Vec<_>>()
    };
    for (seen, expected) in [
        (&[] as &[&[usize]], &[] as &[usize]),
        (&[&[1, 2, 3], &[2, 3, 9], &[2, 3]], &[2, 3]),
        (&[&[1, 2, 3], &[2, 3, 9], &[3, 4]], &[3]),
        (&[&[1, 2], &[5], &[1, 2, 3], &[5, 7]], &[1, 2, 5]),
    ] {
        assert_eq!(explained(seen), expected, "{seen:?}");
    }
    let many: Vec<Vec<usize>> = (0..2 * MOST).map(|place| vec![place]).collect();
    let many: Vec<&[usize]> = many.iter().map(Vec::as_slice).collect();
    assert_eq!(explained(&many).len(), 2 * MOST);
}
